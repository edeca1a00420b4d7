"""No disagreement where papers agree, both sides where they do not, and what rules alone see of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evaluation.answers.corpora import BuiltCorpus, GoldStances
from evaluation.answers.gold_sets import GoldSet, JudgedPair
from evaluation.answers.rows import Row, share_row
from retrieval.stance import rule_stance
from retrieval.writing.compose import HEADINGS
from retrieval.writing.modes import LIMITS

MIN_SETS = 100
MAX_FALSE_SPLITS = 0.02
SPLIT_MODES = tuple(mode for mode, limits in LIMITS.items() if limits.has_splits)


def measure_consensus(corpus: BuiltCorpus, sets: Sequence[GoldSet], where: str) -> list[Row]:
    """Return how often agreeing papers are shown as split. Questions that got no answer are not counted."""
    misses: list[dict[str, Any]] = []
    num_answered = 0
    for gold in sets:
        record = corpus.asker.ask(gold.question, paper_ids=corpus.papers_of(gold))
        if record.abstained:
            continue
        num_answered += 1
        if record.splits or HEADINGS["split"] in record.answer:
            quotes = {citation.n: citation.quote for citation in record.citations}
            sides = [quotes[n] for split in record.splits for side in split.sides for n in side.citations]
            misses.append({"question": gold.question, "basis": [s.basis for s in record.splits], "sides": sides})
    return [
        share_row(
            "consensus", "false splits", len(misses), num_answered,
            bound="at most", limit=MAX_FALSE_SPLITS, min_cases=MIN_SETS, note=where, misses=tuple(misses),
        ),
        share_row("consensus", "questions answered", num_answered, len(sets), note=where),
    ]  # fmt: skip


def measure_gold_splits(corpus: BuiltCorpus, sets: Sequence[GoldSet], where: str) -> list[Row]:
    """Return, with stances given, the share of splits that keep both sides with a quote, in each mode that has any.

    Counted are the questions that got an answer from evidence that holds both sides.
    """
    rows = []
    for mode in SPLIT_MODES:
        misses: list[dict[str, Any]] = []
        num_both = num_answered = 0
        for gold in sets:
            record = corpus.asker.ask(
                gold.question, mode=mode, paper_ids=corpus.papers_of(gold), stance_model=GoldStances(gold)
            )
            num_answered += not record.abstained
            if record.abstained or not {"supports", "contradicts"} <= {item.stance for item in record.evidence}:
                continue
            num_both += 1
            problem = _missing_side(record)
            if problem:
                misses.append({"question": gold.question, "problem": problem, "answer": record.answer})
        rows.append(
            share_row(
                "splits", f"both sides quoted, {mode}", num_both - len(misses), num_both,
                bound="at least", limit=1.0, min_cases=20, note=f"{where}; {num_answered} of {len(sets)} answered",
                misses=tuple(misses),
            )
        )  # fmt: skip
    return rows


def _missing_side(record: Any) -> str:
    """Return what a split lacks: the section, a side, a quote, or a stance that the evidence does not have."""
    if HEADINGS["split"] not in record.answer or not record.splits:
        return "no split is shown"
    stances = {item.paper_id: item.stance for item in record.evidence}
    cited = {citation.n: citation for citation in record.citations}
    section = record.answer.split(HEADINGS["split"], 1)[1].split("\n## ", 1)[0]
    for split in record.splits:
        found = set()
        for side in split.sides:
            for n in side.citations:
                if n not in cited or f"[{n}]" not in section or not cited[n].quote:
                    return f"the side {side.position!r} has no quote"
                found.add(stances.get(cited[n].paper_id, "neutral"))
        if not {"supports", "contradicts"} <= found:
            return f"the sides shown are {sorted(found)}"
    return ""


def measure_possible_disagreement(pairs: Sequence[JudgedPair], name: str) -> list[Row]:
    """Return precision and recall of the rules' "possible disagreement" against judged contradictions."""
    num_flagged = num_right = num_contradicting = 0
    wrong: list[dict[str, Any]] = []
    for pair in pairs:
        stances = [rule_stance(pair.claim, sentence) for sentence in pair.sentences]
        flagged = next((i for i, stance in enumerate(stances) if stance.label == "possible_disagreement"), None)
        num_contradicting += pair.label == "contradicts"
        if flagged is None:
            continue
        num_flagged += 1
        num_right += pair.label == "contradicts"
        if pair.label != "contradicts":
            wrong.append(
                {"claim": pair.claim, "sentence": pair.sentences[flagged], "label": pair.label,
                 "reason": stances[flagged].reason}
            )  # fmt: skip
    note = f"rules only, {num_contradicting} of {len(pairs)} pairs contradict"
    return [
        share_row(
            "possible disagreement", f"precision, {name}", num_right, num_flagged, note=note, misses=tuple(wrong)
        ),
        share_row("possible disagreement", f"recall, {name}", num_right, num_contradicting, note=note),
    ]
