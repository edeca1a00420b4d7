"""Chunks stay within one section and every limit, cover the text, and keep their names."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpus_assets.chunking import chunk_paper, cut_title, embed_text, section_slug
from corpus_assets.embedding.hashing import HashEmbedder
from corpus_assets.errors import BadInputError
from corpus_assets.model import Chunk, Page, PageState, PaperMetadata, ParsedPaper, Section, SectionKind
from corpus_assets.settings import ChunkSettings

EMBEDDER = HashEmbedder()
DNA = "ACGT" * 7500


def make_paper(*sections: tuple[SectionKind, str, list[str]], pages: tuple[Page, ...] = ()) -> ParsedPaper:
    """A paper whose sections are a heading (if any) and paragraphs."""
    text, spans = "", []
    for kind, title, paragraphs in sections:
        body = "\n\n".join([title, *paragraphs] if title else paragraphs) + "\n\n"
        spans.append(Section(title, kind, 1, len(text), len(text) + len(body)))
        text += body
    return ParsedPaper(text, pages, tuple(spans), PaperMetadata(), len(pages))


def cut(
    parsed: ParsedPaper,
    *,
    max_tokens: int = 256,
    target_tokens: int = 200,
    overlap: int = 1,
    max_chars: int = 4000,
    title: str = "",
) -> list[Chunk]:
    limits = ChunkSettings(
        max_tokens=max_tokens, target_tokens=target_tokens, overlap_sentences=overlap, max_chars=max_chars
    )
    return chunk_paper("p", title, parsed, EMBEDDER, limits, include_title=bool(title))


def numbered(count: int, words: int = 8) -> str:
    return " ".join(f"Sentence {n} " + "is here " * (words // 2 - 1) + "now." for n in range(count))


PARAGRAPH = st.one_of(
    st.text(max_size=200),
    st.sampled_from(
        [
            numbered(4),
            numbered(30),
            "ACGT" * 300,
            "Results",
            "国際標準化である。" * 30,
            "a",
            "T",
            "e.g. " * 80,
            "x " * 300,
        ]
    ),
)


@st.composite
def papers(draw: st.DrawFn) -> ParsedPaper:
    shapes = draw(
        st.lists(
            st.tuples(
                st.sampled_from(list(SectionKind)),
                st.text(max_size=12),
                st.integers(1, 3),
                st.lists(PARAGRAPH, max_size=5),
                st.booleans(),
            ),
            max_size=5,
        )
    )
    parsed = make_paper(*((kind, title if headed else "", body) for kind, title, _, body, headed in shapes))
    levels = [level for _, _, level, _, _ in shapes]
    sections = tuple(replace(section, level=level) for section, level in zip(parsed.sections, levels, strict=True))
    return replace(parsed, sections=sections)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    papers(),
    st.integers(48, 96),
    st.integers(16, 96),
    st.integers(0, 5),
    st.integers(200, 400),
    st.text(max_size=60),
)
def test_every_paper_is_covered_within_the_limits(
    parsed: ParsedPaper, max_tokens: int, target_tokens: int, overlap: int, max_chars: int, title: str
) -> None:
    arguments = {
        "max_tokens": max_tokens,
        "target_tokens": target_tokens,
        "overlap": overlap,
        "max_chars": max_chars,
        "title": title,
    }
    chunks = cut(parsed, **arguments)
    covered: set[int] = set()
    for chunk in chunks:
        assert chunk.text == parsed.text[chunk.char_start : chunk.char_end]
        assert chunk.text == chunk.text.strip() != ""
        assert len(chunk.text) <= max_chars
        embedded = embed_text(title, chunk.text, include_title=bool(title))
        assert len(EMBEDDER.token_starts(embedded)) == chunk.num_tokens <= max_tokens
        covered.update(range(chunk.char_start, chunk.char_end))
    assert all(at in covered or char.isspace() for at, char in enumerate(parsed.text))
    for before, after in itertools.pairwise(chunks):
        assert before.char_start < after.char_start
        assert before.char_end < after.char_end
    assert len({chunk.chunk_id for chunk in chunks}) == len(chunks)
    assert chunks == cut(parsed, **arguments)


def test_no_chunk_crosses_a_section() -> None:
    parsed = make_paper(
        (SectionKind.METHODS, "Methods", [numbered(40)]),
        (SectionKind.RESULTS, "Results", [numbered(3)]),
        (SectionKind.DISCUSSION, "Discussion", [numbered(40)]),
    )
    for chunk in cut(parsed):
        section = next(s for s in parsed.sections if s.char_start <= chunk.char_start < s.char_end)
        assert chunk.char_end <= section.char_end
        assert (chunk.section_kind, chunk.section_title) == (section.kind, section.title)


def test_paragraph_breaks_stay_in_the_chunk() -> None:
    [chunk] = cut(make_paper((SectionKind.METHODS, "Methods", ["One.", "Two.", "Three."])))
    assert chunk.text == "Methods\n\nOne.\n\nTwo.\n\nThree."


def test_a_chunk_ends_at_a_paragraph_rather_than_inside_the_next() -> None:
    parsed = make_paper((SectionKind.OTHER, "", [numbered(15), numbered(18)]))
    first, second = cut(parsed, overlap=0)
    assert first.text == numbered(15)
    assert second.text == numbered(18)


def test_sentences_are_whole_and_the_last_one_is_repeated() -> None:
    chunks = cut(make_paper((SectionKind.OTHER, "", [numbered(80)])))
    assert len(chunks) > 2
    for before, after in itertools.pairwise(chunks):
        assert before.text.endswith("now.")
        repeated = parsed_overlap(before, after)
        assert repeated.startswith("Sentence")
        assert repeated.count("Sentence") == 1


def parsed_overlap(before: Chunk, after: Chunk) -> str:
    return before.text[after.char_start - before.char_start :]


def test_an_overlap_that_leaves_no_room_is_dropped() -> None:
    long_sentence = "Word " * 180 + "ends here."
    chunks = cut(make_paper((SectionKind.OTHER, "", [f"{long_sentence} {long_sentence} {long_sentence}"])))
    assert [chunk.text for chunk in chunks] == [long_sentence] * 3


def test_overlap_stays_inside_the_section() -> None:
    parsed = make_paper(
        (SectionKind.METHODS, "Methods", [numbered(40)]), (SectionKind.RESULTS, "Results", ["It held."])
    )
    assert cut(parsed)[-1].text == "Results\n\nIt held."


def test_a_small_rest_joins_the_chunk_before() -> None:
    text = numbered(21) + " The end."
    chunks = cut(make_paper((SectionKind.OTHER, "", [text])))
    assert [chunk.text for chunk in chunks] == [text]


def test_a_heading_stays_with_its_text_even_when_the_first_sentence_is_too_long() -> None:
    sentence = "Word " * 300 + "ends here."
    chunks = cut(make_paper((SectionKind.METHODS, "Methods", [sentence])))
    assert chunks[0].text.startswith("Methods\n\nWord Word")
    assert len(chunks) == 2


def test_a_bare_heading_joins_its_first_subsection() -> None:
    parsed = make_paper((SectionKind.METHODS, "3 Methods", []), (SectionKind.OTHER, "3.1 Cells", ["They grew well."]))
    parsed = replace(parsed, sections=(parsed.sections[0], replace(parsed.sections[1], level=2)))
    [chunk] = cut(parsed)
    assert chunk.text == "3 Methods\n\n3.1 Cells\n\nThey grew well."
    assert chunk.section == "cells"


def test_a_drop_cap_is_not_a_chunk() -> None:
    parsed = make_paper(
        (SectionKind.OTHER, "T", []), (SectionKind.OTHER, "Melting", ["he melting point of gallium is low."])
    )
    assert [chunk.text for chunk in cut(parsed)] == ["T\n\nMelting\n\nhe melting point of gallium is low."]
    [chunk] = cut(make_paper((SectionKind.OTHER, "", ["T", "he melting point of gallium is low."])))
    assert chunk.text.startswith("T\n\nhe")


def test_a_word_of_thirty_thousand_letters_is_cut_and_what_follows_is_kept() -> None:
    parsed = make_paper((SectionKind.METHODS, "Methods", [DNA, "Primer annealing at 61 degrees was best."]))
    chunks = cut(parsed, title="A title")
    assert all(len(chunk.text) <= 4000 and chunk.num_tokens <= 256 for chunk in chunks)
    assert "Primer annealing at 61 degrees" in chunks[-1].text


def test_references_are_chunks_but_not_retrievable() -> None:
    parsed = make_paper(
        (SectionKind.RESULTS, "Results", ["References to earlier work are rare."]),
        (SectionKind.REFERENCES, "References", ["1. Smith J. On cells. Nature 2011."]),
        (SectionKind.APPENDIX, "Appendix A", ["The buffer held 7.4 mM tris."]),
    )
    assert [(chunk.section, chunk.is_retrievable) for chunk in cut(parsed)] == [
        ("results", True),
        ("references", False),
        ("appendix", True),
    ]


def test_a_chunk_names_the_pages_it_lies_on() -> None:
    sentence = "The median time to relapse was 31 weeks."
    parsed = make_paper((SectionKind.RESULTS, "Results", [sentence, "More."]))
    middle = parsed.text.index("31")
    pages = (
        Page(1, PageState.BLANK),
        Page(2, PageState.TEXT, 0, middle),
        Page(3, PageState.TEXT, middle, len(parsed.text)),
    )
    [chunk] = cut(replace(parsed, pages=pages))
    assert chunk.pages == "2-3"
    pages = (Page(4, PageState.TEXT, 0, len(parsed.text)), Page(5, PageState.BLANK, len(parsed.text), len(parsed.text)))
    [chunk] = cut(replace(parsed, pages=pages))
    assert chunk.pages == "4"


def test_editing_a_section_renumbers_no_other() -> None:
    def ids(num_sentences: int) -> list[str]:
        parsed = make_paper(
            (SectionKind.METHODS, "Methods", [numbered(num_sentences)]),
            (SectionKind.RESULTS, "Results", [numbered(60)]),
            (SectionKind.OTHER, "Ethics", ["All agreed."]),
        )
        return [chunk.chunk_id for chunk in cut(parsed) if chunk.section != "methods"]

    assert ids(5) == ids(90)
    assert ids(5)[0] == "p:results:0"


def test_sections_of_one_kind_share_a_count() -> None:
    parsed = make_paper(
        (SectionKind.RESULTS, "Results", ["One."]),
        (SectionKind.METHODS, "Methods", ["Two."]),
        (SectionKind.RESULTS, "More results", ["Three."]),
    )
    assert [chunk.chunk_id for chunk in cut(parsed)] == ["p:results:0", "p:methods:0", "p:results:1"]


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("3.2 Cell lines & media", "cell-lines-media"),
        ("IV. Étude préliminaire", "etude-preliminaire"),
        ("国際標準化", "section"),
        ("", "section"),
        ("Front", "front-section"),
        ("A very long heading that goes on and on and on for ever", "a-very-long-heading-that-goes-on-and-on"),
        ("p:q/r", "p-q-r"),
    ],
)
def test_other_sections_are_named_by_their_title(title: str, slug: str) -> None:
    assert section_slug(Section(title, SectionKind.OTHER, 1, 0, 1)) == slug


def test_text_outside_every_section_is_chunked_too() -> None:
    text = "A title\n\nMethods\n\nWe did.\n\nAn afterthought."
    start = text.index("Methods")
    parsed = ParsedPaper(text, (), (Section("Methods", SectionKind.METHODS, 1, start, start + 16),), PaperMetadata(), 0)
    assert [(c.section, c.text) for c in cut(parsed)] == [
        ("front", "A title"),
        ("methods", "Methods\n\nWe did.\n\nAn afterthought."),
    ]
    assert [c.chunk_id for c in cut(replace(parsed, sections=()))] == ["p:section:0"]
    assert cut(ParsedPaper(" \n\n ", (), (), PaperMetadata(), 0)) == []


def test_a_long_title_is_cut_at_a_word_and_counted() -> None:
    title = "Osimertinib resistance " * 30
    head = cut_title(title)
    assert head.endswith(("Osimertinib", "resistance"))
    assert len(head.split()) < 20
    assert embed_text(title, "Text.", include_title=True) == f"{head}\n\nText."
    assert embed_text(title, "Text.", include_title=False) == "Text."
    assert all(
        chunk.num_tokens <= 64 for chunk in cut(make_paper((SectionKind.OTHER, "", [numbered(50)])), max_tokens=64)
    )


def test_a_limit_that_leaves_no_room_is_refused_with_the_mend() -> None:
    with pytest.raises(BadInputError, match=r"leaves 0 .* Raise chunks\.max_tokens"):
        cut(make_paper((SectionKind.OTHER, "", ["Text."])), max_tokens=32, title="1 2 3 4 5 6 7 8 9 " * 9)


def test_the_models_own_limit_holds_when_it_is_lower() -> None:
    class Narrow(HashEmbedder):
        max_tokens = 40

    parsed = make_paper((SectionKind.OTHER, "", [numbered(50)]))
    chunks = chunk_paper("p", "", parsed, Narrow(), ChunkSettings(), include_title=False)
    assert max(chunk.num_tokens for chunk in chunks) <= 40


def test_a_tokeniser_whose_count_depends_on_context_cannot_push_a_chunk_over_the_limit() -> None:
    class Contextual(HashEmbedder):
        """Counts a word of more than twenty letters as one piece, a shorter one letter by letter."""

        max_tokens = 64

        def token_starts(self, text: str) -> list[int]:
            starts, at = [], 0
            for word in text.split():
                at = text.index(word, at)
                starts.extend([at] if len(word) > 20 else range(at, at + len(word)))
                at += len(word)
            return starts

    parsed = make_paper((SectionKind.OTHER, "", ["x" * 5019, "short words follow here. " * 40]))
    limits = ChunkSettings(max_tokens=64, max_chars=200)
    chunks = chunk_paper("p", "", parsed, Contextual(), limits, include_title=False)
    assert max(chunk.num_tokens for chunk in chunks) <= 64
    assert "".join("".join(chunk.text.split()) for chunk in chunks).count("x") == 5019
