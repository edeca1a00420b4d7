"""Gates that need no judged case: do the indexes find what is in them, and is nothing lost since the last generation?

Samples are the chunks whose id has the smallest sha256: the same ones each time, spread over all papers.
"""

from __future__ import annotations

import hashlib
import heapq
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.gates import GateContext, GateResult
from corpus_assets.model import Chunk, PaperRecord
from evaluation.cases import normalize_spaces

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corpus_assets.store.generation import Generation, Segment
    from retrieval.search import Hit

NUM_SAMPLED = 60
NUM_VECTOR_QUERIES = 64
TOP = 10
TOP_IDENTIFIER = 3  # an identifier is the rarest of words: what holds it comes first
BLOCK = 8192
KNOWN_ITEM_FLOOR = 0.95
KEPT_TEXT_SHARE = 0.7  # an unchanged file that gives less text than this share of before has lost some

IDENTIFIER = re.compile(r"\b(?=[A-Za-z0-9-]*[A-Za-z])(?=[A-Za-z0-9-]*\d)[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*\b")
LATIN_WORD = re.compile(r"\b[A-Za-z]{2,}\b")


def sample_chunks(generation: Generation, num: int) -> list[Chunk]:
    """Return ``num`` retrievable chunks, the same ones for the same ids."""
    return heapq.nsmallest(
        num,
        retrievable_chunks(generation),
        key=lambda chunk: hashlib.sha256(chunk.chunk_id.encode("utf-8", "surrogatepass")).digest(),
    )


def retrievable_chunks(generation: Generation) -> Iterator[Chunk]:
    """Yield the retrievable chunks of every segment."""
    for segment in generation.segments:
        yield from (chunk for chunk in segment.fts.all_chunks() if chunk.is_retrievable)


@dataclass(frozen=True)
class KnownItem:
    """A query made from a chunk's own words, and what a hit must hold."""

    query: str
    chunk_id: str
    depth: int  # how far down a hit may stand

    def is_in(self, text: str) -> bool:
        """Tell whether a hit holds the query's words, by letters and digits alone."""
        return _bare(self.query) in _bare(text)

    @property
    def is_identifier(self) -> bool:
        return self.depth == TOP_IDENTIFIER


def make_twin(identifier: str, text: str) -> str:
    """Return the identifier with its last digit changed, so that it does not stand in ``text``; "" if there is none."""
    at = max(index for index, letter in enumerate(identifier) if letter.isdigit())
    twins = (f"{identifier[:at]}{digit}{identifier[at + 1 :]}" for digit in "0123456789" if digit != identifier[at])
    return next((twin for twin in twins if _bare(twin) not in _bare(text)), "")


