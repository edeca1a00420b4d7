"""Search, as a person sees it, on small corpora."""

import pytest

from corpus_assets.embedding.hashing import HashEmbedder
from corpus_assets.errors import BadInputError
from corpus_assets.fts import open_fts
from corpus_assets.model import PaperStatus, SectionKind
from corpus_assets.settings import RetrievalSettings
from corpus_assets.vectors import open_vectors
from retrieval import dense
from retrieval.corpus import FTS_FILE, VECTORS_FILE, OpenSegment, SegmentCorpus
from retrieval.filters import Filters
from retrieval.search import search
from tests.corpus_assets.search_corpora import build_segment, make_paper, open_corpus, random_papers

SETTINGS = RetrievalSettings.model_validate({})
EMBEDDER = HashEmbedder()

PAPERS = [
    make_paper("tnf-a", "TNF-α rose twofold after the bite."),
    make_paper("tnf-b", "TNF-β rose threefold after the bite."),
    make_paper("ifn-g", "IFN-γ rose fourfold after the bite."),
    make_paper(
        "standards",
        "報告書の表紙と目次です。作成者は委員会です。",
        "国際標準化に関する動向を調べた。会合は四回あった。",
    ),
    make_paper("micro", "Cells received 5 \u00b5g/mL of the toxin."),
    make_paper("milli", "Cells received 5 mg/mL of the sugar."),
    make_paper("liver", "The assay was an efficient marker of fibrosis in 31 livers."),
    make_paper("nfc", "Müller, Garçon and René measured the snow line."),
    make_paper("nfd", "Mu\u0308ller, Garc\u0327on and Rene\u0301 measured the snow line."),
    make_paper("tex", "M¨uller, Gar¸con and Ren´e measured the snow line."),
    make_paper(
        "tide",
        "Tidal damping in shallow basins. Comment on doi:10.5555/other.2001.77. At https://doi.org/10.5555/ TIDE-",
        doi="10.5555/tide-2020-10-311704",
        title="Tidal damping in shallow basins",
    ),
    make_paper(
        "lichen",
        "Lichen growth on basalt\n\nA. Okonkwo\n\nJ Imag Bot, 2018\n\nThalli grew 0.4 mm per year.",
        title="Lichen growth on basalt",
        authors=("A. Okonkwo",),
        year=2018,
    ),
    make_paper(
        "review",
        "Stone and crust: a review "
        + " ".join(f"Point {n} follows the earlier study (Okonkwo, 2018)." for n in range(6)),
        "Okonkwo A. Lichen growth on basalt. J Imag Bot. 2018;1:1-4.",
        kinds=[SectionKind.OTHER, SectionKind.REFERENCES],
        title="Stone and crust: a review",
    ),
    make_paper(
        "mice", "The trap gave off undecanal and n-tridecanal at 4 ppm. The interferon-dependent pathway was seen."
    ),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return open_corpus(tmp_path_factory.mktemp("search"), PAPERS[:5], PAPERS[5:], embedder=EMBEDDER)


def papers_of(result):
    return [hit.chunk.paper_id for hit in result.hits]


def find(corpus, query, mode="hybrid", k=10, **options):
    return search(corpus, query, mode=mode, k=k, embedder=EMBEDDER, settings=SETTINGS, **options)


@pytest.mark.parametrize("mode", ["fts_only", "hybrid"])
@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("TNF-alpha", "tnf-a"),
        ("TNF-α", "tnf-a"),
        ("TNFα", "tnf-a"),
        ("5 \u03bcg/mL", "micro"),
        ("5 \u00b5g/mL", "micro"),
        ("10.5555/TIDE-2020-10-311704", "tide"),
        ("https://doi.org/10.5555/tide-2020-10-311704.", "tide"),
        ("Lichen growth on basalt", "lichen"),
        ("Okonkwo 2018", "lichen"),
        ("n-tridecanal", "mice"),
        ("interferon-dependent", "mice"),
        ("国際標準化", "standards"),
    ],
)
def test_first_hit(corpus, mode, query, first):
    assert papers_of(find(corpus, query, mode))[0] == first


def test_a_greek_letter_alone_finds_only_its_page(corpus):
    result = find(corpus, "β")
    assert papers_of(result) == ["tnf-b"]
    assert any("identifiers" in reason for reason in result.degraded)


def test_a_phrase_without_spaces_finds_its_own_page(corpus):
    hits = find(corpus, "国際標準化").hits
    assert [hit.chunk.page_start for hit in hits] == [2]
    assert [hit.chunk.page_start for hit in find(corpus, "四").hits] == [2]


