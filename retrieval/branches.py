"""What stages do with a language model, and without one: each tries the model and names why it fell back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from retrieval.answer import Citation, ClaimCheck
from retrieval.answer_cache import AnswerCache, CacheHit, cache_scope
from retrieval.citations import bind_citation
from retrieval.faithfulness import VERIFIER, SentenceKey, claims_of, verify_draft
from retrieval.llm.branches import attempt
from retrieval.llm.judging import judge_draft
from retrieval.llm.planning import plan_with_model
from retrieval.llm.prefilter import cards_to_read, pick_papers
from retrieval.llm.stances import ModelStances, confirm_splits
from retrieval.llm.writing import write_with_model
from retrieval.passages import Candidate, Sentence
from retrieval.plan import Plan, plan_by_rules
from retrieval.stance import StanceModel
from retrieval.themes import Themes, find_themes, judge_stances
from retrieval.writing.compose import keep_statements
from retrieval.writing.draft import Draft
from retrieval.writing.extractive import WRITER as EXTRACTIVE
from retrieval.writing.extractive import write_extractive

if TYPE_CHECKING:
    from retrieval.asking import AskContext, AskState

WROTE_INSTEAD = "The extractive writer wrote instead."


def make_plan(question: str, state: AskState, ctx: AskContext) -> tuple[Plan, tuple[str, ...]]:
    """Return the model's plan; the rules' without a model, or when no search will follow (a cached answer)."""
    plan = plan_by_rules(question)
    model = ctx.language_model
    if model is None or plan.clarification:
        return plan, ()
    hit, _ = attempt("cache", lambda: find_cached(plan.question, scope_of(state, ctx), ctx), "Planned anew.")
    if hit is not None:
        return plan, ()
    made, notes = attempt("plan", lambda: plan_with_model(model, plan.question), "Planned by rules.")
    return made or plan, notes


def scope_of(state: AskState, ctx: AskContext) -> str:
    """Return the digest of what besides the question shapes the answer."""
    return cache_scope(
        generation=ctx.generation.id,
        mode=state.mode,
        filters=state.filters,
        settings=ctx.settings,
        writer=ctx.language_model.name if ctx.language_model else "extractive",
        retrieval=ctx.retrieval_mode,
        top_k=state.top_k or 0,
    )


def find_cached(question: str, scope: str, ctx: AskContext) -> CacheHit | None:
    """Return an earlier answer, unless the cache is off. Raises ``CopilotError``."""
    if not (ctx.use_cache and ctx.settings.retrieval.use_answer_cache):
        return None
    return AnswerCache(ctx.store, scope).find(question, lambda: ctx.embedder)


def pick_by_model(questions: Sequence[str], ctx: AskContext) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the papers a model picks from their cards; none without a model or when it fails, which is said."""
    model, settings = ctx.language_model, ctx.settings.retrieval
    if model is None:
        return (), ()
    cards = cards_to_read(ctx.generation, settings)
    picks, notes = attempt(
        "shortlist",
        lambda: pick_papers(model, questions, cards, limit=settings.shortlist_size),
        "Papers were picked by card cosine.",
    )
    return (picks.paper_ids if picks else ()), notes


def judged_themes(state: AskState, ctx: AskContext) -> tuple[tuple[Candidate, ...], Themes, str, tuple[str, ...]]:
    """Return the evidence with stances, its themes, who judged, and what did not run.

    Splits that rules find need the model's word where there is a model; once one has judged, rules find none.
    """
    evidence, judge, notes = judge_evidence(state, ctx)
    is_judged = state.planned.is_claim and judge != "rules"
    themes = find_themes(
        state.planned, evidence, state.sentences, ctx.generation.papers, ctx.reader, is_judged=is_judged
    )
    model = ctx.language_model
    if model is None or is_judged or not themes.splits:
        return evidence, themes, judge, notes
    confirmed, more = attempt("splits", lambda: confirm_splits(model, themes.splits), "Found by rules only.")
    if confirmed is None:
        return evidence, themes, judge, (*notes, *more)
    return evidence, replace(themes, splits=confirmed), model.name_of("small"), notes


