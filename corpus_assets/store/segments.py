"""Which segment files a generation is made of: those that fit are shared, what changed goes into a new one.

A segment holds some papers' passages, vectors and texts, in files that never change. Its name is a digest of what is
in it. A paper that was edited or removed later is *removed* from the segment: the files still hold it, no reader does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corpus_assets.store.manifest import Manifest

MAX_SEGMENTS = 8
SMALL_SEGMENT = 2_000  # passages; rewriting so many takes about a second
MERGE_FACTOR = 2  # a segment less than this many times the size of what is being written is merged into it
MAX_REMOVED_SHARE = 0.3  # a segment of which more was removed is written anew

MEMBERS_FILE = "members.json"
FTS_FILE = "chunks.duckdb"
VECTORS_FILE = "vectors.faiss"
BODIES_FILE = "papers.duckdb"


@dataclass(frozen=True)
class Member:
    """A paper in a segment: the digest of all that is stored of it there, and its number of passages."""

    key: str
    num_chunks: int


@dataclass(frozen=True)
class SegmentPlan:
    """A segment of a generation: what its files hold, and what of that counts no more."""

    name: str
    members: Mapping[str, Member]
    removed: frozenset[str] = frozenset()

    @property
    def live(self) -> dict[str, Member]:
        """Return the members that count, by paper id."""
        return {paper_id: member for paper_id, member in self.members.items() if paper_id not in self.removed}


@dataclass(frozen=True)
class Plan:
    """The segments of a generation, and how many passages must be written for it."""

    segments: tuple[SegmentPlan, ...]
    num_to_write: int


@dataclass
class _Kept:
    segment: SegmentPlan
    live: dict[str, Member] = field(default_factory=dict)

    @property
    def num_live(self) -> int:
        return sum(member.num_chunks for member in self.live.values())

    @property
    def num_all(self) -> int:
        return sum(member.num_chunks for member in self.segment.members.values())


def plan_segments(
    wanted: Mapping[str, Member], base: Iterable[SegmentPlan], name: Callable[[Mapping[str, Member]], str]
) -> Plan:
    """Return the segments for the papers ``wanted``, using those of ``base`` where they hold the same content.

    A new segment is written for the papers that are in none. Merged into it are segments of few passages, segments
    less than twice its size, and the smallest ones beyond ``MAX_SEGMENTS``; so their number stays small and a passage
    is rewritten about as often as the corpus doubles. A segment is also written anew when much of it was removed, or
    anything at all of a small one.
    """
    kept: list[_Kept] = []
    placed: set[str] = set()
    for segment in base:
        here = {
            paper_id: member
            for paper_id, member in segment.members.items()
            if paper_id not in placed and wanted.get(paper_id) == member
        }
        placed |= here.keys()
        if here:
            kept.append(_Kept(segment, here))
    pool = {paper_id: member for paper_id, member in wanted.items() if paper_id not in placed}
    kept.sort(key=lambda item: (item.num_live, item.segment.name))
    for item in list(kept):
        num_removed = item.num_all - item.num_live
        limit = 0 if item.num_all <= SMALL_SEGMENT else MAX_REMOVED_SHARE * item.num_all
        if num_removed > limit or (len(item.live) < len(item.segment.members) and item.num_all <= SMALL_SEGMENT):
            pool |= item.live
            kept.remove(item)
    while kept and pool and _is_merged(kept[0], pool, len(kept) + 1):
        pool |= kept.pop(0).live
    if len(kept) > MAX_SEGMENTS:  # only without anything to write
        for item in kept[: len(kept) - MAX_SEGMENTS + 1]:
            pool |= item.live
        kept = kept[len(kept) - MAX_SEGMENTS + 1 :]
    segments = [
        SegmentPlan(item.segment.name, item.segment.members, frozenset(item.segment.members.keys() - item.live.keys()))
        for item in reversed(kept)
    ]
    if pool or not segments:
        ordered = dict(sorted(pool.items()))
        segments.append(SegmentPlan(name(ordered), ordered))
    return Plan(tuple(segments), sum(member.num_chunks for member in pool.values()))


def _is_merged(smallest: _Kept, pool: Mapping[str, Member], num_segments: int) -> bool:
    size = sum(member.num_chunks for member in pool.values())
    return smallest.num_live <= max(SMALL_SEGMENT, MERGE_FACTOR * size) or num_segments > MAX_SEGMENTS


def choose_plan(
    wanted: Mapping[str, Member],
    bases: Sequence[Sequence[SegmentPlan]],
    name: Callable[[Mapping[str, Member]], str],
) -> Plan:
    """Return the plan that writes least, of those based on each of ``bases`` (the first of equals) and on nothing."""
    plans = [plan_segments(wanted, base, name) for base in bases]
    plans.append(plan_segments(wanted, (), name))
    return min(plans, key=lambda plan: plan.num_to_write)


def members_json(members: Mapping[str, Member]) -> dict[str, list[str | int]]:
    """Return members as they are stored."""
    return {paper_id: [member.key, member.num_chunks] for paper_id, member in members.items()}


def members_from(rows: Mapping[str, Sequence[str | int]]) -> dict[str, Member]:
    """Read members as they are stored."""
    return {paper_id: Member(str(row[0]), int(row[1])) for paper_id, row in rows.items()}


def read_segments(generation_dir: Path, manifest: Manifest) -> list[SegmentPlan]:
    """Return what a finished generation's segments hold; a segment whose list is damaged is left out."""
    found = []
    for entry in manifest.segments:
        try:
            members = members_from(json.loads((generation_dir / entry.members).read_text("utf-8")))
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            continue  # damaged: not built upon
        found.append(SegmentPlan(entry.name, members, frozenset(entry.removed)))
    return found
