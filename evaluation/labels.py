"""Bind a golden set's labels to a generation's chunks by their quotes.

A label is bound to the chunk that holds its quote (white space aside). Where a sentence is repeated by the overlap of
two chunks, both hold it: the named chunk, else the first, becomes the label's chunk and the other its *twin*; a hit on
a twin counts as a hit on the label, once. A quote that re-chunking cut in two is bound to the chunk with most of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from corpus_assets.errors import BadInputError, GateFailedError
from corpus_assets.model import Chunk, PaperRecord
from evaluation.cases import Case, Fixture, Judgment, normalize_spaces

BindingKind = Literal["kept", "moved", "split"]

_CONTENT_MARK = re.compile(r"-[0-9a-f]{8}$")  # ends the id of a paper without a DOI: another text, another id


class ChunkSource(Protocol):
    """The part of a generation that labels are bound against."""

    @property
    def papers(self) -> Mapping[str, PaperRecord]: ...

    def chunks_of(self, paper_id: str) -> list[Chunk]: ...

    def text(self, paper_id: str) -> str: ...


@dataclass(frozen=True)
class UnboundLabel:
    """A label whose evidence is not in the generation although its paper is."""

    case_id: str
    chunk_ref: str
    reason: str

    def __str__(self) -> str:
        return f"case {self.case_id!r}, {self.chunk_ref}: {self.reason}"


@dataclass(frozen=True)
class BoundCase:
    """A case whose labels name chunks of one generation."""

    case: Case
    grades: Mapping[str, int]  # chunk_id -> relevance
    twins: Mapping[str, str]  # chunk_id -> the judged chunk_id whose quote it repeats


@dataclass(frozen=True)
class BoundFixture:
    """A golden set as one generation sees it."""

    fixture: Fixture
    cases: tuple[BoundCase, ...]
    left_out: tuple[str, ...]  # case ids whose papers are not in this corpus at all
    unbound: tuple[UnboundLabel, ...]
    kinds: Mapping[BindingKind, int] = field(default_factory=dict)

    @property
    def golden_hash(self) -> str:
        return self.fixture.golden_hash

    def require_complete(self) -> BoundFixture:
        """Return self, or raise GateFailedError naming every label that could not be bound."""
        if self.unbound:
            named = "\n".join(f"  {label}" for label in self.unbound)
            raise GateFailedError(
                f"{len(self.unbound)} golden label(s) are not in the corpus any more:\n{named}\n",
                hint="If the paper changed on purpose, judge these cases again (research-copilot golden judge).",
            )
        return self


def no_case_error(fixture: Fixture, generation_id: str) -> BadInputError:
    """Return what is told when a golden set has no case about a corpus."""
    return BadInputError(
        f"None of the golden set's {len(fixture.cases)} cases is about a paper of generation {generation_id}.",
        hint="Name the set of this corpus, or use the corpus it was judged on.",
    )


class _PaperIndex:
    """A paper's chunks with normalised texts, for many look-ups."""

    def __init__(self, source: ChunkSource, paper_id: str) -> None:
        self.chunks = sorted(source.chunks_of(paper_id), key=lambda chunk: (chunk.char_start, chunk.chunk_id))
        self.texts = [normalize_spaces(chunk.text) for chunk in self.chunks]
        self.raw_text = source.text(paper_id)

    def find(self, judgment: Judgment) -> tuple[str, list[str], BindingKind] | None:
        """Return (chunk id, twin ids, kind), or None where the quote is nowhere in the paper's chunks."""
        quote = normalize_spaces(judgment.quote)
        holders = [chunk.chunk_id for chunk, text in zip(self.chunks, self.texts, strict=True) if quote in text]
        if holders:
            # The same words may stand in an abstract and in the body: all places are the same evidence.
            chosen = judgment.chunk_ref if judgment.chunk_ref in holders else holders[0]
            twins = [holder for holder in holders if holder != chosen]
            return chosen, twins, "kept" if chosen == judgment.chunk_ref else "moved"
        return self._find_split(quote)

    def _find_split(self, quote: str) -> tuple[str, list[str], BindingKind] | None:
        start = normalized_find(self.raw_text, quote)
        if start is None:
            return None
        begin, end = start
        overlaps = [
            (min(end, chunk.char_end) - max(begin, chunk.char_start), -chunk.char_start, chunk.chunk_id)
            for chunk in self.chunks
        ]
        best = max(overlaps, default=(0, 0, ""))
        if best[0] * 2 < end - begin:
            return None
        return best[2], [], "split"


