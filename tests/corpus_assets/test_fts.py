"""The full-text index: DuckDB's ranking, from the question's own postings, over any number of segments."""

import json
import random

import pytest

from corpus_assets.duckdb_files import connect_reader, load_full_text
from corpus_assets.errors import StoreError
from corpus_assets.folding import fold_for_search
from corpus_assets.fts import ChunkFilter, build_fts, open_fts, search_segments
from corpus_assets.model import SectionKind
from tests.corpus_assets.search_corpora import INDEX, build_segment, make_paper, random_papers


def open_segment(tmp_path, papers, name="segment", **options):
    return open_fts(build_segment(tmp_path / name, papers) / "chunks.duckdb", **options)


def bm25_by_duckdb(path, queries):
    """Return for each query chunk id -> score of DuckDB's own ``match_bm25``."""
    with connect_reader(path) as con:
        load_full_text(con)
        return {
            query: dict(
                con.execute(
                    "SELECT chunk_id, fts_main_chunks.match_bm25(chunk_id, ?) AS score FROM chunks "
                    "WHERE score IS NOT NULL",
                    [fold_for_search(query, is_query=True)],
                ).fetchall()
            )
            for query in queries
        }


@pytest.mark.parametrize("num_queries", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_ranking_equals_match_bm25(tmp_path, num_queries):
    papers = random_papers(150)
    index = open_segment(tmp_path, papers)
    path = index.path
    chance = random.Random(1)
    queries = [
        " ".join(f"w{int(chance.paretovariate(0.5)) % 420}" for _ in range(chance.randint(1, 9)))
        for _ in range(num_queries)
    ]
    ours = {query: search_segments([index], query, 10_000) for query in queries}
    index.close()
    assert any(ours.values())
    expected = bm25_by_duckdb(path, ours)
    for query, hits in ours.items():
        theirs = expected[query]
        assert {chunk_id for chunk_id, _ in hits} == theirs.keys()
        assert all(abs(score - theirs[chunk_id]) < 1e-8 for chunk_id, score in hits)
        assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))


def test_segments_rank_as_one_index_would(tmp_path):
    papers = random_papers(90)
    whole = open_segment(tmp_path, papers, "whole")
    parts = [open_segment(tmp_path, papers[start : start + 30], f"part-{start}") for start in (0, 30, 60)]
    for query in ("w1 w40 w3", "w0", "w77 w300 w5 w2", "nothing-of-it"):
        assert search_segments(parts, query, 50) == search_segments([whole], query, 50)


def test_removed_papers_leave_no_trace_in_the_scores(tmp_path):
    papers = random_papers(60)
    gone = {record.paper_id for record, _ in papers[10:25]}
    with_tombstones = open_segment(tmp_path, papers, "old", removed_papers=gone)
    clean = open_segment(tmp_path, papers[:10] + papers[25:], "clean")
    for query in ("w1 w40 w3", "w12 w0"):
        assert search_segments([with_tombstones], query, 500) == search_segments([clean], query, 500)
    assert [chunk.chunk_id for chunk in with_tombstones.all_chunks()] == [
        chunk.chunk_id for chunk in clean.all_chunks()
    ]


def test_equal_scores_come_by_chunk_id(tmp_path):
    papers = [make_paper(name, "same words here") for name in ("c", "a", "b", "d")]
    hits = search_segments([open_segment(tmp_path, papers)], "words", 3)
    assert [chunk_id for chunk_id, _ in hits] == ["a:other:0", "b:other:0", "c:other:0"]


def test_chunks_come_back_as_they_went_in(tmp_path):
    papers = [
        make_paper(
            "p-1",
            'Text with 10⁻⁴⁸, "quotes", \x1b[2J and 国際\nlines',
            "two",
            kinds=[SectionKind.RESULTS, SectionKind.REFERENCES],
        ),
        make_paper("p-2", "", "three"),
    ]
    index = open_segment(tmp_path, papers)
    stored = [chunk for _, chunks in papers for chunk in chunks]
    assert list(index.all_chunks()) == stored
    assert index.chunks(["p-2:other:1", "absent", "p-1:results:0"]) == [stored[3], stored[0]]
    assert index.chunks_of("p-1") == stored[:2]
    assert index.num_indexed() == 3
    ids = index.vector_ids(ChunkFilter(include_unretrievable=True)).tolist()
    assert index.chunk_ids_by_vector_id(ids[::-1]) == [chunk.chunk_id for chunk in reversed(stored)]
    with pytest.raises(StoreError):
        index.chunk_ids_by_vector_id([12345])


