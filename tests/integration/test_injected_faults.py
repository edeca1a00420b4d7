"""Faults a build could have, each stopped by a gate with a name. The faulty candidate is sealed like any other."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from corpus_assets.build import ingest
from corpus_assets.corpus_gates import corpus_gates
from corpus_assets.errors import GateFailedError, StoreError
from corpus_assets.gates import GateContext, GateResult, run_gates
from corpus_assets.model import Chunk, PaperRecord, ParsedPaper
from corpus_assets.store.atomic import file_sha256
from corpus_assets.store.generation import Generation, open_generation, open_published
from corpus_assets.store.manifest import MANIFEST_FILE
from corpus_assets.store.papers_file import write_papers
from corpus_assets.store.publish import point_to, published_id
from evaluation.gates import evaluation_gates
from tests.integration.metals import Workshop, build_workshop


@pytest.fixture(scope="module")
def workshop(tmp_path_factory) -> Workshop:
    return build_workshop(tmp_path_factory.mktemp("faults"))


class Parts:
    """Everything a generation is made of, in memory, to be damaged and written again."""

    def __init__(self, generation: Generation) -> None:
        self.records: dict[str, PaperRecord] = dict(generation.papers)
        self.bodies = {
            name: (generation.text(name), generation.pages(name), generation.sections(name)) for name in self.records
        }
        self.chunks: list[Chunk] = [chunk for name in self.records for chunk in generation.chunks_of(name)]
        vectors = generation.segments[0].vectors
        assert vectors is not None
        from corpus_assets.vectors import vector_id

        self.vectors = {
            chunk.chunk_id: vectors.reconstruct(np.array([vector_id(chunk.chunk_id)], dtype=np.int64))[0]
            for chunk in self.chunks
            if chunk.is_retrievable
        }
        self.indexed: list[Chunk] | None = None  # what the full-text index was built from, when not the chunks
        self.manifest: dict[str, object] = {}

    def write(self, source: Path, target: Path) -> None:
        """Write a generation like ``source`` from these parts, sealed with true checksums."""
        from corpus_assets.fts import build_fts
        from corpus_assets.settings import IndexSettings
        from corpus_assets.vectors import build_vectors, vector_id

        shutil.copytree(source, target, ignore=shutil.ignore_patterns("gates.json"))
        for path in target.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        (segment,) = target.glob("segment-*")
        for path in [target / "papers.duckdb", *(path for path in segment.iterdir() if path.name != "members.json")]:
            path.unlink()  # a copy may share its bytes with the original
        pairs = []
        for name, record in self.records.items():
            text, pages, sections = self.bodies[name]
            pairs.append((record, ParsedPaper(text, pages, sections, record.metadata, record.num_pages_expected)))
        write_papers(target / "papers.duckdb", pairs)
        write_papers(segment / "papers.duckdb", pairs)
        chunks = self.indexed if self.indexed is not None else self.chunks
        build_fts(chunks, self.records, segment / "chunks.duckdb", IndexSettings())
        ids = np.array([vector_id(name) for name in self.vectors], dtype=np.int64)
        matrix = np.stack(list(self.vectors.values()))
        build_vectors(matrix, ids, segment / "vectors.faiss", IndexSettings())
        seal(target, {"num_chunks": len(chunks), "num_vectors": len(ids), **self.manifest})


def seal(target: Path, changes: dict[str, object]) -> None:
    path = target / MANIFEST_FILE
    manifest = {**json.loads(path.read_text()), **changes}
    for artifact in manifest["artifacts"].values():
        for name in artifact["files"]:
            file = target / name
            artifact["files"][name] = {"sha256": file_sha256(file), "size": file.stat().st_size}
    path.write_text(json.dumps(manifest))


def judge(
    workshop: Workshop, candidate_path: Path, only: tuple[str, ...] = (), **gates: object
) -> dict[str, GateResult]:
    """Run all gates, or only those named, on a candidate beside the published generation."""
    settings = workshop.settings
    if gates:
        settings = settings.model_copy(update={"gates": settings.gates.model_copy(update=gates)})
    every = [*corpus_gates(), *evaluation_gates()]
    chosen = [gate for gate in every if not only or gate.name in only]
    assert len(chosen) == (len(only) or len(every))
    with open_published(settings.home) as published, Generation(candidate_path) as candidate:
        context = GateContext(settings.home, settings, candidate, published)
        return {result.name: result for result in run_gates(chosen, context)}


def build_faulty(workshop: Workshop, target: Path, damage: Callable[[Parts], None]) -> Path:
    with open_generation(workshop.settings.home, workshop.generation_id) as generation:
        parts = Parts(generation)
        damage(parts)
        parts.write(generation.path, target)
    return target


def failed(results: dict[str, GateResult]) -> set[str]:
    return {result.name for result in results.values() if not result.passed and result.severity == "ERROR"}


def test_an_undamaged_copy_passes_every_gate(workshop, tmp_path):
    results = judge(workshop, build_faulty(workshop, tmp_path / "copy", lambda parts: None))
    assert failed(results) == set(), {name: results[name].detail for name in failed(results)}
    assert results["recall_at_k"].num_cases == 24
    assert results["recall_at_k"].extra["golden_hash"]
    assert len({result.fingerprint.partition(":")[0] for result in results.values()}) == 1


# -- the faults


def drop_pages(parts: Parts) -> None:
    """A paper's second page never arrived, and its ledger does not say so."""
    name = next(iter(parts.records))
    parts.records[name] = dataclasses.replace(parts.records[name], num_pages=2, num_pages_expected=2)


