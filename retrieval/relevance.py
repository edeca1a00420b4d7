"""Whether the corpus can answer a question at all. Says no rather than quoting the nearest unrelated passage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from retrieval.passages import Candidate, Sentence
from retrieval.plan import Plan
from retrieval.rarity import CorpusTerms, is_in, stems_of
from retrieval.rerank import max_blend, sigmoid
from retrieval.terms import QUESTION_WORDS, content_stems

# Logistic weights fitted by benchmarks/calibrate_abstention.py (see its header for the data); threshold on its output.
WEIGHTS: Mapping[str, float] = {
    "intercept": -6.0,
    "max_cosine": 6.0,
    "mean_top3_cosine": 2.0,
    "sentence_coverage": 1.5,
    "passage_coverage": 2.0,
    "evidence_coverage": 1.5,
    "unknown_share": -2.0,
}
ANSWER_THRESHOLD = 0.5


@dataclass(frozen=True)
class Relevance:
    """Signals and the decision. ``probability`` is that the evidence is about the question."""

    probability: float
    signals: Mapping[str, float]
    missing: tuple[str, ...]  # subject words of the question that no evidence names

    @property
    def is_answerable(self) -> bool:
        return self.probability >= ANSWER_THRESHOLD


def judge_relevance(
    plan: Plan,
    evidence: Sequence[Candidate],
    sentences: Mapping[str, Sequence[Sentence]],
    terms: CorpusTerms,
    *,
    has_embedder: bool,
) -> Relevance:
    """Weigh cosine, coverage of the rare words of the question, and words the corpus does not hold."""
    found = [sentence for item in evidence for sentence in sentences.get(item.chunk_id, ())]
    weights = terms.question_weights(plan.question)
    all_stems = stems_of([text for item in evidence for text in (item.chunk.text, item.chunk.section_title)])
    missing = tuple(
        word
        for word in sorted(weights, key=lambda word: -weights[word])
        if word not in QUESTION_WORDS and not is_in(word, all_stems)
    )
    if not found:
        return Relevance(0.0, {}, missing)
    cosines = sorted((max(sentence.similarities) for sentence in found), reverse=True)
    total = sum(weights.values()) or 1.0
    signals = {
        "max_cosine": cosines[0],
        "mean_top3_cosine": sum(cosines[:3]) / len(cosines[:3]),
        "best_blend": max(max_blend(sentence) for sentence in found),
        "sentence_coverage": max(max(sentence.coverage) for sentence in found),
        "passage_coverage": max(
            terms.coverage(plan.question, frozenset(content_stems(item.chunk.text))) for item in evidence
        ),
        "evidence_coverage": terms.coverage(plan.question, all_stems),
        "unknown_share": sum(weight for word, weight in weights.items() if terms.document_frequency(word) == 0) / total,
        "rarest_missing": max((terms.weight(word) for word in missing), default=0.0),
    }
    logit = WEIGHTS["intercept"] + sum(WEIGHTS.get(name, 0.0) * value for name, value in signals.items())
    return Relevance(round(sigmoid(logit), 6), {name: round(value, 4) for name, value in signals.items()}, missing)
