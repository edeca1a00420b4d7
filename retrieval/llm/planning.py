"""Plan a question with a model: intent, shape, sub-queries, rewordings, and queries for evidence against a claim."""

from __future__ import annotations

from dataclasses import replace

from retrieval.llm.prompts import PLAN, Item, fence, user_turn
from retrieval.llm.protocol import LanguageModel
from retrieval.llm.schemas import PlanReply
from retrieval.plan import MAX_QUERY_WORDS, Plan, SubQuery, label_for, plan_by_rules
from retrieval.terms import clip_words, content_words
from retrieval.writing.escape import strip_controls

STAGE = "plan"
MAX_WORDS = 60  # of a sub-query or rewording
MAX_LABEL_WORDS = 14


def plan_with_model(model: LanguageModel, question: str) -> Plan:
    """Return the model's plan, built on the rules' one.

    What the rules settle stays: a question that cannot be answered as it stands is given back without a call, a yes/no
    question is a claim, and a question for one search is searched in the person's own words. Raises ``CopilotError``.
    """
    plan = plan_by_rules(question)
    if plan.clarification:
        return plan
    shown = clip_words(plan.question, MAX_QUERY_WORDS)
    reply = model.complete_structured(
        stage=STAGE,
        system=PLAN,
        messages=user_turn(f"Plan this question.\n\n{fence([Item('question', shown)])}"),
        schema=PlanReply,
        tier="small",
    )
    sub_queries = _sub_queries(plan, reply)
    is_claim = plan.is_claim if plan.is_yes_no else reply.is_claim
    return replace(
        plan,
        intent=reply.intent,
        is_claim=is_claim,
        is_comparison=reply.is_comparison,
        is_multi_hop=len(sub_queries) > 1,
        sub_queries=sub_queries,
        counter_queries=_queries(reply.counter_queries) if is_claim else (),
        planner=model.name_of("small"),
    )


def _sub_queries(plan: Plan, reply: PlanReply) -> tuple[SubQuery, ...]:
    found: dict[str, SubQuery] = {}
    for item in reply.sub_queries:
        texts = _queries([item.text])
        if texts:
            label = clip_words(strip_controls(item.label), MAX_LABEL_WORDS) or label_for(texts[0])
            found.setdefault(texts[0].casefold(), SubQuery(texts[0], label, _queries(item.rewordings)))
    chosen = tuple(found.values())
    if len(chosen) > 1:
        return chosen
    rewordings = (chosen[0].text, *chosen[0].rewordings) if chosen else ()
    own = tuple(text for text in rewordings if text.casefold() != plan.question.casefold())
    return (SubQuery(plan.question, label_for(plan.question), own[:3]),)


def _queries(texts: list[str]) -> tuple[str, ...]:
    """Return texts that can be searched for: one line, not too long, holding a word that means something."""
    clean = (clip_words(strip_controls(text), MAX_WORDS) for text in texts)
    return tuple(dict.fromkeys(text for text in clean if content_words(text)))