def serve_a_stale_index(parts: Parts) -> None:
    """The full-text index is of an earlier ingest: other texts under the same ids."""
    parts.indexed = [dataclasses.replace(chunk, text=chunk.text.replace("kelvin", "degrees")) for chunk in parts.chunks]


def embed_with_another_model(parts: Parts) -> None:
    """Vectors of another model under the old model's name."""
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(384, 384)))[0].astype(np.float32)
    parts.vectors = {name: vector @ rotation for name, vector in parts.vectors.items()}


def name_another_model(parts: Parts) -> None:
    """The manifest names a model that questions are not embedded with."""
    parts.manifest["embedder"] = {"name": "hash", "fingerprint": "hash-v0-384", "dimension": 384}


def shuffle_ids(parts: Parts) -> None:
    """Chunk ids and texts crossed within each paper; the ids as a set are right."""
    by_paper: dict[str, list[Chunk]] = {}
    for chunk in parts.chunks:
        by_paper.setdefault(chunk.paper_id, []).append(chunk)
    parts.chunks = [
        dataclasses.replace(chunk, chunk_id=chunks[(place + 1) % len(chunks)].chunk_id)
        for chunks in by_paper.values()
        for place, chunk in enumerate(chunks)
    ]


def shuffle_vectors(parts: Parts) -> None:
    """Every vector is there, under another chunk's id."""
    names = list(parts.vectors)
    parts.vectors = {name: parts.vectors[names[(place + 5) % len(names)]] for place, name in enumerate(names)}


def lose_a_paper(parts: Parts) -> None:
    """A paper whose file is still in the folder is gone from every store."""
    gone = next(name for name, record in parts.records.items() if record.path == "cobalt.md")
    del parts.records[gone], parts.bodies[gone]
    parts.chunks = [chunk for chunk in parts.chunks if chunk.paper_id != gone]
    kept = {chunk.chunk_id for chunk in parts.chunks}
    parts.vectors = {name: vector for name, vector in parts.vectors.items() if name in kept}


def duplicate_chunks(parts: Parts) -> None:
    """Every chunk is indexed twice, the second time under a number of its own."""
    copies = [
        dataclasses.replace(chunk, chunk_id=f"{chunk.chunk_id}9", index=chunk.index + 90) for chunk in parts.chunks
    ]
    parts.vectors.update({copy.chunk_id: parts.vectors[copy.chunk_id[:-1]] for copy in copies})
    parts.chunks = [*parts.chunks, *copies]