def normalized_find(text: str, quote: str) -> tuple[int, int] | None:
    """Return the span in ``text`` of a space-normalised quote, white space aside, or None."""
    positions: list[int] = []
    letters: list[str] = []
    for position, letter in enumerate(text):
        if letter.isspace():
            if letters and letters[-1] != " ":
                letters.append(" ")
                positions.append(position)
        else:
            letters.append(letter)
            positions.append(position)
    start = "".join(letters).find(quote)
    if start < 0 or not quote:
        return None
    return positions[start], positions[start + len(quote) - 1] + 1


def bind_fixture(fixture: Fixture, source: ChunkSource) -> BoundFixture:
    """Bind every label of ``fixture`` to ``source``'s chunks.

    A paper without a DOI gets another id when its text changes: a label on the old id goes to the paper of that title,
    if it is the only one. A case whose papers are all unknown to the corpus is left out (and listed); a label whose
    paper is known, but is not served or does not hold the quote, is unbound. So is a label of an unknown paper when the
    case has a known one: a part of its evidence is gone.
    """
    indexes: dict[str, _PaperIndex] = {}
    cases: list[BoundCase] = []
    left_out: list[str] = []
    unbound: list[UnboundLabel] = []
    kinds: dict[BindingKind, int] = {"kept": 0, "moved": 0, "split": 0}
    renamed = _find_renamed(fixture.judged_paper_ids, source.papers)
    for case in fixture.cases:
        if not any(renamed.get(judgment.paper_id, judgment.paper_id) in source.papers for judgment in case.judgments):
            left_out.append(case.case_id)
            continue
        grades: dict[str, int] = {}
        twins: dict[str, str] = {}
        problems: list[UnboundLabel] = []
        for judged in case.judgments:
            judgment = judged.model_copy(update={"paper_id": renamed.get(judged.paper_id, judged.paper_id)})
            problem = _why_not_served(judgment, source)
            found = None
            if not problem:
                if judgment.paper_id not in indexes:
                    indexes[judgment.paper_id] = _PaperIndex(source, judgment.paper_id)
                found = indexes[judgment.paper_id].find(judgment)
            if found is None:
                shown = normalize_spaces(judgment.quote)[:80]
                problem = problem or f"no chunk of the paper holds the quote {shown!r}"
                problems.append(UnboundLabel(case.case_id, judgment.chunk_ref, problem))
                continue
            chunk_id, twin_ids, kind = found
            kinds[kind] += 1
            grades[chunk_id] = max(judgment.relevance, grades.get(chunk_id, 0))
            twins.update(dict.fromkeys(twin_ids, chunk_id))
        unbound.extend(problems)
        if not problems:
            # A chunk judged in its own right is not another label's twin.
            own_twins = {twin: chunk for twin, chunk in twins.items() if twin not in grades}
            cases.append(BoundCase(case, grades, own_twins))
    return BoundFixture(fixture, tuple(cases), tuple(left_out), tuple(unbound), kinds)


def _find_renamed(judged: frozenset[str], papers: Mapping[str, PaperRecord]) -> dict[str, str]:
    """Return judged id -> the corpus' id, for papers whose text changed and their id with it."""
    by_title: dict[str, list[str]] = {}
    for paper_id in papers:
        if _CONTENT_MARK.search(paper_id):
            by_title.setdefault(_CONTENT_MARK.sub("", paper_id), []).append(paper_id)
    renamed: dict[str, str] = {}
    for paper_id in judged - papers.keys():
        found = by_title.get(_CONTENT_MARK.sub("", paper_id), []) if _CONTENT_MARK.search(paper_id) else []
        if len(found) == 1 and found[0] not in judged:
            renamed[paper_id] = found[0]
    return renamed


def _why_not_served(judgment: Judgment, source: ChunkSource) -> str:
    record = source.papers.get(judgment.paper_id)
    if record is None:
        return f"paper {judgment.paper_id!r} is not in the corpus, other papers of the case are"
    if not record.is_served:
        return f"paper {judgment.paper_id!r} is {record.status.value}: {record.reason or 'no reason recorded'}"
    return ""


def canonical_ranking(chunk_ids: Sequence[str], twins: Mapping[str, str]) -> list[str]:
    """Return the ranking with the first holder of each label under the label's chunk id; nothing appears twice."""
    seen: set[str] = set()
    ranking: list[str] = []
    for chunk_id in chunk_ids:
        name = twins.get(chunk_id, chunk_id)
        if name in seen:
            name = chunk_id  # a second holder of the same words brings nothing new, but took a place
        if name not in seen:
            seen.add(name)
            ranking.append(name)
    return ranking
