"""The writer that needs no model: it selects and orders whole sentences of the evidence, each with its citation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from corpus_assets.model import PaperRecord
from corpus_assets.settings import AnswerMode
from retrieval.claims.check import find_entities
from retrieval.claims.numbers import find_quantities
from retrieval.passages import FIRST_PERSON, FRAMING, POINTS_BACK, Candidate, Sentence
from retrieval.plan import Plan
from retrieval.rerank import COVERAGE_SHARE, form_bonus
from retrieval.terms import clip_words, content_stems, fold, overlap, words
from retrieval.themes import Themes
from retrieval.writing.draft import Block, Draft, DraftSection, Statement
from retrieval.writing.ideas import idea_sections
from retrieval.writing.modes import LIMITS, ModeLimits
from retrieval.writing.steps import next_steps

WRITER = "extractive"
MAX_PAIR_WORDS = 60  # of a sentence and the one it leans on, shown together
NEAR_DUPLICATE = 0.6  # Jaccard overlap of stems above which two sentences say the same
REDUNDANCY_WEIGHT = 0.35
ENOUGH_COSINE = 0.68  # of a sentence to a question: beyond it, likeness is repetition
ENOUGH_COVERAGE = 0.8
OFF_SUBJECT = 0.18
ENOUGH_TELLING = 3  # with fewer sentences that state something, those that only announce are let in
PART_MARGIN = 0.05
SAME_PAPER = 0.08  # taken off for each sentence already taken from the paper: the reader wants more than one voice
ANSWER_FLOOR = 0.22  # a sentence this much below the best of its sub-question is left out of the answer
EVIDENCE_FLOOR = 0.32  # and of the key evidence
ABSOLUTE_FLOOR = 0.4
PASSAGE_SHARE = 0.15
PRACTICE_CUES = re.compile(
    r"\b(?:should|recommend\w*|advis(?:e|ed|able|es)|guidelines?|clinical practice|in practice"
    r"|warrant(?:s|ed)?|implications? for|supports? (?:the )?use|(?:is|are) (?:preferred|indicated"
    r"|advisable|reasonable)"
    r"|needs? to be|(?:can|may|could|might) be (?:used|offered|considered|monitored|avoided|treated|detected|managed)"
    r"|first-line|standard of care|monitor(?:ing|ed)?|routine(?:ly)?|useful for)\b",
    re.I,
)
BARE_PRONOUN = re.compile(r"\b(?:it|its|they|them|this|these|those)\b", re.I)
MAX_BARE_WORDS = 6  # so short a sentence with a pronoun says nothing by itself
NEGATIVE_OPENING = re.compile(r"^(?:yes|no)\b[\s,.:;–-]", re.I)


def write_extractive(
    plan: Plan,
    evidence: Sequence[Candidate],
    sentences: Mapping[str, Sequence[Sentence]],
    themes: Themes,
    papers: Mapping[str, PaperRecord],
    mode: AnswerMode,
    *,
    is_tentative: bool = False,
) -> Draft:
    """Write a draft in ``mode``. Deterministic: ties go by paper id and place in the text.

    A tentative draft, which the reader is warned of, may quote the nearest sentences there are.
    """
    limits = LIMITS[mode]
    pool = sentence_pool(plan, evidence, sentences, limits)
    if is_tentative:
        pool = raise_to_floor(plan, pool)
    attribute = attributor(papers)
    if mode == "ideas":
        sections = idea_sections(plan, ranked(plan, pool, 0, limits.num_evidence + 4, []), limits, attribute)
        used = [
            sentence
            for section in sections
            for block in section.blocks
            for s in block.statements
            for sentence in s.sentences
        ]
        return Draft(WRITER, tuple(sections), tuple(next_steps(plan, used, themes, papers, limits)))
    if limits.has_splits and themes.splits:
        sides = {side.sentence.key for split in themes.splits for side in split.sides}
        pool = [sentence for sentence in pool if sentence.key not in sides] or pool
    taken: list[Sentence] = []
    answer_blocks = write_answer(
        plan, pool, limits, taken, attribute, has_split=bool(limits.has_splits and themes.splits)
    )
    practice = write_practice(plan, pool, limits, taken, attribute)
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
    plan: Plan, evidence: Sequence[Candidate], sentences: Mapping[str, Sequence[Sentence]], limits: ModeLimits
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
    kept = [
        replace(sentence, passage_relevance=relevance[sentence.chunk_id], news=news_bonus(sentence, plan))
        for key, sentence in pool.items()
        if key not in companions and not NEGATIVE_OPENING.match(sentence.text)
    ]
    short = [sentence for sentence in kept if sentence.num_words <= limits.max_sentence_words] or kept
    short = [sentence for sentence in short if not is_dangling(sentence)] or short
    telling = [sentence for sentence in short if not FRAMING.search(sentence.text)]
    return telling if len(telling) >= ENOUGH_TELLING else short


def raise_to_floor(plan: Plan, pool: Sequence[Sentence]) -> list[Sentence]:
    """Return the sentences with one amount added to all, so that those near to the best of each part are quoted."""
    columns = range(1, len(plan.sub_queries) + 1)
    best = [max((column_score(sentence, column) for sentence in pool), default=0.0) for column in columns]
    lift = max(0.0, ABSOLUTE_FLOOR + ANSWER_FLOOR - min(best))
    return [replace(sentence, news=sentence.news + lift) for sentence in pool]


def is_dangling(sentence: Sentence) -> bool:
    """Tell whether a sentence speaks of an "it" or "these" that cannot be shown with it."""
    if sentence.num_words <= MAX_BARE_WORDS and BARE_PRONOUN.search(sentence.text):
        return not brings_antecedent(sentence)
    return bool(POINTS_BACK.match(sentence.text)) and not brings_antecedent(sentence)


def brings_antecedent(sentence: Sentence) -> bool:
    """Tell whether the sentence before it is shown too: both together are short enough."""
    before = sentence.antecedent
    return before is not None and before.num_words + sentence.num_words <= MAX_PAIR_WORDS


def column_score(sentence: Sentence, column: int) -> float:
    """Return how well a sentence answers one column's question (0: the whole question; i + 1: sub-query i).

    Likeness counts up to a point: a sentence that merely repeats the question is not its answer. What it adds (figures,
    names the question does not hold) counts too.
    """
    likeness = min(sentence.similarities[column], ENOUGH_COSINE)
    coverage = min(sentence.coverage[column], ENOUGH_COVERAGE)
    blend = (1 - COVERAGE_SHARE) * likeness + COVERAGE_SHARE * coverage
    value = blend + form_bonus(sentence) + PASSAGE_SHARE * sentence.passage_relevance + sentence.news
    return round(value, 6)


def belongs_to(sentence: Sentence, column: int, plan: Plan) -> bool:
    """Tell whether a sentence answers this part of the question at least about as well as any other part."""
    num_parts = len(plan.sub_queries)
    if column == 0 or num_parts == 1 or plan.is_comparison:
        return True
    best = max(column_score(sentence, other) for other in range(1, num_parts + 1))
    return column_score(sentence, column) >= best - PART_MARGIN


def news_bonus(sentence: Sentence, plan: Plan) -> float:
    """Return what a sentence adds to the question: figures with units, and names; less when it adds no words at all."""
    bonus = 0.0
    if any(quantity.unit for quantity in find_quantities(sentence.text)):
        bonus += 0.05
    asked = set(words(plan.question))
    names = {fold(name) for name in find_entities(sentence.text)} - asked
    bonus += 0.02 * min(len(names), 3)
    new = set(content_stems(sentence.text)) - set(content_stems(plan.question))
    if len(new) < 3:
        bonus -= 0.10
    return bonus if sentence.is_on_subject else bonus - OFF_SUBJECT


def ranked(
    plan: Plan,
    pool: Sequence[Sentence],
    column: int,
    k: int,
    taken: Sequence[Sentence],
    below: float = EVIDENCE_FLOOR,
) -> list[Sentence]:
    """Return up to ``k`` sentences by maximal marginal relevance to a column, none near to one already taken."""
    pool = [sentence for sentence in pool if belongs_to(sentence, column, plan)]
    scores = {sentence.key: column_score(sentence, column) for sentence in pool}
    if not scores:
        return []
    floor = max(ABSOLUTE_FLOOR, max(scores.values()) - below)
    stems = {sentence.key: frozenset(content_stems(sentence.text)) for sentence in [*with_neighbours(pool), *taken]}
    chosen: list[Sentence] = []
    against = list(taken)
    left = sorted(
        (sentence for sentence in pool if scores[sentence.key] >= floor), key=lambda item: (-scores[item.key], item.key)
    )
    while left and len(chosen) < k:
        best: Sentence | None = None
        best_value = float("-inf")
        shown = {other.key for other in against}
        for sentence in left:
            redundancy = max((overlap(stems[sentence.key], stems[other.key]) for other in against), default=0.0)
            if redundancy >= NEAR_DUPLICATE or any(part.key in shown for part in with_neighbours([sentence])):
                continue
            num_same = sum(other.paper_id == sentence.paper_id for other in against)
            value = scores[sentence.key] - REDUNDANCY_WEIGHT * redundancy - SAME_PAPER * min(num_same, 4)
            if value > best_value:
                best, best_value = sentence, value
        if best is None:
            break
        chosen.append(best)
        against.extend(with_neighbours([best]))
        left.remove(best)
    return chosen


def write_answer(
    plan: Plan,
    pool: Sequence[Sentence],
    limits: ModeLimits,
    taken: list[Sentence],
    attribute: Callable[[Sentence], str],
    *,
    has_split: bool,
) -> list[Block]:
    """Return one block a sub-question with its best sentences."""
    columns = list(range(1, len(plan.sub_queries) + 1))
    if plan.is_comparison and len(columns) > 1:
        columns = columns[:1] if limits.max_words < 300 else columns
    blocks = []
    for column in columns:
        chosen = ranked(
            plan, pool, column, limits.num_answer if len(columns) > 1 else limits.num_answer + 1, taken, ANSWER_FLOOR
        )
        taken.extend(with_neighbours(chosen))
        if not chosen:
            continue
        heading = plan.sub_queries[column - 1].label if len(columns) > 1 else ""
        blocks.append(
            Block(tuple(statement(item, 10.0 - rank, attribute) for rank, item in enumerate(chosen)), heading)
        )
    if blocks:
        first = blocks[0]
        blocks[0] = Block(first.statements, first.heading, opening_note(plan, has_split=has_split))
    return blocks


def opening_note(plan: Plan, *, has_split: bool) -> str:
    """Return the program's own first words; they never answer yes or no and never accept what a question assumes."""
    if has_split:
        return "The papers found do not agree on this: see where the evidence splits. What they state besides:"
    if plan.is_yes_no:
        return "This writer selects sentences and does not judge, so it gives no yes or no. What the papers state:"
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
        chosen = ranked(plan, pool, column, share, taken)
        taken.extend(with_neighbours(chosen))
        if chosen:
            heading = plan.sub_queries[column - 1].label if num_columns > 1 else ""
            blocks.append(
                Block(tuple(statement(item, 5.0 - rank * 0.4, attribute) for rank, item in enumerate(chosen)), heading)
            )
    return blocks


def write_practice(
    plan: Plan,
    pool: Sequence[Sentence],
    limits: ModeLimits,
    taken: list[Sentence],
    attribute: Callable[[Sentence], str],
) -> list[Statement]:
    """Return sentences that say what to do or what follows, most relevant first."""
    practical = [s for s in pool if PRACTICE_CUES.search(s.text) and not FRAMING.search(s.text)]
    chosen = ranked(plan, practical, 0, limits.num_practice, taken)
    taken.extend(with_neighbours(chosen))
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


def with_neighbours(chosen: Sequence[Sentence]) -> list[Sentence]:
    """Return sentences and those they bring along, so that none is shown twice."""
    return [
        part for sentence in chosen for part in (sentence, sentence.antecedent, sentence.companion) if part is not None
    ]


def statement(sentence: Sentence, weight: float, attribute: Callable[[Sentence], str]) -> Statement:
    """Return a statement of a sentence, with the one it leans on before it and the one that takes it back after."""
    parts = [sentence]
    if sentence.antecedent is not None and brings_antecedent(sentence):
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
        if paper and paper.is_retracted:
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
