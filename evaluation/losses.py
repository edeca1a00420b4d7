"""For every judged passage of a golden set, the stage that lost it on the way to the answer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluation.cases import Fixture, load_fixture
from evaluation.labels import no_case_error

if TYPE_CHECKING:
    from corpus_assets.settings import Settings
    from corpus_assets.store.generation import Generation

MIN_RELEVANCE = 2  # passages that answer, not those that only touch on the subject
CITED = "cited"
ASKED_BACK = "plan"


def find_losses(
    fixture: Fixture | Path,
    generation: Generation,
    *,
    settings: Settings,
    min_relevance: int = MIN_RELEVANCE,
) -> dict[str, Any]:
    """Ask every question as ``ask`` would (uncached, unsaved) and say of each judged passage where it went.

    Returns num_cases, num_passages, stages (name -> passages; those in the answer under ``cited``), passages[{case_id,
    query, chunk_ref, relevance, stage, reason}] and left_out, the cases about no paper of this corpus.
    Raises BadInputError when that is all of them.
    """
    from retrieval.copilot import load_model, make_context, start
    from retrieval.ledger import STAGES, find_loss
    from retrieval.pipeline import run_stages

    loaded = load_fixture(fixture) if isinstance(fixture, Path) else fixture
    cases = [case for case in loaded.cases if any(item.paper_id in generation.papers for item in case.judgments)]
    if not cases:
        raise no_case_error(loaded, generation.id)
    context = make_context(settings, generation, use_cache=False)
    passages: list[dict[str, Any]] = []
    for case in cases:
        context.language_model = load_model(settings)  # with a budget for this question
        state = run_stages(start(case.query), context)
        for item in case.judgments:
            if item.relevance < min_relevance:
                continue
            if state.planned.clarification:
                stage, reason = ASKED_BACK, state.planned.clarification
            else:
                loss = find_loss(state, context, paper_id=item.paper_id, quote=item.quote)
                stage, reason = loss.stage or CITED, loss.reason
            passages.append(
                {
                    "case_id": case.case_id,
                    "query": case.query,
                    "chunk_ref": item.chunk_ref,
                    "relevance": item.relevance,
                    "stage": stage,
                    "reason": reason,
                }
            )
    counts = Counter(row["stage"] for row in passages)
    return {
        "generation": generation.id,
        "num_cases": len(cases),
        "num_passages": len(passages),
        "stages": {stage: counts[stage] for stage in (ASKED_BACK, *STAGES, CITED)},
        "passages": passages,
        "left_out": [case.case_id for case in loaded.cases if case not in cases],
    }
