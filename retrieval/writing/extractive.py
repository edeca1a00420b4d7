"""The writer that needs no model: it selects and orders whole sentences of the evidence, each with its citation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from corpus_assets.model import PaperRecord
from corpus_assets.settings import AnswerMode
from retrieval.passages import FIRST_PERSON, LEANS_ON_BEFORE, Candidate, Sentence
from retrieval.plan import Plan
from retrieval.rerank import COVERAGE_SHARE, form_bonus
from retrieval.terms import clip_words, content_stems, overlap
from retrieval.themes import Themes
from retrieval.writing.draft import Block, Draft, DraftSection, Statement
from retrieval.writing.ideas import idea_sections
from retrieval.writing.modes import LIMITS, ModeLimits
from retrieval.writing.steps import next_steps

WRITER = "extractive"
NEAR_DUPLICATE = 0.6  # Jaccard overlap of stems above which two sentences say the same
REDUNDANCY_WEIGHT = 0.35
RELATIVE_FLOOR = 0.22  # a sentence this much below the best of its sub-question is left out
ABSOLUTE_FLOOR = 0.30
PASSAGE_SHARE = 0.10
PRACTICE_CUES = re.compile(
    r"\b(?:should|recommend\w*|advis\w+|guidelines?|clinical practice|in practice|practitioners?|clinicians?"
    r"|policy|policymakers"
    r"|warrants?|warranted|implications?|supports? (?:the )?use|(?:is|are) (?:preferred|indicated|advisable"
    r"|needed|required|essential)"
    r"|need(?:s|ed)? to|can be used|may be used|could be used|consider(?:ed)? (?:for|as|using)|allows?|enables?"
    r"|useful|first-line"
    r"|standard of care|monitor(?:ing|ed)?|routine(?:ly)?)\b",
    re.I,
)
NEGATIVE_OPENING = re.compile(r"^(?:yes|no)\b[\s,.:;–-]", re.I)


def write_extractive(
    plan: Plan,
    evidence: Sequence[Candidate],
    sentences: Mapping[str, Sequence[Sentence]],
    themes: Themes,
    papers: Mapping[str, PaperRecord],
    mode: AnswerMode,
) -> Draft:
    """Write a draft in ``mode``. Deterministic: ties go by paper id and place in the text."""
    limits = LIMITS[mode]
    pool = sentence_pool(evidence, sentences, limits)
    attribute = attributor(papers)
    if mode == "ideas":
        sections = idea_sections(plan, ranked(pool, 0, limits.num_evidence + 4, []), limits, attribute)
        used = [
            sentence
            for section in sections
            for block in section.blocks
            for s in block.statements
            for sentence in s.sentences
        ]
        return Draft(WRITER, tuple(sections), tuple(next_steps(plan, used, themes, papers, limits)))
    taken: list[Sentence] = []
    answer_blocks = write_answer(plan, pool, limits, taken, attribute)
    practice = write_practice(pool, limits, taken, attribute)
    evidence_blocks = write_evidence(plan, pool, limits, taken, attribute)
    sections = [DraftSection("answer", tuple(answer_blocks))]
    if evidence_blocks:
        sections.append(DraftSection("evidence", tuple(evidence_blocks)))
    if limits.has_splits and themes.splits:
        sections.append(DraftSection("split", tuple(write_splits(themes, attribute))))
    if practice:
        sections.append(DraftSection("practice", (Block(tuple(practice)),)))
    return Draft(WRITER, tuple(sections), tuple(next_steps(plan, taken, themes, papers, limits)))


def sentence_pool(
    evidence: Sequence[Candidate], sentences: Mapping[str, Sequence[Sentence]], limits: ModeLimits
) -> list[Sentence]:
    """Return the evidence's sentences without repeats; too long ones only if nothing else is left."""
    pool: dict[tuple[str, int, int], Sentence] = {}
    companions = set()
    for item in evidence:
        for sentence in sentences.get(item.chunk_id, ()):
            pool.setdefault(sentence.key, sentence)
            if sentence.companion:
                companions.add(sentence.companion.key)
    relevance = {item.chunk_id: item.relevance for item in evidence}
    from dataclasses import replace

    kept = [
        replace(sentence, passage_relevance=relevance[sentence.chunk_id])
        for key, sentence in pool.items()
        if key not in companions and not NEGATIVE_OPENING.match(sentence.text)
    ]
    short = [sentence for sentence in kept if sentence.num_words <= limits.max_sentence_words]
    return short or kept


def column_score(sentence: Sentence, column: int) -> float:
    """Return how well a sentence answers one column's question (0: the whole question; i + 1: sub-query i)."""
    blend = (1 - COVERAGE_SHARE) * sentence.similarities[column] + COVERAGE_SHARE * sentence.coverage[column]
    return blend + form_bonus(sentence) + PASSAGE_SHARE * sentence.passage_relevance


def ranked(pool: Sequence[Sentence], column: int, k: int, taken: Sequence[Sentence]) -> list[Sentence]:
    """Return up to ``k`` sentences by maximal marginal relevance to a column, none near to one already taken."""
    scores = {sentence.key: column_score(sentence, column) for sentence in pool}
    if not scores:
        return []
    floor = max(ABSOLUTE_FLOOR, max(scores.values()) - RELATIVE_FLOOR)
    stems = {sentence.key: frozenset(content_stems(sentence.text)) for sentence in [*pool, *taken]}
    chosen: list[Sentence] = []
    against = list(taken)
    left = sorted(
        (sentence for sentence in pool if scores[sentence.key] >= floor), key=lambda item: (-scores[item.key], item.key)
    )
    while left and len(chosen) < k:
        best: Sentence | None = None
        best_value = float("-inf")
        for sentence in left:
            redundancy = max((overlap(stems[sentence.key], stems[other.key]) for other in against), default=0.0)
            if redundancy >= NEAR_DUPLICATE or any(sentence.key == other.key for other in against):
                continue
            value = scores[sentence.key] - REDUNDANCY_WEIGHT * redundancy
            if value > best_value:
                best, best_value = sentence, value
        if best is None:
            break
        chosen.append(best)
        against.append(best)
        left.remove(best)
    return chosen


