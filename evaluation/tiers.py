"""The same cases on the same passages with several embedders, side by side: offline tier beside the live one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.embedding.api import ApiEmbedder
from corpus_assets.errors import BadInputError
from corpus_assets.model import Chunk, ClusterMap, PaperRecord
from corpus_assets.settings import IndexSettings, Settings
from evaluation.bench import (
    ALL_MODES,
    PLAIN_MODES,
    describe_binding,
    measure_bound,
    measure_filter_recall,
    require_modes,
)
from evaluation.cases import Fixture, load_fixture
from evaluation.embedders import DEFAULT, OFFLINE, open_named
from evaluation.labels import bind_fixture, no_case_error
from evaluation.metrics import DEFAULT_METRICS
from evaluation.runner import COMPARED_METRICS, summarize
from evaluation.statistics import compare_paired, holm

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corpus_assets.embedding.protocol import Embedder
    from corpus_assets.store.generation import Generation

VECTOR_MODES = ("embedding_only", "hybrid")  # full text is the same whatever the embedder


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
                "filter_recall": report.get("filter_recall"),
                **({"api": report["api"]} if "api" in report else {}),
            }
            for tier, report in reports.items()
        },
        "rows": rows,
        "comparisons": _compare_embedders(reports),
    }


def _compare_embedders(reports: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the paired differences of each embedder from hash (else from the first), Holm over the embedders."""
    base = OFFLINE if OFFLINE in reports else next(iter(reports))
    others = [name for name in reports if name != base]
    found: list[dict[str, Any]] = []
    for mode in VECTOR_MODES:
        if not others or not all(mode in report["modes"] for report in reports.values()):
            continue
        for metric in COMPARED_METRICS:
            values = {name: _per_case(report, mode, metric) for name, report in reports.items()}
            paired = {name: compare_paired(values[name], values[base]) for name in others}
            adjusted = holm({name: item.p_value for name, item in paired.items()})
            found += [
                {
                    "a": name,
                    "b": base,
                    "mode": mode,
                    "metric": metric,
                    "diff": item.difference,
                    "ci95": item.interval.as_list(),
                    "p": item.p_value,
                    "p_holm": adjusted[name],
                    "minimum_detectable": item.minimum_detectable,
                }
                for name, item in paired.items()
            ]
    return found


def _per_case(report: Mapping[str, Any], mode: str, metric: str) -> dict[str, float]:
    return {case["case_id"]: case["modes"][mode][metric] for case in report["cases"]}


@dataclass(frozen=True, eq=False)  # search keeps what it knows of a corpus by identity
class ReembeddedCorpus:
    """A generation's own passages and full-text index, with the vectors of another model."""

    generation: Generation
    segments: Sequence[Any]
    vectors_of_cards: NDArray[np.float32]

    @property
    def id(self) -> str:
        return self.generation.id

    @property
    def manifest(self) -> Any:
        return self.generation.manifest

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

    def card_vectors(self) -> tuple[list[str], NDArray[np.float32]]:
        """Return paper ids and their cards' vectors by the other model, so that its shortlist can be measured."""
        return list(self.generation.cards), self.vectors_of_cards


def reembed(generation: Generation, embedder: Embedder, folder: Path) -> ReembeddedCorpus:
    """Embed a generation's passages with another model into ``folder``; same passages, so same cases."""
    import numpy as np

    from corpus_assets.cards import card_text
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
    cards = embedder.embed_documents([card_text(card) for card in generation.cards.values()])
    return ReembeddedCorpus(generation, segments, cards)


def bench_tiers(
    fixture: Fixture | Path,
    generation: Generation,
    *,
    settings: Settings,
    embedders: Sequence[str] = (OFFLINE, DEFAULT),
    modes: Sequence[str] = PLAIN_MODES,
) -> dict[str, dict[str, Any]]:
    """Return embedder name -> bench report on the same passages and cases: the offline tier beside the live one.

    ``api`` is the embedding API of the settings. Every embedder is opened before any is measured, so that a missing
    model or a refused key shows at once. Give the result to ``compare_tiers``. Raises as ``bench_fixture`` does.
    """
    import tempfile

    require_modes(modes)
    loaded = load_fixture(fixture) if isinstance(fixture, Path) else fixture
    bound = bind_fixture(loaded, generation).require_complete()
    if not bound.cases:
        raise no_case_error(loaded, generation.id)
    opened = {name: open_named(name, settings) for name in embedders}
    reports: dict[str, dict[str, Any]] = {}
    for name, embedder in opened.items():
        with tempfile.TemporaryDirectory(prefix="research-copilot-") as folder:
            is_own = embedder.fingerprint == generation.manifest.embedder.fingerprint
            corpus: Any = generation if is_own else reembed(generation, embedder, Path(folder))
            benchmark = measure_bound(bound, corpus, settings=settings, embedder=embedder, modes=modes)
            filter_recall = measure_filter_recall(bound, corpus, settings=settings, embedder=embedder)
        details = {
            **describe_binding(bound, generation),
            "embedder_fingerprint": embedder.fingerprint,
            "filter_recall": filter_recall,
        }
        if isinstance(embedder, ApiEmbedder):
            details["api"] = embedder.describe()
        reports[name] = summarize(
            benchmark, num_docs=generation.num_chunks, embedder=embedder.name, gates=settings.gates, details=details
        )
    return reports