def test_a_ligature_in_the_question_changes_nothing(corpus):
    plain, pasted = find(corpus, "fibrosis efficient", "fts_only"), find(corpus, "ﬁbrosis eﬃcient", "fts_only")
    assert [(hit.chunk.chunk_id, hit.score) for hit in plain.hits] == [
        (hit.chunk.chunk_id, hit.score) for hit in pasted.hits
    ]
    assert papers_of(plain) == ["liver"]


@pytest.mark.parametrize("query", ["Müller", "Mu\u0308ller", "Muller"])
def test_accents_in_any_form_find_all_papers(corpus, query):
    assert set(papers_of(find(corpus, query))) == {"nfc", "nfd", "tex"}


def test_one_poster_is_returned_once(tmp_path):
    poster = open_corpus(tmp_path, [make_paper("poster", "POLAR BEES Polar bees fly at 4 degrees.")], embedder=EMBEDDER)
    for mode in ("fts_only", "embedding_only", "hybrid"):
        assert papers_of(find(poster, "polar bees", mode, k=20)) == ["poster"]


@pytest.mark.parametrize("query", ["", "  \n", "?!…", "''", "\x00", "()"])
def test_nothing_to_search_for_is_said_plainly(corpus, query):
    with pytest.raises(BadInputError, match=r"empty|nothing to search"):
        find(corpus, query)


@pytest.mark.parametrize(
    "query",
    [
        "the of and",
        "'; DROP TABLE chunks; --",
        '"exact" AND (x OR y*) NOT z^2 NEAR/3',
        "word " * 10_000,
        " ".join(f"w{number}" for number in range(10_000)),
        "42",
        "%_\\",
        "ما هي النتيجة",
        "a" * 30_000,
        "1" + "\u0301" * 1000,
    ],
)
@pytest.mark.parametrize("mode", ["fts_only", "embedding_only", "hybrid"])
def test_odd_questions_get_an_answer_or_a_message(corpus, query, mode):
    try:
        result = find(corpus, query, mode)
    except BadInputError:
        return
    assert all(hit.score > 0 for hit in result.hits)
    assert find(corpus, "n-tridecanal").hits


def test_no_hit_is_no_hit(corpus):
    result = find(corpus, "xylophone", "fts_only")
    assert result.hits == []
    assert result.degraded == ["no lexical hit: no passage holds a word of the question"]


def test_retracted_and_superseded_papers_stay_out(tmp_path):
    mixed = open_corpus(
        tmp_path,
        [
            make_paper("good", "the enzyme slows"),
            make_paper("bad", "the enzyme slows down", retraction="retraction"),
            make_paper("old", "the enzyme slows too", status=PaperStatus.SUPERSEDED, version_of="good"),
        ],
        embedder=EMBEDDER,
    )
    for mode in ("fts_only", "embedding_only", "hybrid"):
        assert papers_of(find(mixed, "enzyme slows", mode)) == ["good"]
        assert set(papers_of(find(mixed, "enzyme slows", mode, filters=Filters(include_retracted=True)))) == {
            "good",
            "bad",
        }


def test_filters(tmp_path):
    dated = open_corpus(
        tmp_path,
        [
            make_paper("y2001", "enzyme one", year=2001, kinds=[SectionKind.METHODS]),
            make_paper("y2010", "enzyme two", year=2010, kinds=[SectionKind.RESULTS]),
            make_paper("undated", "enzyme three"),
        ],
        embedder=EMBEDDER,
    )
    for mode in ("fts_only", "embedding_only", "hybrid"):
        assert papers_of(find(dated, "enzyme rate", mode, filters=Filters(min_year=2005))) == ["y2010"]
        assert papers_of(find(dated, "enzyme rate", mode, filters=Filters(paper_ids=frozenset({"undated"})))) == [
            "undated"
        ]
        kinds = Filters(section_kinds=frozenset({SectionKind.METHODS}))
        assert papers_of(find(dated, "enzyme rate", mode, filters=kinds)) == ["y2001"]
    with pytest.raises(BadInputError, match="nowhere"):
        find(dated, "enzyme", filters=Filters(paper_ids=frozenset({"nowhere"})))


def test_filters_print_alike_in_every_process():
    a = Filters(
        paper_ids=frozenset({"x", "y", "z"}), section_kinds=frozenset({SectionKind.RESULTS, SectionKind.METHODS})
    )
    b = Filters(
        paper_ids=frozenset({"z", "y", "x"}), section_kinds=frozenset({SectionKind.METHODS, SectionKind.RESULTS})
    )
    assert repr(a) == repr(b)
    assert "['x', 'y', 'z']" in repr(a)