def truncate_texts(parts: Parts) -> None:
    """Texts end in the middle, consistently in every store."""
    cuts = {name: len(body[0]) * 6 // 10 for name, body in parts.bodies.items()}
    for name, (text, pages, sections) in parts.bodies.items():
        shorter = tuple(dataclasses.replace(page, char_end=min(page.char_end, cuts[name])) for page in pages)
        parts.bodies[name] = (text[: cuts[name]], shorter, sections)
    parts.chunks = [chunk for chunk in parts.chunks if chunk.char_end <= cuts[chunk.paper_id]]
    kept = {chunk.chunk_id for chunk in parts.chunks}
    parts.vectors = {name: vector for name, vector in parts.vectors.items() if name in kept}


def miss_full_text_rows(parts: Parts) -> None:
    """A third of the chunks never reached the full-text index."""
    parts.indexed = [chunk for place, chunk in enumerate(parts.chunks) if place % 3]


def move_quote_anchors(parts: Parts) -> None:
    """Offsets are one off: quotes would be cut out of the text at the wrong place."""
    parts.chunks = [
        dataclasses.replace(chunk, char_start=chunk.char_start + 1, char_end=chunk.char_end + 1)
        for chunk in parts.chunks
    ]


FAULTS = [
    (drop_pages, "page_completeness"),
    (serve_a_stale_index, "index_agreement"),
    (embed_with_another_model, "vector_fidelity"),
    (name_another_model, "vector_fidelity"),
    (shuffle_ids, "vector_fidelity"),
    (shuffle_vectors, "vector_fidelity"),
    (lose_a_paper, "no_lost_papers"),
    (duplicate_chunks, "unique_chunks"),
    (truncate_texts, "no_lost_papers"),
    (truncate_texts, "recall_at_k"),
    (miss_full_text_rows, "index_agreement"),
    (move_quote_anchors, "index_agreement"),
]


@pytest.mark.parametrize(("damage", "gate"), FAULTS, ids=[f"{damage.__name__}-{gate}" for damage, gate in FAULTS])
def test_a_damaged_store_is_stopped(workshop, tmp_path, damage, gate):
    results = judge(workshop, build_faulty(workshop, tmp_path / "faulty", damage), only=(gate,))
    assert gate in failed(results), results[gate].detail


def test_a_broken_tokeniser_is_stopped(workshop, tmp_path, monkeypatch):
    """Digits are stripped on both sides, so that T790M and C797S look alike."""
    import corpus_assets.fts_build
    import corpus_assets.fts_query

    fold = corpus_assets.fts_build.fold_for_search

    def fold_without_digits(text: str, **options: bool) -> str:
        return " ".join("".join(" " if letter.isdigit() else letter for letter in fold(text, **options)).split())

    for module in (corpus_assets.fts_build, corpus_assets.fts_query):
        monkeypatch.setattr(module, "fold_for_search", fold_without_digits)
    results = judge(workshop, build_faulty(workshop, tmp_path / "faulty", lambda parts: None), only=("known_item",))
    assert "known_item" in failed(results), results["known_item"].detail


def test_changed_bytes_are_stopped_and_never_published(workshop, tmp_path):
    home = tmp_path / "home"
    shutil.copytree(workshop.settings.home, home)
    faulty = home / "generations" / "faulty"
    shutil.copytree(home / "generations" / workshop.generation_id, faulty)
    path = faulty / "papers.duckdb"
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.unlink()
    path.write_bytes(data)
    results = {gate.name: gate for gate in corpus_gates()}
    with Generation(faulty) as candidate:
        verdict = results["generation_files"].run(GateContext(home, workshop.settings, candidate, None))
    assert not verdict.passed
    assert "papers.duckdb" in verdict.detail
    with pytest.raises(StoreError, match=r"papers\.duckdb"):
        point_to(home, "faulty")
    assert published_id(home) == workshop.generation_id


@pytest.mark.parametrize("content", [None, "", "{", '{"version": 1}'])
def test_an_unreadable_golden_set_is_stopped(workshop, tmp_path, content):
    golden = tmp_path / "golden.json"
    if content is not None:
        golden.write_text(content)
    copy = build_faulty(workshop, tmp_path / "copy", lambda parts: None)
    names = ("recall_at_k", "hit_rate_at_k", "ndcg_at_k", "no_regression", "p95_latency")
    results = judge(workshop, copy, only=names, golden_path=golden)
    assert failed(results) == set(names)
    assert "golden.json" in results["recall_at_k"].detail


def test_a_golden_label_without_its_quote_is_stopped_by_name(workshop, tmp_path):
    raw = json.loads(workshop.settings.gates.golden_path.read_text())
    raw["cases"][0]["judgments"][0]["quote"] = "These words are in no paper of the corpus."
    golden = tmp_path / "golden.json"
    golden.write_text(json.dumps(raw))
    copy = build_faulty(workshop, tmp_path / "copy", lambda parts: None)
    results = judge(workshop, copy, only=("recall_at_k",), golden_path=golden)
    assert "recall_at_k" in failed(results)
    assert raw["cases"][0]["case_id"] in results["recall_at_k"].detail


def test_a_worse_ranking_is_stopped(workshop, tmp_path, monkeypatch):
    """The candidate's results come in reverse: recall at 10 may hold, the ranking does not."""
    import retrieval.search

    found = retrieval.search.search
    faulty = build_faulty(workshop, tmp_path / "faulty", lambda parts: None)

    def search(generation, query, **options):
        result = found(generation, query, **options)
        if generation.path != faulty:
            return result
        return dataclasses.replace(result, hits=result.hits[::-1])

    monkeypatch.setattr(retrieval.search, "search", search)
    results = judge(workshop, faulty, only=("no_regression",))
    assert "no_regression" in failed(results), results["no_regression"].detail
    assert results["no_regression"].extra["worst_cases"]


def test_slow_search_is_stopped(workshop, tmp_path, monkeypatch):
    """Five seconds are added to the clock, not slept, for each search of the candidate."""
    import time

    import evaluation.runner
    import retrieval.search

    found, clock, added = retrieval.search.search, time.perf_counter, [0.0]
    faulty = build_faulty(workshop, tmp_path / "faulty", lambda parts: None)

    def search(generation, query, **options):
        added[0] += 5.0 if generation.path == faulty else 0.0
        return found(generation, query, **options)

    monkeypatch.setattr(retrieval.search, "search", search)
    monkeypatch.setattr(evaluation.runner.time, "perf_counter", lambda: clock() + added[0])
    results = judge(workshop, faulty, only=("p95_latency",))
    assert "p95_latency" in failed(results), results["p95_latency"].detail
    assert results["p95_latency"].extra["num_repeats"] == 3


def test_invented_quotes_are_stopped(workshop, tmp_path, monkeypatch):
    import evaluation.honesty

    ask = evaluation.honesty.OfflineAsker.ask

    def invent(self, question):
        answer = ask(self, question)
        changed = tuple(item.model_copy(update={"quote": f"{item.quote} Indeed."}) for item in answer.citations)
        return answer.model_copy(update={"citations": changed})

    monkeypatch.setattr(evaluation.honesty.OfflineAsker, "ask", invent)
    results = judge(workshop, build_faulty(workshop, tmp_path / "faulty", lambda parts: None), only=("honesty",))
    assert "honesty" in failed(results)
    assert "is not what" in results["honesty"].detail


def test_answering_the_unanswerable_is_stopped(workshop, tmp_path, monkeypatch):
    import evaluation.honesty

    ask = evaluation.honesty.OfflineAsker.ask

    def answer_all(self, question):
        answer = ask(self, question)
        return answer.model_copy(update={"abstained": False}) if answer.abstained else answer

    monkeypatch.setattr(evaluation.honesty.OfflineAsker, "ask", answer_all)
    results = judge(workshop, build_faulty(workshop, tmp_path / "faulty", lambda parts: None), only=("honesty",))
    assert "honesty" in failed(results)


def test_a_corpus_without_a_golden_set_is_told_so_and_not_stopped(workshop, tmp_path, monkeypatch):
    import evaluation.quality

    elsewhere = json.loads(workshop.settings.gates.golden_path.read_text().replace("the-melting-of", "the-boiling-of"))
    default = tmp_path / "default.json"
    default.write_text(json.dumps(elsewhere))
    monkeypatch.setattr(evaluation.quality, "DEFAULT_GOLDEN", default)
    copy = build_faulty(workshop, tmp_path / "copy", lambda parts: None)
    results = judge(workshop, copy, golden_path=None)
    for name in ("recall_at_k", "hit_rate_at_k", "ndcg_at_k", "no_regression", "p95_latency", "faithfulness_floor"):
        assert (results[name].passed, results[name].severity) == (False, "WARN"), name
        assert "No golden set" in results[name].detail
    assert failed(results) == set()


def test_the_whole_ingest_keeps_the_old_corpus_when_retrieval_breaks(workshop, tmp_path, monkeypatch):
    """B49 and the issue's demand: a worse build turns red, is not published, and the old one keeps answering."""
    import corpus_assets.fts_build
    from retrieval.search import search

    home, folder = tmp_path / "home", tmp_path / "papers"
    shutil.copytree(workshop.settings.home, home)
    shutil.copytree(workshop.folder, folder)
    settings = workshop.settings.model_copy(update={"home": home, "papers_dir": folder})
    (folder / "tin.md").write_text("# The melting of tin\n\n## Results\n\nTin melts at 505 kelvin in batch TX-9.\n")
    with monkeypatch.context() as broken:
        fold = corpus_assets.fts_build.fold_for_search
        broken.setattr(
            corpus_assets.fts_build,
            "fold_for_search",
            lambda text, **options: " ".join(
                "".join(" " if letter.isdigit() else letter for letter in fold(text, **options)).split()
            ),
        )
        with pytest.raises(GateFailedError, match="known_item"):
            ingest(settings, folder, gates=[*corpus_gates(), *evaluation_gates()])
    assert published_id(home) == workshop.generation_id
    with open_published(home) as generation:
        assert search(generation, "AX-101", mode="fts_only", k=3).hits
