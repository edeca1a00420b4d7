"""Run a golden set on a generation: the three modes and reranked hybrid on the same cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.cores import num_cores
from corpus_assets.errors import BadInputError
from corpus_assets.model import Chunk
from corpus_assets.settings import RetrievalSettings, Settings, fingerprint
from evaluation.cases import DIFFICULTIES, QUERY_TYPES, Fixture, load_fixture
from evaluation.labels import BoundFixture, bind_fixture, no_case_error
from evaluation.metrics import DEFAULT_METRICS, mean
from evaluation.runner import Benchmark, SearchFunction, Slices, measure_modes, summarize

if TYPE_CHECKING:
    from corpus_assets.embedding.protocol import Embedder
    from corpus_assets.store.generation import Generation

PLAIN_MODES = ("fts_only", "embedding_only", "hybrid")
RERANKED = "hybrid_rerank"
ALL_MODES = (*PLAIN_MODES, RERANKED)
DEPTH = 100  # recall@100 needs as many
ALPHA = 0.05


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
        raise no_case_error(loaded, generation.id)
    report = summarize(
        measured.benchmark,
        num_docs=generation.num_chunks,
        embedder=used.name,
        gates=settings.gates,
        details={
            **describe_binding(measured.bound, generation),
            "filter_recall": measure_filter_recall(measured.bound, generation, settings=settings, embedder=used),
        },
    )
    if RERANKED in modes:
        report["rerank"] = describe_rerank(report, settings.retrieval)
    return report


def measure_filter_recall(
    bound: BoundFixture, generation: Generation, *, settings: Settings, embedder: Embedder
) -> dict[str, Any]:
    """Return the mean share of a case's relevant papers that the shortlist keeps; 1 where small corpora skip it."""
    from retrieval.shortlist import shortlist_papers

    kept: dict[str, float] = {}
    num_skipped = 0
    for item in bound.cases:
        wanted = {chunk_id.split(":", 1)[0] for chunk_id, grade in item.grades.items() if grade > 0}
        shortlist = shortlist_papers([item.case.query], generation, embedder, settings.retrieval)
        num_skipped += shortlist.is_skipped
        found = wanted if shortlist.is_skipped else wanted & set(shortlist.paper_ids)
        kept[item.case.case_id] = len(found) / len(wanted)
    return {"mean": mean(kept.values()), "num_cases": len(kept), "num_skipped": num_skipped}


def measure_fixture(
    fixture: Fixture,
    generation: Generation,
    *,
    settings: Settings,
    embedder: Embedder,
    modes: Sequence[str] = PLAIN_MODES,
    metrics: Sequence[str] = DEFAULT_METRICS,
    paper_ids: frozenset[str] = frozenset(),
) -> FixtureBench:
    """Bind the labels and run the modes; unbound labels are reported, not raised, so that gates can name them.

    ``paper_ids`` restricts the search to these papers (empty: all).
    """
    bound = bind_fixture(fixture, generation)
    if not bound.cases:
        return FixtureBench(bound, None)
    benchmark = measure_bound(
        bound,
        generation,
        settings=settings,
        embedder=embedder,
        modes=modes,
        metrics=metrics,
        paper_ids=paper_ids,
    )
    return FixtureBench(bound, benchmark)


def measure_bound(
    bound: BoundFixture,
    corpus: Any,
    *,
    settings: Settings,
    embedder: Embedder,
    modes: Sequence[str] = PLAIN_MODES,
    metrics: Sequence[str] = DEFAULT_METRICS,
    paper_ids: frozenset[str] = frozenset(),
) -> Benchmark:
    """Run bound cases through the modes on a corpus (a generation, or one with another model's vectors)."""
    searches = {
        mode: make_search(corpus, mode, settings=settings.retrieval, embedder=embedder, paper_ids=paper_ids)
        for mode in modes
    }
    return measure_modes(
        {item.case.case_id: item.case.query for item in bound.cases},
        {item.case.case_id: item.grades for item in bound.cases},
        searches,
        slices=slice_cases(bound),
        twins={item.case.case_id: item.twins for item in bound.cases},
        metrics=metrics,
    )


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


