"""What each kind of arm does with a bundle."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from corpus_assets.errors import BadInputError, CopilotError, GateFailedError
from corpus_assets.settings import RetrievalSettings, Settings
from evaluation.ab import Arm, ArmResult, Bundle
from evaluation.ab_counter_evidence import collect_claims, run_counter_evidence
from evaluation.balance import measure_balance
from evaluation.labels import BoundFixture, canonical_ranking
from evaluation.metrics import PerQuery, measure

if TYPE_CHECKING:
    from corpus_assets.embedding.protocol import Embedder
    from corpus_assets.store.generation import Generation
    from retrieval.llm.protocol import LanguageModel

DEPTH = 100


def collect_evidence(
    arm: Arm, bound: BoundFixture, generation: Generation, *, settings: Settings, embedder: Embedder
) -> dict[str, Any]:
    """Return what both arms start from: retrieved passages (rerank), known splits (counter evidence), or nothing."""
    if arm.kind == "rerank":
        from evaluation.bench import make_search

        search = make_search(generation, arm.mode, settings=settings.retrieval, embedder=embedder, k=DEPTH)
        return {item.case.case_id: list(search(item.case.query)) for item in bound.cases}
    if arm.kind == "counter_evidence":
        return collect_claims(generation)
    return {}


def run_arm(
    arm: Arm,
    bundle: Bundle,
    generation: Generation,
    *,
    settings: Settings,
    embedder: Embedder,
    language_model: LanguageModel | None = None,
) -> ArmResult:
    """Run one arm on a bundle. Raises BadInputError when the bundle is of another corpus or kind."""
    files = {name: entry.sha256 for name, entry in generation.manifest.files().items()}
    if bundle.kind != arm.kind or bundle.content["corpus"] != files:
        raise BadInputError(
            f"Arm {arm.name!r} does not fit the bundle: it is of kind {bundle.kind} or of another corpus.",
            hint="Freeze a bundle from this generation.",
        )
    require_model(arm, language_model)
    changed = settings.model_copy(update={"retrieval": settings.retrieval.model_copy(update=arm.retrieval)})
    if arm.kind == "shortlist":
        return _run_shortlist(arm, bundle, generation, changed, embedder, language_model)
    if arm.kind == "counter_evidence":
        return run_counter_evidence(arm, bundle, generation, changed, embedder)
    return _run_ranking(arm, bundle, generation, changed.retrieval, embedder)


def require_model(arm: Arm, language_model: LanguageModel | None) -> None:
    """Raise BadInputError when an arm needs a language model and there is none."""
    if arm.method == "llm" and language_model is None:
        raise BadInputError(
            f"Arm {arm.name!r} needs a language model, and none is set up.",
            hint="Set ANTHROPIC_API_KEY, and leave RESEARCH_COPILOT_LLM__ENABLED at auto.",
        )


def _run_ranking(
    arm: Arm, bundle: Bundle, generation: Generation, settings: RetrievalSettings, embedder: Embedder
) -> ArmResult:
    from evaluation.bench import make_reranker, make_search
    from retrieval.dense import forget_questions

    cases: Mapping[str, Any] = bundle.content["cases"]
    evidence: Mapping[str, Sequence[str]] = bundle.content["evidence"]
    rankings: dict[str, list[str]] = {}
    milliseconds: PerQuery = {}
    search = make_search(generation, arm.mode, settings=settings, embedder=embedder) if arm.kind == "ranking" else None
    reorder = (
        make_reranker(generation, settings=settings, embedder=embedder) if arm.kind == "rerank" and arm.is_on else None
    )
    embedder.embed_queries(["Warm up."])  # loading a model is no cost of the first case
    if search is not None:
        for case in cases.values():  # both arms find postings in memory, not only the one that runs second
            search(case["query"])
    for case_id, case in cases.items():
        forget_questions()
        started = time.perf_counter()
        found = list(search(case["query"])) if search else list(evidence[case_id])
        if reorder is not None:
            head = generation.chunks(found[: settings.k_retrieve])
            found = reorder(case["query"], head) + found[settings.k_retrieve :]
        milliseconds[case_id] = (time.perf_counter() - started) * 1000
        rankings[case_id] = canonical_ranking(found, case["twins"])
    values = measure({case_id: case["grades"] for case_id, case in cases.items()}, rankings)
    return ArmResult(arm, bundle.digest, {**values, "latency_ms": milliseconds})


def _run_shortlist(
    arm: Arm,
    bundle: Bundle,
    generation: Generation,
    settings: Settings,
    embedder: Embedder,
    language_model: LanguageModel | None,
) -> ArmResult:
    """Run the product's own pre-filter on each question; every arm keeps ``shortlist_size`` papers.

    ``filter_recall``: share of a case's relevant papers that are still there. ``largest_cluster_share``: share of the
    kept papers in the corpus' largest cluster; ``own_cluster_share``: in the cluster most of them are in.
    ``num_by_cosine``: papers that filled up a model's pick. Raises GateFailedError naming the case when a model fails:
    its arm never becomes the other one.
    """
    from retrieval.llm.usage import UsageLedger
    from retrieval.shortlist import shortlist_papers

    names = ("filter_recall", "largest_cluster_share", "own_cluster_share", "num_papers", "num_by_cosine",
             "num_widened", "latency_ms", "usd")  # fmt: skip
    values: dict[str, PerQuery] = {name: {} for name in names}
    totals = {"usd": 0.0, "calls": 0.0, "input_tokens": 0.0, "output_tokens": 0.0}
    model = language_model if arm.method == "llm" else None
    embedder.embed_queries(["Warm up."])  # loading a model is no cost of the first case
    generation.card_vectors()
    for case_id, case in bundle.content["cases"].items():
        if model is not None:  # the limit is per question, as it is when a person asks
            model.ledger = UsageLedger(settings.llm.budget_usd_per_question)
        started = time.perf_counter()
        picked = _pick_by_model(case_id, case["query"], generation, settings.retrieval, model) if model else ()
        picker = model.name_of("small") if model else ""
        found = shortlist_papers([case["query"]], generation, embedder, settings.retrieval, picked, picker)
        values["latency_ms"][case_id] = (time.perf_counter() - started) * 1000
        kept = list(found.paper_ids) if not found.is_skipped else _served(generation)
        values["filter_recall"][case_id] = _share_kept(case["grades"], kept)
        balance = measure_balance(generation.clusters, kept)
        values["largest_cluster_share"][case_id] = balance.retrieved_share or 0.0 if balance else 0.0
        values["own_cluster_share"][case_id] = _own_cluster_share(generation, kept)
        values["num_papers"][case_id] = float(len(kept))
        values["num_by_cosine"][case_id] = float(len(set(kept) - set(picked)))
        values["num_widened"][case_id] = float(found.num_widened)
        values["usd"][case_id] = model.ledger.usd if model else 0.0
        if model is not None:
            spent = model.ledger
            for name, more in (("usd", spent.usd), ("calls", len(spent.calls)), ("input_tokens", spent.input_tokens),
                               ("output_tokens", spent.output_tokens)):  # fmt: skip
                totals[name] += more
    return ArmResult(arm, bundle.digest, values, totals if model else {})


def _share_kept(grades: Mapping[str, int], kept: Sequence[str]) -> float:
    wanted = {chunk_id.split(":", 1)[0] for chunk_id, grade in grades.items() if grade > 0}
    return len(wanted & set(kept)) / len(wanted)


def _own_cluster_share(generation: Generation, kept: Sequence[str]) -> float:
    assignments = generation.clusters.assignments
    counts = Counter(assignments[paper_id] for paper_id in kept if paper_id in assignments)
    return max(counts.values(), default=0) / len(kept) if kept else 0.0


def _served(generation: Generation) -> list[str]:
    return [paper_id for paper_id, record in generation.papers.items() if record.is_served]


def _pick_by_model(
    case_id: str, query: str, generation: Generation, settings: RetrievalSettings, model: LanguageModel
) -> tuple[str, ...]:
    """Let the model pick by the cards it is shown in ``ask`` too."""
    from retrieval.llm.prefilter import cards_to_read, pick_papers

    try:
        cards = cards_to_read(generation, settings)
        return pick_papers(model, [query], cards, limit=settings.shortlist_size).paper_ids
    except CopilotError as error:
        raise GateFailedError(f"Case {case_id!r}: the model did not pick: {error}") from error