def _bare(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


def make_known_items(chunks: Sequence[Chunk]) -> list[KnownItem]:
    """Return up to two queries a chunk: one of its identifiers (T790M, IL-17), and its longest whole sentence."""
    from corpus_assets.sentences import split_sentences

    items: list[KnownItem] = []
    for chunk in chunks:
        identifiers = sorted({found for found in IDENTIFIER.findall(chunk.text) if 3 <= len(found) <= 20})
        if identifiers:
            items.append(KnownItem(identifiers[0], chunk.chunk_id, TOP_IDENTIFIER))
        sentences = [normalize_spaces(chunk.text[start:end]) for start, end in split_sentences(chunk.text)]
        plain = [text for text in sentences if 6 <= len(LATIN_WORD.findall(text)) <= 40]
        if plain:
            longest = max(plain, key=lambda text: (len(text), text))
            items.append(KnownItem(longest, chunk.chunk_id, TOP))
    return items


def check_known_item(context: GateContext) -> GateResult:
    """Search passages by their own words, full text only: identifiers and sentences must lead to where they stand.

    An identifier with one digit changed must fit the passage less: T790M is not T791M.
    """
    from retrieval.search import search

    def find(query: str) -> tuple[Hit, ...]:
        found = search(context.candidate, query, mode="fts_only", k=TOP, settings=context.settings.retrieval)
        return tuple(found.hits)

    items = make_known_items(sample_chunks(context.candidate, NUM_SAMPLED))
    missed: list[KnownItem] = []
    num_confused = 0
    for item in items:
        hits = [hit for hit in find(item.query)[: item.depth] if item.is_in(hit.chunk.text)]
        twin = make_twin(item.query, hits[0].chunk.text) if hits and item.is_identifier else ""
        is_confused = bool(twin) and any(
            hit.chunk.chunk_id == hits[0].chunk.chunk_id and hit.score >= hits[0].score for hit in find(twin)
        )
        num_confused += is_confused
        if not hits or is_confused:
            missed.append(item)
    if not items:
        return GateResult(
            "known_item", 1.0, KNOWN_ITEM_FLOOR, passed=True, detail="no passage has enough Latin words to search for"
        )
    value = 1 - len(missed) / len(items)
    detail = f"{len(items) - len(missed)} of {len(items)} passages are found by their own words"
    if missed:
        detail += f"; not found, or not told apart: {missed[0].query[:60]!r} of {missed[0].chunk_id}"
    if num_confused:
        detail += f"; {num_confused} identifiers are found as well with a digit changed"
    return GateResult(
        "known_item",
        value,
        KNOWN_ITEM_FLOOR,
        passed=value >= KNOWN_ITEM_FLOOR,
        num_cases=len(items),
        detail=detail,
        extra={"worst_cases": [{"chunk": item.chunk_id, "query": item.query[:120]} for item in missed[:10]]},
    )


def check_unique_chunks(context: GateContext) -> GateResult:
    """No two passages are the same stretch of a paper: duplicates crowd the top of every ranking."""
    seen: dict[tuple[str, int, int], str] = {}
    twice: list[dict[str, Any]] = []
    num = 0
    for segment in context.candidate.segments:
        for chunk in segment.fts.all_chunks():
            num += 1
            key = (chunk.paper_id, chunk.char_start, chunk.char_end)
            if key in seen:
                twice.append({"chunk": chunk.chunk_id, "same_as": seen[key]})
            else:
                seen[key] = chunk.chunk_id
    detail = f"{num - len(twice)} of {num} passages are a stretch of text of their own"
    if twice:
        detail += f"; {twice[0]['chunk']} repeats {twice[0]['same_as']}"
    value = (num - len(twice)) / num if num else 0.0
    return GateResult(
        "unique_chunks",
        value,
        1.0,
        passed=num > 0 and not twice,
        num_cases=num,
        detail=detail,
        extra={"worst_cases": twice[:10]},
    )


def check_no_lost_papers(context: GateContext) -> GateResult:
    """Every published paper whose file is still in the folder is served again, with about as much text."""
    name, published, candidate = "no_lost_papers", context.published, context.candidate
    if published is None:
        return GateResult(name, 1.0, 1.0, passed=True, detail="no other generation is published: nothing can be lost")
    folder = Path(candidate.manifest.papers_dir)
    by_digest = {record.doc_sha256: record for record in candidate.papers.values()}
    by_path = {record.path: record for record in candidate.papers.values()}  # an edit may give a paper another id
    lost: list[dict[str, Any]] = []
    num = 0
    for old in published.papers.values():
        if not old.is_served:
            continue
        num += 1
        new = candidate.papers.get(old.paper_id) or by_digest.get(old.doc_sha256) or by_path.get(old.path)
        problem = _why_lost(old, new, folder, published, candidate)
        if problem:
            lost.append({"paper": old.paper_id, "path": old.path, "problem": problem})
    detail = f"{num - len(lost)} of {num} published papers are kept or were removed by someone"
    if lost:
        detail += f"; {lost[0]['paper']} ({lost[0]['path']}): {lost[0]['problem']}"
    value = 1 - len(lost) / num if num else 1.0
    return GateResult(name, value, 1.0, passed=not lost, num_cases=num, detail=detail, extra={"worst_cases": lost[:20]})


def _why_lost(
    old: PaperRecord, new: PaperRecord | None, folder: Path, published: Generation, candidate: Generation
) -> str:
    """Return what was lost, or nothing where a person removed or changed the file or the record gives a reason."""
    if new is None:
        is_there = bool(str(folder)) and os.path.lexists(folder / old.path)
        return "its file is still in the folder, but the candidate does not know it" if is_there else ""
    if not new.is_served:
        is_same_file = new.doc_sha256 == old.doc_sha256
        if is_same_file and not new.reason:
            return f"its file is unchanged, but it is {new.status.value} without a reason"
        return ""
    if new.doc_sha256 != old.doc_sha256:
        return ""
    before, now = len(published.text(old.paper_id)), len(candidate.text(new.paper_id))
    if now < KEPT_TEXT_SHARE * before:
        return f"its file is unchanged, but its text fell from {before} to {now} characters"
    chunks = sum(chunk.is_retrievable for chunk in candidate.chunks_of(new.paper_id))
    return "" if chunks else "it has no retrievable passage any more"


def check_faiss_recall_vs_exact(context: GateContext, queries: NDArray[np.float32] | None = None) -> GateResult:
    """Search the vector index and every vector exactly, with real questions where there are any: do the top 10 agree?

    ``queries`` is ``(n, dimension)``; sampled passages' own vectors are added. Equal scores count as agreement.
    """
    import numpy as np

    floor = context.settings.gates.faiss_recall_floor
    name = "faiss_recall_vs_exact"
    overlaps: list[float] = []
    for segment in context.candidate.segments:
        if segment.vectors is None:
            continue
        probes = _probe_vectors(segment, queries)
        if not len(probes):
            continue
        exact = _exact_scores(segment, probes)
        for probe, best in zip(probes, exact, strict=True):
            scores, _ = segment.vectors.search(probe, TOP)
            found = np.sort(np.asarray(scores))[::-1]
            wanted = best[: min(TOP, len(best))]
            hits = np.count_nonzero(found[: len(wanted)] >= wanted[: len(found)] - 1e-5) if len(wanted) else 0
            overlaps.append(hits / len(wanted) if len(wanted) else 1.0)
    value = float(np.mean(overlaps)) if overlaps else 0.0
    detail = (
        f"the index finds {value:.4f} of the exact top {TOP} over {len(overlaps)} queries; floor {floor:g}"
        if overlaps
        else "the candidate has no vectors"
    )
    return GateResult(name, value, floor, passed=value >= floor, num_cases=len(overlaps), detail=detail)


def _probe_vectors(segment: Segment, queries: NDArray[np.float32] | None) -> NDArray[np.float32]:
    import numpy as np

    assert segment.vectors is not None
    ids = _vector_ids(segment)
    picked = ids[np.unique(np.linspace(0, len(ids) - 1, NUM_VECTOR_QUERIES).astype(int))] if len(ids) else ids
    own = segment.vectors.reconstruct(picked)
    return np.concatenate([queries[:NUM_VECTOR_QUERIES], own]) if queries is not None and len(queries) else own


def _vector_ids(segment: Segment) -> NDArray[np.int64]:
    import numpy as np

    from corpus_assets.vectors import vector_id

    ids = [vector_id(chunk.chunk_id) for chunk in segment.fts.all_chunks() if chunk.is_retrievable]
    return np.sort(np.array(ids, dtype=np.int64))


def _exact_scores(segment: Segment, probes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``(len(probes), <= TOP)`` best inner products, highest first, over every vector of the segment."""
    import numpy as np

    assert segment.vectors is not None
    ids = _vector_ids(segment)
    best = np.zeros((len(probes), 0), dtype=np.float32)
    for start in range(0, len(ids), BLOCK):
        scores = probes @ segment.vectors.reconstruct(ids[start : start + BLOCK]).T
        best = np.concatenate([best, scores], axis=1)
        best = -np.sort(-best, axis=1)[:, :TOP]
    return best
