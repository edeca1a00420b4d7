"""The same cases on the same passages with several embedders, side by side: offline tier beside the live one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.errors import BadInputError
from corpus_assets.model import Chunk, ClusterMap, PaperRecord
from corpus_assets.settings import IndexSettings, Settings
from evaluation.bench import ALL_MODES, PLAIN_MODES, describe_binding, measure_bound
from evaluation.cases import Fixture, load_fixture
from evaluation.labels import bind_fixture
from evaluation.metrics import DEFAULT_METRICS
from evaluation.runner import summarize

if TYPE_CHECKING:
    from corpus_assets.embedding.protocol import Embedder
    from corpus_assets.store.generation import Generation


def compare_tiers(reports: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Set reports of the same golden set side by side, e.g. {"hash": …, "default": …}: one row a mode and metric.

    Raises BadInputError when the reports are of different golden sets.
    """
    hashes = {str(report["golden_hash"]) for report in reports.values()}
    if len(hashes) != 1:
        raise BadInputError(f"Tiers of different golden sets ({', '.join(sorted(hashes))}) cannot be compared.")
    modes = [mode for mode in ALL_MODES if all(mode in report["modes"] for report in reports.values())]
    rows = [
        {
            "mode": mode,
            "metric": metric,
            **{tier: report["modes"][mode][metric] for tier, report in reports.items()},
        }
        for mode in modes
        for metric in (*DEFAULT_METRICS, "avg_latency_ms", "p95_latency_ms")
    ]
    return {
        "golden_hash": hashes.pop(),
        "tiers": {
            tier: {
                "embedder": report["embedder"],
                "generation": report["generation"],
                "num_cases": report["num_cases"],
                "decision": report["decision"],
            }
            for tier, report in reports.items()
        },
        "rows": rows,
    }


@dataclass(frozen=True, eq=False)  # search keeps what it knows of a corpus by identity
class ReembeddedCorpus:
    """A generation's own passages and full-text index, with the vectors of another model."""

    generation: Generation
    segments: Sequence[Any]

    @property
    def papers(self) -> Mapping[str, PaperRecord]:
        return self.generation.papers

    @property
    def clusters(self) -> ClusterMap:
        return self.generation.clusters

    @property
    def num_chunks(self) -> int:
        return self.generation.num_chunks

    def chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        return self.generation.chunks(chunk_ids)

    def text(self, paper_id: str) -> str:
        return self.generation.text(paper_id)


def reembed(generation: Generation, embedder: Embedder, folder: Path) -> ReembeddedCorpus:
    """Embed a generation's passages with another model into ``folder``; same passages, so same cases."""
    import numpy as np

    from corpus_assets.chunking import embed_text
    from corpus_assets.vectors import build_vectors, open_vectors, vector_id
    from retrieval.corpus import OpenSegment

    include_title = bool(generation.manifest.settings["embedding"]["include_title"])
    index = IndexSettings.model_validate(generation.manifest.settings["index"])
    titles = {paper_id: record.metadata.title for paper_id, record in generation.papers.items()}
    segments: list[OpenSegment] = []
    for segment in generation.segments:
        chunks = [chunk for chunk in segment.fts.all_chunks() if chunk.is_retrievable]
        texts = [embed_text(titles.get(chunk.paper_id, ""), chunk.text, include_title) for chunk in chunks]
        ids = np.array([vector_id(chunk.chunk_id) for chunk in chunks], dtype=np.int64)
        path = folder / f"{segment.name}.faiss"
        build_vectors(embedder.embed_documents(texts), ids, path, index)
        segments.append(OpenSegment(segment.fts, open_vectors(path)))
    return ReembeddedCorpus(generation, segments)


def bench_tiers(
    fixture: Fixture | Path,
    generation: Generation,
    *,
    settings: Settings,
    embedders: Sequence[str] = ("hash", "default"),
    modes: Sequence[str] = PLAIN_MODES,
) -> dict[str, dict[str, Any]]:
    """Return embedder name -> bench report on the same passages and cases: the offline tier beside the live one.

    Give the result to ``compare_tiers``. Raises as ``bench_fixture`` does.
    """
    import tempfile

    from corpus_assets.embedding.registry import load_embedder

    loaded = load_fixture(fixture) if isinstance(fixture, Path) else fixture
    bound = bind_fixture(loaded, generation).require_complete()
    if not bound.cases:
        raise BadInputError(f"None of the golden set's cases is about a paper of generation {generation.id}.")
    reports: dict[str, dict[str, Any]] = {}
    for name in embedders:
        embedder = load_embedder(name, settings.models_path, threads=settings.run.threads or 1)
        with tempfile.TemporaryDirectory(prefix="research-copilot-") as folder:
            is_own = embedder.fingerprint == generation.manifest.embedder.fingerprint
            corpus = generation if is_own else reembed(generation, embedder, Path(folder))
            benchmark = measure_bound(bound, corpus, settings=settings, embedder=embedder, modes=modes)
        reports[name] = summarize(
            benchmark,
            num_docs=generation.num_chunks,
            embedder=embedder.name,
            gates=settings.gates,
            details={**describe_binding(bound, generation), "embedder_fingerprint": embedder.fingerprint},
        )
    return reports
