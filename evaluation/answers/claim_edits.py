"""How many false edits of true statements the deterministic tests catch, and how many true ones they let pass."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from corpus_assets.sentences import split_sentences
from evaluation.answers.edits import KINDS, NAME, SUBSTANCE, make_edits, restate
from evaluation.answers.rows import Row, share_row
from retrieval.claims.check import check_claim
from retrieval.passages import is_quotable

if TYPE_CHECKING:
    from corpus_assets.store.generation import Generation

SUITE = "claim edits"
MIN_RATE = 0.95
MIN_EDITS = 300
EDITS_A_KIND = 80
NUM_TRUE = 400
MAX_NAMES = 400
MAX_TEXTS = 1000
SEED = "claim edits 1"

Part = Literal["dev", "test"]


@dataclass(frozen=True)
class SourceText:
    """A text whose sentences are taken as true."""

    text_id: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class TrueClaim:
    """A claim with the quote that bears it out; ``is_restated`` when its words are not the quote's."""

    claim: str
    evidence: str
    is_restated: bool


def part_of(text_id: str) -> Part:
    """Return the half a text belongs to: rules may be mended on "dev"; "test" is only measured."""
    return "dev" if int(_digest(text_id), 16) % 2 else "test"


def _digest(*parts: str) -> str:
    return hashlib.sha256("|".join((SEED, *parts)).encode("utf-8", "surrogatepass")).hexdigest()


def source_texts(generation: Generation) -> list[SourceText]:
    """Return the served papers of a generation as source texts, a chunk each."""
    found = []
    for paper_id in sorted(paper_id for paper_id, record in generation.papers.items() if record.is_served):
        for chunk in generation.chunks_of(paper_id):
            if chunk.is_retrievable:
                sentences = tuple(chunk.text[start:end] for start, end in split_sentences(chunk.text))
                found.append(SourceText(chunk.chunk_id, sentences))
    return found


def true_claims(texts: Iterable[SourceText], part: Part) -> list[TrueClaim]:
    """Return each usable sentence as it stands, and restated where that is possible, in an order of its own."""
    found: list[tuple[str, TrueClaim]] = []
    own = sorted((text for text in texts if part_of(text.text_id) == part), key=lambda text: _digest(text.text_id))
    for text in own[:MAX_TEXTS]:
        for index, raw in enumerate(text.sentences):
            sentence = " ".join(raw.split())
            if not (is_quotable(sentence) and 8 <= len(sentence.split()) <= 40 and sentence[0].isupper()):
                continue
            after = " ".join(text.sentences[index + 1].split()) if index + 1 < len(text.sentences) else ""
            evidence = f"{sentence} {after}".strip()
            found.append((_digest(text.text_id, sentence), TrueClaim(sentence, evidence, is_restated=False)))
            restated = restate(sentence)
            if restated != sentence:
                found.append((_digest(text.text_id, restated), TrueClaim(restated, evidence, is_restated=True)))
    return [claim for _, claim in sorted(found, key=lambda item: item[0])]


def names_in(claims: Sequence[TrueClaim]) -> list[str]:
    """Return names and substances that the claims' sentences hold, to be put in others' places."""
    names: dict[str, None] = {}
    for item in claims:
        for pattern in (NAME, SUBSTANCE):
            names.update((match.group(0), None) for match in pattern.finditer(item.claim) if len(match.group(0)) > 3)
        if len(names) > MAX_NAMES:
            break
    return list(names)


def measure_claim_edits(texts: Sequence[SourceText], source: str, part: Part = "test") -> list[Row]:
    """Return how the tests of claims do on a source's sentences: edits caught a kind, and true claims passed."""
    claims = true_claims(texts, part)
    names = names_in(claims)
    num_edits = dict.fromkeys((*KINDS, "direction"), 0)
    caught = dict.fromkeys(num_edits, 0)
    missed: dict[str, list[dict[str, str]]] = {kind: [] for kind in num_edits}
    for number, item in enumerate(claims):
        if all(count >= EDITS_A_KIND for count in num_edits.values()):
            break
        offset = number % max(1, len(names))
        for edit in make_edits(item.claim, item.evidence, names[offset:] + names[:offset]):
            if num_edits[edit.kind] >= EDITS_A_KIND:
                continue
            num_edits[edit.kind] += 1
            verdict = check_claim(edit.text, item.evidence)
            if verdict.verdict == "supported":
                missed[edit.kind].append({"change": edit.change, "claim": edit.text, "evidence": item.evidence})
            else:
                caught[edit.kind] += 1
    where = f"{source}, {part} half"
    num_all, num_caught = (sum(counts[kind] for kind in KINDS) for counts in (num_edits, caught))
    rows = [
        share_row(
            SUITE, "edits caught, all kinds", num_caught, num_all,
            bound="at least", limit=MIN_RATE, min_cases=MIN_EDITS, note=where,
        )
    ]  # fmt: skip
    for kind in (*KINDS, "direction"):
        is_must = kind in KINDS
        row = share_row(
            SUITE, f"edits caught, {kind}", caught[kind], num_edits[kind],
            bound="at least" if is_must else "report", limit=MIN_RATE if is_must else None, min_cases=10,
            note=where, misses=tuple(missed[kind]),
        )  # fmt: skip
        rows.append(row)
    return rows + _measure_true(claims, where)


def _measure_true(claims: Sequence[TrueClaim], where: str) -> list[Row]:
    rows = []
    for name, is_restated in (("unedited pass, as printed", False), ("unedited pass, restated", True)):
        chosen = [item for item in claims if item.is_restated is is_restated][: NUM_TRUE // 2]
        failed = []
        for item in chosen:
            verdict = check_claim(item.claim, item.evidence)
            if verdict.verdict != "supported":
                failed.append({"reason": verdict.reason, "claim": item.claim, "evidence": item.evidence})
        rows.append(
            share_row(
                SUITE, name, len(chosen) - len(failed), len(chosen),
                bound="at least", limit=MIN_RATE, min_cases=30, note=where, misses=tuple(failed),
            )
        )  # fmt: skip
    return rows


def measure_written_claims(claims: Iterable[tuple[str, str, bool]], where: str) -> list[Row]:
    """Return how claims that people wrote fare: (claim, its evidence, whether the evidence supports it)."""
    counts = {True: [0, 0], False: [0, 0]}
    for claim, evidence, is_supported in claims:
        counts[is_supported][0] += check_claim(claim, evidence).verdict == "supported"
        counts[is_supported][1] += 1
    (num_passed, num_true), (num_let_through, num_false) = counts[True], counts[False]
    return [
        share_row(SUITE, "written by people: supported ones that pass", num_passed, num_true, note=where),
        share_row(
            SUITE, "written by people: contradicted ones caught", num_false - num_let_through, num_false, note=where
        ),
    ]
