"""A draft answer: sections of statements, each with the sentences it stands on. Rendered only at the very end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from retrieval.answer import ClaimCheck
from retrieval.passages import Sentence

SectionName = Literal["answer", "evidence", "split", "practice", "finding", "synthesis", "extrapolation", "hypothesis"]


@dataclass(frozen=True)
class Statement:
    """One statement of an answer.

    An empty ``text`` stands for the sentences themselves, each shown with its own citation; a written text is followed
    by the citations of all its sentences. ``weight`` decides what is cut first when an answer is too long: the
    smallest.
    """

    sentences: tuple[Sentence, ...]
    text: str = ""
    weight: float = 0.0
    is_required: bool = False  # a split's side: never cut
    is_conjecture: bool = False  # labelled as going beyond the papers; no claim about them
    lead: str = ""  # whose words these are, put before the text; not part of the claim


@dataclass(frozen=True)
class Block:
    """Statements under one plain heading (a sub-question, a theme, a side of a split)."""

    statements: tuple[Statement, ...]
    heading: str = ""
    note: str = ""  # the program's own introduction, without claims


@dataclass(frozen=True)
class DraftSection:
    name: SectionName
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Step:
    """A next step; without sentences it is general advice and marked so."""

    text: str
    sentences: tuple[Sentence, ...] = ()


@dataclass(frozen=True)
class Draft:
    """What a writer returns, before citations are bound and claims are checked."""

    writer: str
    sections: tuple[DraftSection, ...]
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = field(default=())
    num_removed_citations: int = 0
    caveat: str = ""  # the program's own warning, shown before everything else
    removed: tuple[ClaimCheck, ...] = ()  # claims the writer made that never had a quote to stand on

    def statements(self) -> list[Statement]:
        """Return every statement in order."""
        return [item for section in self.sections for block in section.blocks for item in block.statements]