def judge_evidence(state: AskState, ctx: AskContext) -> tuple[tuple[Candidate, ...], str, tuple[str, ...]]:
    """Return the evidence with stances, who gave them, and what did not run: a stance model, a model, else rules."""

    def judge(stance_model: StanceModel | None) -> tuple[Candidate, ...]:
        return judge_stances(state.planned, state.evidence, state.sentences, stance_model)

    model = ctx.language_model
    if ctx.stance_model is not None:
        return judge(ctx.stance_model), ctx.stance_model.name, ()
    if model is None or not state.planned.is_claim:
        return judge(None), "rules", ()
    judged, notes = attempt("stances", lambda: judge(ModelStances(model)), "Stances were given by rules.")
    return (judged, model.name_of("small"), notes) if judged is not None else (judge(None), "rules", notes)


def write_draft(state: AskState, ctx: AskContext) -> tuple[Draft, tuple[str, ...]]:
    """Return the model's draft; the extractive writer's without a model or when it fails, which is said."""
    model = ctx.language_model
    notes: tuple[str, ...] = ()
    if model is not None:
        draft, notes = attempt(
            "write",
            lambda: write_with_model(
                model,
                state.planned,
                state.evidence,
                state.sentences,
                state.themes,
                ctx.generation.papers,
                ctx.reader,
                state.mode,
            ),
            WROTE_INSTEAD,
        )
        if draft is not None:
            return draft, notes
    return extract_draft(state, ctx), notes


def extract_draft(state: AskState, ctx: AskContext) -> Draft:
    """Return the draft of the writer that needs no model."""
    return write_extractive(
        state.planned,
        state.evidence,
        state.sentences,
        state.themes,
        ctx.generation.papers,
        state.mode,
        is_tentative=state.relevance is not None and state.relevance.is_tentative,
    )


def bind_draft(written: Draft, ctx: AskContext) -> tuple[Draft, dict[SentenceKey, Citation], int]:
    """Return the draft with only bound statements, the citations, and how many sentences were cited."""
    cited: dict[SentenceKey, Sentence] = {}
    for item in written.statements():
        for sentence in item.sentences:
            cited.setdefault(sentence.key, sentence)
    bound: dict[SentenceKey, Citation] = {}
    for key, sentence in cited.items():
        citation = bind_citation(sentence, ctx.generation, ctx.reader)
        if citation is not None:
            bound[key] = citation
    draft = keep_statements(written, lambda item: bool(item.sentences) and all(s.key in bound for s in item.sentences))
    return draft, bound, len(cited)


def check_draft(
    written: Draft, bound: Mapping[SentenceKey, Citation], ctx: AskContext
) -> tuple[Draft, list[ClaimCheck], str, tuple[str, ...]]:
    """Return the draft without claims that fail, those claims, who judged, and what did not run.

    Deterministic tests come first; a model judges only what a model wrote and they let through.
    """
    draft, failed, _ = verify_draft(written, bound)
    failed = [*written.removed, *failed]
    model = ctx.language_model
    if model is None or written.writer == EXTRACTIVE or not has_answer(draft):
        return draft, failed, VERIFIER, ()
    judged, notes = attempt("judge", lambda: judge_draft(model, draft, bound), "Claims were checked by rules only.")
    if judged is None:
        return draft, failed, VERIFIER, notes
    return judged[0], [*failed, *judged[1]], f"{VERIFIER}, then {model.name}", notes


def num_claims_of(draft: Draft) -> int:
    """Return how many claims a draft makes, those its writer already lost included."""
    return sum(len(claims_of(item)) for item in draft.statements()) + len(draft.removed)


def has_answer(draft: Draft) -> bool:
    """Tell whether a draft still states something besides its splits and its evidence."""
    return any(section.name in {"answer", "finding"} for section in draft.sections)
