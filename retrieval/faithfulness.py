"""Whether an answer's claims are borne out by the quotes they cite; those that are not are taken out."""

from __future__ import annotations

from collections.abc import Mapping

from retrieval.answer import Citation, ClaimCheck, FaithfulnessReport
from retrieval.claims.check import check_claim
from retrieval.passages import Sentence
from retrieval.writing.compose import keep_statements
from retrieval.writing.draft import Draft, Statement
from retrieval.writing.escape import display_sentence, strip_controls

VERIFIER = "rules"
SentenceKey = tuple[str, int, int]


def claims_of(item: Statement) -> list[tuple[str, tuple[Sentence, ...]]]:
    """Return the claims of a statement with the sentences each cites."""
    if item.is_conjecture:
        return []
    if item.text:
        return [(item.text, item.sentences)]
    return [(display_sentence(sentence.text), (sentence,)) for sentence in item.sentences]


def check_statement(item: Statement, bound: Mapping[SentenceKey, Citation]) -> list[ClaimCheck]:
    """Return the verdict on each claim of a statement against its bound quotes."""
    checks = []
    for text, sentences in claims_of(item):
        quotes = [strip_controls(bound[sentence.key].quote) for sentence in sentences if sentence.key in bound]
        if not quotes:
            checks.append(
                ClaimCheck(text=text, citations=(), verdict="unsupported", reason="no quote stands behind it")
            )
            continue
        verdict = check_claim(text, " ".join(quotes))
        checks.append(ClaimCheck(text=text, citations=(), verdict=verdict.verdict, reason=verdict.reason))
    return checks


def verify_draft(draft: Draft, bound: Mapping[SentenceKey, Citation]) -> tuple[Draft, list[ClaimCheck], float | None]:
    """Return the draft without statements that fail, the failed claims, and the score before they went."""
    failed: list[ClaimCheck] = []
    num_claims = 0
    failing: set[int] = set()
    for item in draft.statements():
        checks = check_statement(item, bound)
        num_claims += len(checks)
        bad = [check for check in checks if check.verdict != "supported"]
        if bad:
            failing.add(id(item))
            failed.extend(bad)
    score = round((num_claims - len(failed)) / num_claims, 4) if num_claims else None
    return keep_statements(draft, lambda item: id(item) not in failing), failed, score


def report(
    draft: Draft,
    bound: Mapping[SentenceKey, Citation],
    numbers: Mapping[SentenceKey, int],
    removed: list[ClaimCheck],
    score_before: float | None,
) -> FaithfulnessReport:
    """Return the verdicts on the shipped answer, with the numbers of the citations each claim stands on."""
    claims: list[ClaimCheck] = []
    for item in draft.statements():
        checks = check_statement(item, bound)
        for check, (_, sentences) in zip(checks, claims_of(item), strict=True):
            cited = tuple(numbers[sentence.key] for sentence in sentences if sentence.key in numbers)
            claims.append(check.model_copy(update={"citations": cited}))
    supported = sum(claim.verdict == "supported" for claim in claims)
    return FaithfulnessReport(
        score=round(supported / len(claims), 4) if claims else None,
        claims=tuple(claims),
        removed=tuple(removed),
        score_before=score_before,
        verifier=VERIFIER,
    )