def test_passages_read_before_come_from_memory_in_the_order_asked(tmp_path, monkeypatch):
    index = open_segment(tmp_path, [make_paper("p-1", "zinc one", "zinc two", "zinc three")])
    ids = [chunk.chunk_id for chunk in index.all_chunks()]
    first = index.chunks(ids[:2])
    assert [chunk.chunk_id for chunk in index.chunks([ids[2], ids[0]])] == [ids[2], ids[0]]
    monkeypatch.setattr(index, "_rows", lambda *args: pytest.fail("the file was read again"))
    assert index.chunks([ids[1], ids[0]]) == first[::-1]
    assert index.chunks([*ids, "unknown"])[2].text.endswith("three")


def test_filters_restrict_what_is_returned_but_not_the_statistics(tmp_path):
    papers = [
        make_paper("a", "enzyme rate", "enzyme list", kinds=[SectionKind.METHODS, SectionKind.REFERENCES]),
        make_paper("b", "enzyme rate", kinds=[SectionKind.RESULTS]),
        make_paper("c", "other words"),
    ]
    index = open_segment(tmp_path, papers)

    def found(**restrictions):
        return dict(search_segments([index], "enzyme", 10, ChunkFilter(**restrictions)))

    assert found().keys() == {"a:methods:0", "b:results:0"}
    assert found(include_unretrievable=True).keys() == {"a:methods:0", "a:references:1", "b:results:0"}
    assert found(paper_ids=frozenset({"a", "'; DROP TABLE chunks; --"})) == {"a:methods:0": found()["a:methods:0"]}
    assert found(excluded_paper_ids=frozenset({"a"})).keys() == {"b:results:0"}
    assert found(section_kinds=frozenset({SectionKind.RESULTS})).keys() == {"b:results:0"}


@pytest.mark.parametrize(
    "query", ["T790M", "c797s", "IL-17", "IL17", "p53", "TNFα", "0.53", "10^-48", "µ", "CO₂", "not"]
)
def test_identifiers_are_found(tmp_path, query):
    papers = [
        make_paper("hit", "T790M and C797S, IL-17, p53, TNF-α 0.53 at 10⁻⁴⁸ with 5 μ of CO2, not more."),
        make_paper("miss", "T790 797 1.53 1048 CO alpha"),
    ]
    hits = search_segments([open_segment(tmp_path, papers)], query, 5)
    assert hits[0][0] == "hit:other:0"


def test_stored_file_is_one_file_and_needs_no_home(tmp_path, monkeypatch):
    monkeypatch.delenv("HOME", raising=False)
    index = open_segment(tmp_path, [make_paper("a", "word")])
    assert [path.name for path in index.path.parent.iterdir()] == ["chunks.duckdb"]
    assert search_segments([index], "words", 1)[0][0] == "a:other:0"


def test_failed_builds_leave_what_was_there(tmp_path):
    record, chunks = make_paper("a", "word")
    path = tmp_path / "chunks.duckdb"
    build_fts(chunks, {"a": record}, path, INDEX)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="twice"):
        build_fts(chunks * 2, {"a": record}, path, INDEX)
    with pytest.raises(StoreError, match="unknown"):
        build_fts(chunks, {}, path, INDEX)
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["chunks.duckdb"]


def test_empty_index(tmp_path):
    path = tmp_path / "chunks.duckdb"
    assert build_fts([], {}, path, INDEX).num_chunks == 0
    index = open_fts(path)
    assert search_segments([index], "anything", 5) == []
    assert list(index.all_chunks()) == []


def test_missing_and_damaged_files_are_named(tmp_path):
    with pytest.raises(StoreError, match="missing"):
        open_fts(tmp_path / "chunks.duckdb")
    (tmp_path / "chunks.duckdb").write_text(json.dumps("not a database") * 1000)
    with pytest.raises(StoreError, match=r"chunks\.duckdb"):
        open_fts(tmp_path / "chunks.duckdb")
