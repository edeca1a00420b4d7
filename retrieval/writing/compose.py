"""Lay out a draft as Markdown: number citations by first use, keep the mode's word limit, cut least important first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from corpus_assets.settings import AnswerMode
from retrieval.answer import Citation, NextStep, group_by_paper
from retrieval.passages import Sentence
from retrieval.terms import clip_words, count_words
from retrieval.writing.draft import Block, Draft, DraftSection, Statement
from retrieval.writing.escape import display_sentence, escape_markdown, strip_controls
from retrieval.writing.modes import LIMITS

SentenceKey = tuple[str, int, int]

HEADINGS = {
    "answer": "Answer",
    "evidence": "Key evidence",
    "split": "Where the evidence splits",
    "practice": "What it means in practice",
    "finding": "Findings",
    "synthesis": "Synthesis",
    "extrapolation": "Extrapolation",
    "hypothesis": "Hypothesis",
}
LABELS = {"finding": "Finding", "synthesis": "Synthesis", "extrapolation": "Extrapolation", "hypothesis": "Hypothesis"}
SOURCES = "Sources"
THIN_NOTE = "The evidence found is thin for this length, so the answer is shorter."
NO_PRACTICE = "The passages found do not say what to do; weigh them against your own setting first. (general)"

SEE_SPLIT = "The papers found do not agree on this: see where the evidence splits."
NO_IDEA = "None: no two of the papers found here can be joined by what they state."


@dataclass(frozen=True)
class Layout:
    """A finished answer text with its numbered citations."""

    text: str
    citations: tuple[Citation, ...]
    numbers: Mapping[SentenceKey, int]
    steps: tuple[NextStep, ...]
    draft: Draft  # what is left of it


def compose(draft: Draft, bound: Mapping[SentenceKey, Citation], mode: AnswerMode) -> Layout:
    """Return the answer within the mode's limit. A split's sides and one next step always stay."""
    limits = LIMITS[mode]
    title_words = limits.title_words
    layout = lay_out(draft, bound, mode, title_words)
    while count_words(layout.text) > limits.max_words:
        smaller = drop_least(draft)
        if smaller is not None:
            draft = smaller
        elif title_words > 2:
            title_words = max(2, title_words // 2)
        elif (bare := drop_least(draft, may_empty_answer=True)) is not None:
            draft = bare
        elif len(draft.steps) > 1:
            draft = replace(draft, steps=draft.steps[:1])
        else:
            break
        layout = lay_out(draft, bound, mode, title_words)
    return layout


def drop_least(draft: Draft, *, may_empty_answer: bool = False) -> Draft | None:
    """Return the draft without its least important statement that may go, or None when all must stay.

    The answer's last statement goes only when asked for, and where a split says the rest.
    """
    answer_count = sum(
        len(block.statements)
        for section in draft.sections
        if section.name in {"answer", "finding"}
        for block in section.blocks
    )
    may_go = may_empty_answer and any(section.name == "split" for section in draft.sections)
    droppable = [
        (item.weight, section_index, block_index, index)
        for section_index, section in enumerate(draft.sections)
        for block_index, block in enumerate(section.blocks)
        for index, item in enumerate(block.statements)
        if not item.is_required and not (section.name in {"answer", "finding"} and answer_count == 1 and not may_go)
    ]
    if not droppable:
        return None
    _, section_index, block_index, index = min(droppable, key=lambda entry: (entry[0], -entry[1], -entry[2], -entry[3]))
    return without(draft, section_index, block_index, index)


def without(draft: Draft, section_index: int, block_index: int, index: int) -> Draft:
    """Return the draft without one statement; an emptied block or section goes too."""
    sections = list(draft.sections)
    blocks = list(sections[section_index].blocks)
    statements = [item for position, item in enumerate(blocks[block_index].statements) if position != index]
    if statements:
        blocks[block_index] = replace(blocks[block_index], statements=tuple(statements))
    elif sections[section_index].name == "answer" and len(blocks) == 1:
        blocks[0] = Block((), note=SEE_SPLIT)
    else:
        note = blocks[block_index].note
        del blocks[block_index]
        if note and blocks and not blocks[0].note:
            blocks[0] = replace(blocks[0], note=note)
    if blocks:
        sections[section_index] = replace(sections[section_index], blocks=tuple(blocks))
    else:
        del sections[section_index]
    return replace(draft, sections=tuple(sections))


def keep_statements(draft: Draft, keep: Callable[[Statement], bool]) -> Draft:
    """Return the draft with only the statements ``keep`` accepts; emptied blocks and sections go."""
    sections = []
    for section in draft.sections:
        blocks = []
        for block in section.blocks:
            statements = tuple(item for item in block.statements if keep(item))
            if statements:
                blocks.append(replace(block, statements=statements))
        if section.name == "split":  # a side without its opposite is no split
            blocks = [block for block in blocks if len(block.statements) >= 2]
        if blocks:
            sections.append(replace(section, blocks=tuple(blocks)))
    return replace(draft, sections=tuple(sections))


class Numbering:
    """Gives each quote its number when it is first used."""

    def __init__(self, bound: Mapping[SentenceKey, Citation]) -> None:
        self._bound = bound
        self.numbers: dict[SentenceKey, int] = {}

    def marks(self, sentences: Sequence[Sentence]) -> str:
        """Return " [1] [2]" for the bound ones of ``sentences``."""
        cited = [sentence.key for sentence in sentences if sentence.key in self._bound]
        found = [self.numbers.setdefault(key, len(self.numbers) + 1) for key in cited]
        return "".join(f" [{number}]" for number in dict.fromkeys(found))

    def citations(self) -> tuple[Citation, ...]:
        return tuple(self._bound[key].model_copy(update={"n": number}) for key, number in self.numbers.items())


def lay_out(draft: Draft, bound: Mapping[SentenceKey, Citation], mode: AnswerMode, title_words: int) -> Layout:
    """Render the draft as it is, whatever its length."""
    limits = LIMITS[mode]
    numbering = Numbering(bound)
    parts: list[str] = []
    names = {section.name for section in draft.sections}
    for section in draft.sections:
        if section.name == "split" and not limits.has_splits:
            continue
        parts.append(f"## {HEADINGS[section.name]}")
        if draft.caveat and len(parts) == 1:
            parts.append(f"*{escape_markdown(draft.caveat)}*")
        parts.extend(render_block(section, block, numbering) for block in section.blocks)
    if mode == "ideas":
        for name in ("finding", "synthesis", "extrapolation", "hypothesis"):
            if name not in names:
                parts += [f"## {HEADINGS[name]}", NO_IDEA]
    if mode in {"standard", "detailed"} and "practice" not in names:
        parts += [f"## {HEADINGS['practice']}", NO_PRACTICE]
    steps: list[NextStep] = []
    lines: list[str] = []
    for step in draft.steps:
        marks = numbering.marks([sentence for sentence in step.sentences if sentence.key in numbering.numbers])
        is_general = not marks
        if step.sentences and is_general and len(draft.steps) > 1:
            continue  # what it was tied to is no longer in the answer
        text = escape_markdown(step.text)
        lines.append(f"{len(lines) + 1}. {text}{marks}{' (general)' if is_general else ''}")
        numbers = tuple(dict.fromkeys(numbering.numbers[s.key] for s in step.sentences if s.key in numbering.numbers))
        steps.append(NextStep(text=step.text, citations=numbers, is_general=is_general))
    if not lines:
        text = "Add further papers on the subject to the folder and ask again."
        lines = [f"1. {text} (general)"]
        steps = [NextStep(text=text, is_general=True)]
    parts += ["## Next steps", "\n".join(lines)]
    citations = numbering.citations()
    if citations:
        parts += [f"## {SOURCES}", "\n".join(source_lines(citations, title_words, mode))]
    text = "\n\n".join(parts)
    if limits.min_words and count_words(text) < limits.min_words:
        text = text.replace("\n\n## Next steps", f"\n\n{THIN_NOTE}\n\n## Next steps", 1)
    return Layout(text + "\n", citations, dict(numbering.numbers), tuple(steps), draft)


def render_block(section: DraftSection, block: Block, numbering: Numbering) -> str:
    """Return one block: a paragraph for the answer, bullets elsewhere."""
    lines: list[str] = []
    if block.heading:
        lines.append(f"**{escape_markdown(block.heading)}**")
    rendered = [render_statement(section, item, numbering) for item in block.statements]
    if section.name == "answer":
        text = " ".join(rendered)
        lines.insert(0, block.note) if block.note and block.heading else None
        lines.append(f"{block.note} {text}".strip() if block.note and not block.heading else text)
        return "\n\n".join(lines)
    if block.note:
        lines.append(block.note)
    lines.append("\n".join(f"- {text}" for text in rendered))
    return "\n\n".join(lines)


def render_statement(section: DraftSection, item: Statement, numbering: Numbering) -> str:
    """Return a statement with its citations."""
    if item.text:
        text = escape_markdown(item.text) + numbering.marks(item.sentences)
    else:
        text = " ".join(
            escape_markdown(display_sentence(sentence.text)) + numbering.marks([sentence])
            for sentence in item.sentences
        )
    if item.lead:
        text = f"{escape_markdown(item.lead)}: {text}"
    label = LABELS.get(section.name)
    return f"**{label}.** {text}" if label else text


def source_lines(citations: Sequence[Citation], title_words: int, mode: AnswerMode) -> list[str]:
    """Return one line a paper, in order of first use, with the place of each of its quotes."""
    return [f"- {source_line(group, title_words, mode)}" for group in group_by_paper(citations)]


def source_line(group: Sequence[Citation], title_words: int, mode: AnswerMode) -> str:
    """Return "[1] Results, p. 4; [2] p. 5: A. Okonkwo (2018). Title." with as many title words as the mode allows."""
    first = group[0]
    places = []
    for citation in group:
        section = "" if mode == "brief" else escape_markdown(clip_words(strip_controls(citation.section), 6))
        places.append(f"[{citation.n}] " + ", ".join(part for part in (section, citation.page_label) if part))
    title = escape_markdown(clip_words(strip_controls(first.title), title_words))
    num_names = 1 if mode == "brief" else 3
    names = [surname(name) if mode == "brief" else name for name in first.authors[:num_names]]
    who = ", ".join(escape_markdown(name) for name in names) + (" et al." if len(first.authors) > num_names else "")
    head = " ".join(part for part in (who, f"({first.year})" if first.year else "") if part)
    retracted = "RETRACTED. " if first.retraction == "retraction" else ""
    paper = ". ".join(part.rstrip(".") for part in (head, title) if part)
    return f"{'; '.join(place.strip() for place in places)}: {retracted}{paper}."


def surname(author: str) -> str:
    """Return the family name of "Okonkwo, A." or "A. Okonkwo"."""
    return author.split(",")[0].strip() if "," in author else (author.split() or [""])[-1]