def require_modes(modes: Sequence[str]) -> None:
    """Raise BadInputError when a mode is unknown or none is named, before anything is embedded."""
    unknown = [mode for mode in modes if mode not in ALL_MODES]
    if unknown or not modes:
        problem = f"Unknown retrieval mode {unknown[0]!r}." if unknown else "No retrieval mode is named."
        raise BadInputError(problem, hint=f"Use one or more of {', '.join(ALL_MODES)}.")


def make_search(
    generation: Any,
    mode: str,
    *,
    settings: RetrievalSettings,
    embedder: Embedder,
    k: int = DEPTH,
    paper_ids: frozenset[str] = frozenset(),
) -> SearchFunction:
    """Return query -> chunk ids, best first, in a mode; ``hybrid_rerank`` reorders the head of hybrid."""
    from retrieval.filters import Filters
    from retrieval.search import search

    filters = Filters(paper_ids=paper_ids) if paper_ids else None

    if mode == RERANKED:
        return _make_reranked_search(generation, settings=settings, embedder=embedder, k=k)
    if mode not in PLAIN_MODES:
        raise BadInputError(f"Unknown retrieval mode {mode!r}.", hint=f"Use one of {', '.join(ALL_MODES)}.")

    def run(query: str) -> list[str]:
        result = search(
            generation,
            query,
            mode=mode,  # type: ignore[arg-type]
            k=k,
            embedder=embedder,
            filters=filters,
            settings=settings,
        )
        return [hit.chunk.chunk_id for hit in result.hits]

    return run


def _make_reranked_search(
    generation: Any, *, settings: RetrievalSettings, embedder: Embedder, k: int
) -> Callable[[str], list[str]]:
    from retrieval.search import search

    settings = replace_reranker(settings)
    reorder = make_reranker(generation, settings=settings, embedder=embedder)

    def run(query: str) -> list[str]:
        found = search(generation, query, mode="hybrid", k=k, embedder=embedder, settings=settings).hits
        chunks = [hit.chunk for hit in found]
        head, tail = chunks[: settings.k_retrieve], chunks[settings.k_retrieve :]
        return reorder(query, head) + [chunk.chunk_id for chunk in tail]

    return run


def make_reranker(
    generation: Any, *, settings: RetrievalSettings, embedder: Embedder
) -> Callable[[str, Sequence[Chunk]], list[str]]:
    """Return (query, passages in first-stage order) -> chunk ids in reranked order; models are loaded once."""
    from retrieval.passages import Candidate, SentenceReader
    from retrieval.plan import Plan, SubQuery
    from retrieval.rarity import CorpusTerms
    from retrieval.rerank import load_cross_encoder, rerank, score_passages, score_sentences

    settings = replace_reranker(settings)
    reader, terms = SentenceReader(generation), CorpusTerms(generation)
    cross_encoder, _ = load_cross_encoder(settings)

    def reorder(query: str, chunks: Sequence[Chunk]) -> list[str]:
        plan = Plan(query, sub_queries=(SubQuery(query, query),))
        head = [Candidate(chunk, 0.0, rank=rank) for rank, chunk in enumerate(chunks, start=1)]
        scores: dict[str, float] | None = None
        if cross_encoder is not None:
            scored = score_passages(plan, head, cross_encoder)
            scores = {candidate.chunk_id: candidate.relevance for candidate in scored}
        sentences = score_sentences(plan, head, reader, terms, embedder) if scores is None else {}
        scorer = "cross-encoder" if scores is not None else ""
        ranked = rerank(head, sentences, scores=scores, scorer=scorer, has_embedder=True, settings=settings)
        return [candidate.chunk_id for candidate in ranked.candidates]

    return reorder


def name_reranker(settings: RetrievalSettings) -> str:
    """Return what a bench of reranking measures under these settings, resolved: the model or measure that scores."""
    from retrieval.rerank import load_cross_encoder

    measured = replace_reranker(settings)
    cross_encoder, _ = load_cross_encoder(measured)
    if cross_encoder is not None:
        return f"cross-encoder {cross_encoder.name}"
    return "word overlap" if measured.reranker == "lexical" else "sentence similarity"