def write_answer(
    plan: Plan,
    pool: Sequence[Sentence],
    limits: ModeLimits,
    taken: list[Sentence],
    attribute: Callable[[Sentence], str],
) -> list[Block]:
    """Return one block a sub-question with its best sentences."""
    columns = list(range(1, len(plan.sub_queries) + 1))
    if plan.is_comparison and len(columns) > 1:
        columns = columns[:1] if limits.max_words < 300 else columns
    blocks = []
    for column in columns:
        chosen = ranked(pool, column, limits.num_answer if len(columns) > 1 else limits.num_answer + 1, taken)
        taken.extend(chosen)
        if not chosen:
            continue
        heading = plan.sub_queries[column - 1].label if len(columns) > 1 else ""
        blocks.append(
            Block(tuple(statement(item, 10.0 - rank, attribute) for rank, item in enumerate(chosen)), heading)
        )
    if blocks:
        first = blocks[0]
        blocks[0] = Block(first.statements, first.heading, opening_note(plan))
    return blocks


def opening_note(plan: Plan) -> str:
    """Return the program's own first words; they never answer yes or no and never accept what a question assumes."""
    if plan.is_yes_no:
        return "No yes or no is given here, since no judge has weighed the papers. What they state:"
    if re.match(r"^\W*why\b", plan.question, re.I):
        return "Whether what the question assumes is so is for the papers to say. What they state:"
    if plan.is_claim:
        return "What the papers state about this:"
    return "In the papers’ own words:"


def write_evidence(
    plan: Plan,
    pool: Sequence[Sentence],
    limits: ModeLimits,
    taken: list[Sentence],
    attribute: Callable[[Sentence], str],
) -> list[Block]:
    """Return bullets beyond the answer's sentences, grouped by sub-question, fairly shared."""
    num_columns = len(plan.sub_queries)
    share = max(1, limits.num_evidence // num_columns)
    blocks = []
    for column in range(1, num_columns + 1):
        chosen = ranked(pool, column, share, taken)
        taken.extend(chosen)
        if chosen:
            heading = plan.sub_queries[column - 1].label if num_columns > 1 else ""
            blocks.append(
                Block(tuple(statement(item, 5.0 - rank * 0.4, attribute) for rank, item in enumerate(chosen)), heading)
            )
    return blocks


def write_practice(
    pool: Sequence[Sentence], limits: ModeLimits, taken: list[Sentence], attribute: Callable[[Sentence], str]
) -> list[Statement]:
    """Return sentences that say what to do or what follows, most relevant first."""
    practical = [sentence for sentence in pool if PRACTICE_CUES.search(sentence.text)]
    chosen = ranked(practical, 0, limits.num_practice, taken)
    taken.extend(chosen)
    return [statement(item, 4.0 - rank, attribute) for rank, item in enumerate(chosen)]


def write_splits(themes: Themes, attribute: Callable[[Sentence], str]) -> list[Block]:
    """Return one block a split, with a quote for each side; these are never cut."""
    blocks = []
    for split in themes.splits:
        statements = [
            Statement(
                (side.sentence,),
                weight=100.0,
                is_required=True,
                lead=side.position + attribution_tail(attribute(side.sentence)),
            )
            for side in split.sides
        ]
        blocks.append(Block(tuple(statements), split.label, split.note))
    return blocks


def attribution_tail(lead: str) -> str:
    return f", {lead}" if lead else ""


def statement(sentence: Sentence, weight: float, attribute: Callable[[Sentence], str]) -> Statement:
    """Return a statement of a sentence, with the sentence it leans on before it and the one that takes it back after."""
    parts = [sentence]
    if sentence.antecedent and sentence.antecedent.num_words + sentence.num_words <= 60:
        parts.insert(0, sentence.antecedent)
    if sentence.companion:
        parts.append(sentence.companion)
    return Statement(tuple(parts), weight=weight, lead=attribute(sentence))


def attributor(papers: Mapping[str, PaperRecord]) -> Callable[[Sentence], str]:
    """Return a function that names whose words a sentence is, where the reader would otherwise be misled."""

    def attribute(sentence: Sentence) -> str:
        paper = papers.get(sentence.paper_id)
        name = paper_label(paper) if paper else sentence.paper_id
        if sentence.is_reported:
            return f"Reported by others, as told in {name}"
        if paper and paper.retraction == "retraction":
            return f"From a retracted paper, {name}"
        if FIRST_PERSON.search(sentence.text):
            return name
        return ""

    return attribute


def paper_label(paper: PaperRecord) -> str:
    """Return "Okonkwo 2018", "Mensah et al. 2011", or the shortened title."""
    authors = paper.metadata.authors
    if not authors:
        return f"“{clip_words(paper.label, 8)}”"
    surname = authors[0].split(",")[0].strip() if "," in authors[0] else authors[0].split()[-1]
    who = surname if len(authors) == 1 else f"{surname} et al."
    return f"{who} {paper.metadata.year}" if paper.metadata.year else who


def leans(sentence: Sentence) -> bool:
    """Tell whether a sentence's opening points at the one before."""
    return bool(LEANS_ON_BEFORE.match(sentence.text))
