"""Run a golden set on a generation: the three modes and reranked hybrid on the same cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.errors import BadInputError
from corpus_assets.settings import RetrievalSettings, Settings
from evaluation.cases import DIFFICULTIES, QUERY_TYPES, Fixture, load_fixture
from evaluation.labels import BoundFixture, bind_fixture
from evaluation.metrics import DEFAULT_METRICS
from evaluation.runner import Benchmark, SearchFunction, Slices, measure_modes, summarize

if TYPE_CHECKING:
    from corpus_assets.embedding.protocol import Embedder
    from corpus_assets.store.generation import Generation

PLAIN_MODES = ("fts_only", "embedding_only", "hybrid")
RERANKED = "hybrid_rerank"
ALL_MODES = (*PLAIN_MODES, RERANKED)
DEPTH = 100  # recall@100 needs as many


@dataclass(frozen=True)
class FixtureBench:
    """A golden set measured on a generation. ``benchmark`` is None when no case could be bound."""

    bound: BoundFixture
    benchmark: Benchmark | None


def bench_fixture(
    fixture: Fixture | Path,
    generation: Generation,
    *,
    settings: Settings,
    embedder: Embedder | None = None,
    modes: Sequence[str] = ALL_MODES,
) -> dict[str, Any]:
    """Return the bench report of a golden set (DESIGN section 8) on a generation.

    The embedder defaults to the one the generation was built with. Raises GateFailedError when a label cannot be bound
    or a case fails, BadInputError when no case is about this corpus.
    """
    loaded = load_fixture(fixture) if isinstance(fixture, Path) else fixture
    used = embedder or open_embedder(generation, settings)
    measured = measure_fixture(loaded, generation, settings=settings, embedder=used, modes=modes)
    measured.bound.require_complete()
    if measured.benchmark is None:
        raise BadInputError(
            f"None of the golden set's {len(loaded.cases)} cases is about a paper of generation {generation.id}.",
            hint="Bench it on the corpus it was judged on.",
        )
    return summarize(
        measured.benchmark,
        num_docs=generation.num_chunks,
        embedder=used.name,
        gates=settings.gates,
        details=describe_binding(measured.bound, generation),
    )


def measure_fixture(
    fixture: Fixture,
    generation: Generation,
    *,
    settings: Settings,
    embedder: Embedder,
    modes: Sequence[str] = PLAIN_MODES,
    metrics: Sequence[str] = DEFAULT_METRICS,
) -> FixtureBench:
    """Bind the labels and run the modes; unbound labels are reported, not raised, so that gates can name them."""
    bound = bind_fixture(fixture, generation)
    if not bound.cases:
        return FixtureBench(bound, None)
    searches = {mode: make_search(generation, mode, settings=settings.retrieval, embedder=embedder) for mode in modes}
    benchmark = measure_modes(
        {item.case.case_id: item.case.query for item in bound.cases},
        {item.case.case_id: item.grades for item in bound.cases},
        searches,
        slices=slice_cases(bound),
        twins={item.case.case_id: item.twins for item in bound.cases},
        metrics=metrics,
    )
    return FixtureBench(bound, benchmark)


def describe_binding(bound: BoundFixture, generation: Generation) -> dict[str, Any]:
    """Return what a report says about the set and the corpus it ran on."""
    return {
        "golden_hash": bound.golden_hash,
        "generation": generation.id,
        "embedder_fingerprint": generation.manifest.embedder.fingerprint,
        "num_left_out": len(bound.left_out),
        "left_out": list(bound.left_out),
        "labels": dict(bound.kinds),
    }


def slice_cases(bound: BoundFixture) -> Slices:
    """Return case ids by query type and by difficulty, in the schema's order; empty groups are left out."""
    by_type = {
        name: [item.case.case_id for item in bound.cases if item.case.query_type == name] for name in QUERY_TYPES
    }
    by_difficulty = {
        name: [item.case.case_id for item in bound.cases if item.case.difficulty == name] for name in DIFFICULTIES
    }
    return {
        "query_type": {name: ids for name, ids in by_type.items() if ids},
        "difficulty": {name: ids for name, ids in by_difficulty.items() if ids},
    }


def open_embedder(generation: Generation, settings: Settings) -> Embedder:
    """Load the embedder a generation was built with. Raises BadInputError when the settings name another one."""
    from corpus_assets.embedding.registry import load_embedder

    built_with = str(generation.manifest.settings["embedding"]["model"])
    embedder = load_embedder(built_with, settings.models_path, threads=1)
    if embedder.fingerprint != generation.manifest.embedder.fingerprint:
        raise BadInputError(
            f"Generation {generation.id} was built with {generation.manifest.embedder.fingerprint}, the model "
            f"{built_with!r} on this machine is {embedder.fingerprint}.",
            hint="Ingest again, so that questions and passages are embedded by the same model.",
        )
    return embedder


def make_search(
    generation: Generation, mode: str, *, settings: RetrievalSettings, embedder: Embedder, k: int = DEPTH
) -> SearchFunction:
    """Return query -> chunk ids, best first, in a mode; ``hybrid_rerank`` reorders the head of hybrid."""
    from retrieval.search import search

    if mode == RERANKED:
        return _make_reranked_search(generation, settings=settings, embedder=embedder, k=k)
    if mode not in PLAIN_MODES:
        raise BadInputError(f"Unknown retrieval mode {mode!r}.", hint=f"Use one of {', '.join(ALL_MODES)}.")

    def run(query: str) -> list[str]:
        result = search(generation, query, mode=mode, k=k, embedder=embedder, settings=settings)  # type: ignore[arg-type]
        return [hit.chunk.chunk_id for hit in result.hits]

    return run


def _make_reranked_search(
    generation: Generation, *, settings: RetrievalSettings, embedder: Embedder, k: int
) -> Callable[[str], list[str]]:
    from retrieval.passages import Candidate, SentenceReader
    from retrieval.plan import Plan, SubQuery
    from retrieval.rarity import CorpusTerms
    from retrieval.rerank import load_cross_encoder, rerank, score_sentences
    from retrieval.search import search

    settings = replace_reranker(settings)
    reader, terms = SentenceReader(generation), CorpusTerms(generation)
    cross_encoder, _ = load_cross_encoder(settings)

    def run(query: str) -> list[str]:
        hits = search(generation, query, mode="hybrid", k=k, embedder=embedder, settings=settings).hits
        plan = Plan(query, sub_queries=(SubQuery(query, query),))
        head = [
            Candidate(hit.chunk, hit.score, rank=hit.rank, cosine=hit.cosine) for hit in hits[: settings.k_retrieve]
        ]
        sentences = score_sentences(plan, head, reader, terms, embedder)
        reranked = rerank(
            plan, head, sentences, cross_encoder=cross_encoder, has_embedder=True, settings=settings
        ).candidates
        tail = [hit.chunk.chunk_id for hit in hits[settings.k_retrieve :]]
        return [candidate.chunk_id for candidate in reranked] + tail

    return run


def replace_reranker(settings: RetrievalSettings) -> RetrievalSettings:
    """Return the settings with reranking on: a bench of reranking must not measure its absence."""
    return settings.model_copy(update={"reranker": "auto"}) if settings.reranker == "off" else settings


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
