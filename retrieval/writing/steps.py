"""Next steps: what a reader can do now, each tied to a citation or marked as general."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from corpus_assets.model import PaperRecord
from retrieval.passages import Sentence
from retrieval.plan import Plan
from retrieval.terms import clip_words
from retrieval.themes import Themes
from retrieval.writing.draft import Step
from retrieval.writing.modes import ModeLimits

HEDGE = re.compile(
    r"\b(may(?! not)|might|could(?! not)|suggests?|suggested|possibl[ey]|appears?|seems?|likely"
    r"|potential(?:ly)?|preliminary"
    r"|trend|perhaps|probably)\b",
    re.I,
)
NOT_PEOPLE = re.compile(
    r"\b(mice|mouse|murine|rats?|zebrafish|in vitro|cell lines?|xenografts?|organoids?|in silico|simulat\w+)\b", re.I
)
SMALL_SAMPLE = re.compile(
    r"\b(?:n ?= ?([1-9]\d?)|([1-9]\d?) (?:patients|participants|subjects|samples|mice|cases))\b", re.I
)


def next_steps(
    plan: Plan, used: Sequence[Sentence], themes: Themes, papers: Mapping[str, PaperRecord], limits: ModeLimits
) -> list[Step]:
    """Return at least one and at most ``limits.num_steps`` steps, the most useful first."""
    compare = "Compare the methods and populations of the disagreeing papers before taking a side."
    steps = [Step(compare, tuple(side.sentence for side in split.sides)) for split in themes.splits[:1]]
    for first, second, reason in themes.checks[:1]:
        steps.append(Step(f"Possible disagreement, check: {reason}.", (first, second)))
    if used:
        first = used[0]
        paper = papers.get(first.paper_id)
        where = f"“{clip_words(first.section_title, 6)}” of " if first.section_title else ""
        title = clip_words(paper.label, 8) if paper else first.paper_id
        action = "Before acting on it, read" if plan.intent == "act" else "Read"
        steps.append(Step(f"{action} {where}“{title}” and check that its setting matches yours.", (first,)))
    for sentence in used:
        animal = NOT_PEOPLE.search(sentence.text)
        if animal and not NOT_PEOPLE.search(plan.question):
            steps.append(
                Step(f"Look for evidence beyond “{animal.group(0).casefold()}” before generalising.", (sentence,))
            )
            break
    for sentence in used:
        hedge = HEDGE.search(sentence.text)
        if hedge:
            steps.append(
                Step(f"Treat as tentative: the source itself says “{hedge.group(0).casefold()}”.", (sentence,))
            )
            break
    for sentence in used:
        small = SMALL_SAMPLE.search(sentence.text)
        if small:
            steps.append(Step("Check the sample size before relying on the figure.", (sentence,)))
            break
    for sentence in used:
        if sentence.is_reported:
            steps.append(
                Step("Go to the original study: this sentence only reports another paper’s finding.", (sentence,))
            )
            break
    paper_ids = {sentence.paper_id for sentence in used}
    if len(paper_ids) == 1:
        steps.append(Step("Look for a second, independent paper; only one is cited here."))
    else:
        years = [papers[key].metadata.year for key in paper_ids if key in papers]
        known = [year for year in years if year]
        if known:
            steps.append(Step(f"Search for work newer than {max(known)}, the latest year cited."))
    steps.append(Step("Add further papers on the subject to the folder and ask again."))
    return steps[: limits.num_steps]