def replace_reranker(settings: RetrievalSettings) -> RetrievalSettings:
    """Return the settings with reranking on: a bench of reranking must not measure its absence."""
    return settings.model_copy(update={"reranker": "auto"}) if settings.reranker == "off" else settings


def bench_beir(
    folder: Path,
    *,
    qrels: str,
    settings: Settings,
    embedder: str = "default",
    modes: Sequence[str] = PLAIN_MODES,
    work_dir: Path | None = None,
) -> dict[str, Any]:
    """Return the bench report of a judged collection in BEIR's layout, on the project's own indexes and search.

    Indexes are kept under ``work_dir`` (default: ``bench`` in the home) and used again when nothing changed. Latencies
    are of a warm process and include the question's embedding in every mode that has one; ``peers`` stands beside them.
    """
    from evaluation.beir import BeirCorpus, build_beir_segment, load_beir, make_beir_search
    from evaluation.embedders import open_named
    from evaluation.peers import measure_peers

    require_modes(modes)
    data = load_beir(folder, qrels)
    threads = settings.run.threads or 1
    model = open_named(embedder, settings)
    target = work_dir or settings.home / "bench"
    corpus = BeirCorpus(build_beir_segment(data.documents, target, model, settings.index))
    searches: dict[str, SearchFunction] = {}
    for mode in modes:
        if mode == RERANKED:
            reranked = _make_reranked_search(corpus, settings=settings.retrieval, embedder=model, k=DEPTH)
            searches[mode] = _by_document(reranked, corpus.doc_id)
        elif mode in PLAIN_MODES:
            searches[mode] = make_beir_search(corpus, mode, embedder=model, settings=settings.retrieval, k=DEPTH)  # type: ignore[arg-type]
        else:
            raise BadInputError(f"Unknown retrieval mode {mode!r}.", hint=f"Use one of {', '.join(ALL_MODES)}.")
    benchmark = measure_modes(data.queries, data.qrels, searches)
    report = summarize(
        benchmark,
        num_docs=len(data.documents),
        embedder=model.name,
        gates=settings.gates,
        details={
            "dataset": f"{folder.name}/{qrels}",
            "golden_hash": fingerprint(
                {"queries": dict(data.queries), "qrels": {k: dict(v) for k, v in data.qrels.items()}}
            ),
            "generation": corpus.id,
            "embedder_fingerprint": model.fingerprint,
            "machine": {"num_cores": num_cores(), "embedding_threads": threads},
            "peers": measure_peers(data, corpus, model, k=DEPTH),
        },
    )
    if RERANKED in modes:
        report["rerank"] = describe_rerank(report, settings.retrieval)
    return report


def describe_rerank(report: Mapping[str, Any], settings: RetrievalSettings) -> dict[str, Any]:
    """Return which reranker was measured and whether it earns its place: significantly above hybrid, or not."""
    scorer = name_reranker(settings)
    found = [
        row for row in report["comparisons"] if (row["a"], row["b"], row["metric"]) == (RERANKED, "hybrid", "ndcg@10")
    ]
    if not found:
        return {"reranker": scorer, "is_better": None, "reason": "hybrid was not measured beside it"}
    row = found[0]
    is_better = bool(row["diff"] > 0 and row["p"] < ALPHA)
    verdict = "significantly better than" if is_better else "not significantly better than"
    low, high = row["ci95"]
    is_served = settings.reranker != "off"
    link = "so" if is_better == is_served else "yet"
    served = f"{link} `ask` reranks" if is_served else f"{link} `ask` does not rerank"
    return {
        "reranker": scorer,
        "is_better": is_better,
        "is_served": is_served,
        "reason": f"reranking by {scorer} is {verdict} hybrid alone: nDCG@10 {row['diff']:+.4f} (95 % interval "
        f"{low:+.4f} to {high:+.4f}, p {row['p']:.3f}, {row['num_cases']} cases), {served}",
    }


def _by_document(search: Callable[[str], list[str]], doc_id: Callable[[str], str]) -> SearchFunction:
    def run(query: str) -> list[str]:
        return [doc_id(chunk_id) for chunk_id in search(query)]

    return run