def test_versions_of_one_work_show_a_passage_once(tmp_path):
    text = "We measured the rate of the enzyme in forty cells over nine days and found no change at all."
    versions = open_corpus(
        tmp_path,
        [
            make_paper("v1", text, title="On rates"),
            make_paper("v2", text + " Indeed.", title="On Rates"),
            make_paper("x", text),
        ],
        embedder=EMBEDDER,
    )
    result = find(versions, "rate of the enzyme in cells")
    assert sorted(papers_of(result)) == ["v1", "x"] or sorted(papers_of(result)) == ["v2", "x"]
    assert result.legs.num_collapsed == 1
    assert sum(len(hit.same_as) for hit in result.hits) == 1


def test_cap_on_passages_of_one_paper(tmp_path):
    many = open_corpus(
        tmp_path,
        [make_paper("long", *(f"enzyme part {n}" for n in range(6))), make_paper("short", "enzyme once seen")],
    )
    uncapped = search(many, "enzyme part", mode="fts_only", settings=SETTINGS)
    capped = search(many, "enzyme part", mode="fts_only", settings=SETTINGS, max_per_paper=2)
    assert papers_of(uncapped).count("long") == 6
    assert papers_of(capped) == ["long", "long", "short"]


def test_two_segments_search_like_one(tmp_path):
    papers = random_papers(40)
    whole = open_corpus(tmp_path / "whole", papers, embedder=EMBEDDER)
    parts = open_corpus(tmp_path / "parts", papers[:15], papers[15:], embedder=EMBEDDER)
    for mode in ("fts_only", "embedding_only", "hybrid"):
        for query in ("w1 w7 w30 rate", "w90 w3 thing"):
            assert [(hit.chunk.chunk_id, hit.score) for hit in find(whole, query, mode).hits] == [
                (hit.chunk.chunk_id, hit.score) for hit in find(parts, query, mode).hits
            ]


def test_hits_say_which_leg_found_them(corpus):
    hit = find(corpus, "measured the snow line").hits[0]
    assert hit.fts_rank is not None
    assert hit.dense_rank is not None
    assert hit.cosine is not None
    assert hit.rank == 1


def test_embedding_only_without_a_model_is_refused(corpus):
    with pytest.raises(BadInputError, match="embedding_only"):
        search(corpus, "snow line", mode="embedding_only", settings=SETTINGS)
    result = search(corpus, "snow line", mode="hybrid", settings=SETTINGS)
    assert any("no embedding model" in reason for reason in result.degraded)


def test_spread_of_cosines_does_not_hang_on_segments_or_order(tmp_path):
    papers = random_papers(40)
    whole = open_corpus(tmp_path / "whole", papers, embedder=EMBEDDER)
    parts = open_corpus(tmp_path / "parts", papers[25:], papers[:25], embedder=EMBEDDER)
    assert 0 < dense.spread(whole) == dense.spread(parts) < 1
    assert dense.spread(open_corpus(tmp_path / "few", papers[:2], embedder=EMBEDDER)) == 0


@pytest.mark.parametrize("fusion", ["scores", "ranks"])
def test_both_fusions_put_what_both_legs_like_first(corpus, fusion):
    settings = RetrievalSettings.model_validate({"fusion": fusion})
    result = search(corpus, "efficient marker of fibrosis", mode="hybrid", embedder=EMBEDDER, settings=settings)
    assert papers_of(result)[0] == "liver"
    assert [hit.score for hit in result.hits] == sorted((hit.score for hit in result.hits), reverse=True)


def test_unknown_mode_is_refused(corpus):
    with pytest.raises(BadInputError, match="Unknown retrieval mode"):
        find(corpus, "snow", "both")


def test_what_was_removed_from_a_segment_lends_its_cosine_to_no_later_text(tmp_path):
    old = make_paper("moths", "Lamps attract moths at night.")
    new = make_paper("moths", "The melting point of gallium is low.")
    folders = [build_segment(tmp_path / name, [paper], EMBEDDER) for name, paper in (("old", old), ("new", new))]
    segments = [
        OpenSegment(open_fts(folder / FTS_FILE, removed), open_vectors(folder / VECTORS_FILE))
        for folder, removed in zip(folders, (["moths"], []), strict=True)
    ]
    corpus = SegmentCorpus([], {new[0].paper_id: new[0]})
    vector = EMBEDDER.embed_queries(["Lamps attract moths at night."])[0]
    chunk_id = new[1][0].chunk_id
    wanted = float(EMBEDDER.embed_documents([new[1][0].text])[0] @ vector)
    for order in (segments, segments[::-1]):
        corpus.segments = order
        assert dense.cosines(corpus, vector, [chunk_id])[chunk_id] == pytest.approx(wanted, abs=1e-6)
        found = search(corpus, "Lamps attract moths", embedder=EMBEDDER, settings=SETTINGS)
        assert all(hit.chunk.text == new[1][0].text for hit in found.hits)
