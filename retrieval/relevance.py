"""Whether the corpus can answer a question at all. Says no rather than quoting the nearest unrelated passage."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from retrieval.passages import Candidate, Sentence
from retrieval.plan import Plan
from retrieval.rarity import CorpusTerms, is_in, stems_of
from retrieval.rerank import max_blend, sigmoid
from retrieval.terms import QUESTION_WORDS, content_stems

if TYPE_CHECKING:
    from corpus_assets.embedding.protocol import Embedder
    from corpus_assets.store.generation import Generation

# Logistic weights and thresholds fitted by benchmarks/calibrate_abstention.py; its header names the data. By meaning:
# 96 % of the answerable questions it was fitted on are answered, none to 2.5 % of those of another field. By words
# alone the same threshold (.28) lets 15 % of another field's pass, so a stricter one is used.
BY_MEANING: Mapping[str, float] = {
    "intercept": -3.659,
    "max_cosine": 1.617,
    "mean_top3_cosine": 1.463,
    "best_blend": 1.614,
    "sentence_coverage": 1.005,
    "passage_coverage": 1.549,
    "evidence_coverage": 0.465,
    "unknown_share": -0.384,
    "rarest_missing": -0.282,
}
BY_WORDS: Mapping[str, float] = {
    "intercept": -2.8,
    "max_cosine": 1.143,
    "mean_top3_cosine": 0.841,
    "best_blend": 1.143,
    "sentence_coverage": 1.143,
    "passage_coverage": 1.909,
    "evidence_coverage": 0.604,
    "unknown_share": -0.592,
    "rarest_missing": -0.227,
}
ANSWER_THRESHOLD = 0.379
ANSWER_THRESHOLD_BY_WORDS = 0.36
# Between this and the threshold a question is answered with a warning: the right passages are often found for a
# question in other words than the papers'. Not when it names something the corpus never does, and only in a corpus of
# one field: where papers of many stand together, the words of any question are found somewhere. Chosen on PubMedQA's
# questions that are not `official_test`: of those asked of the sample corpus 97 % get no answer.
TENTATIVE_THRESHOLD = 0.10
# Least mean cosine between the cards of a corpus of one field, by embedding model. The middle between the sample corpus
# (.48, bge-small .75) and sixty papers of many fields (.12, .60). Not known of other models: nothing is tentative then.
FIELD_COSINE: Mapping[str, float] = {"default": 0.30, "bge-small": 0.68}
MIN_PIECES_OF_A_NAME = 3  # an ordinary English word is one or two of the embedding model's pieces
PREFIX = re.compile(r"^(?:over|under|non|pre|post|re|un|sub|multi|inter|intra|mis)-?(?P<rest>\w{5,})$")


@dataclass(frozen=True)
class Relevance:
    """Signals and the decision. ``probability`` is that the evidence is about the question."""

    probability: float
    threshold: float
    signals: Mapping[str, float]
    missing: tuple[str, ...]  # subject words of the question that no evidence names
    unknown_names: tuple[str, ...] = ()  # those of them that are in no passage of the corpus and are no ordinary word
    tentative_threshold: float = TENTATIVE_THRESHOLD

    @property
    def is_answerable(self) -> bool:
        return self.probability >= self.threshold or self.is_tentative

    @property
    def is_tentative(self) -> bool:
        """Tell whether an answer may be given only with a warning that it may be beside the question."""
        return self.tentative_threshold <= self.probability < self.threshold and not self.unknown_names

    @property
    def caveat(self) -> str:
        """Return the warning that stands before a tentative answer."""
        unnamed = f" and do not name {self.quote_missing()}" if self.missing else ""
        return f"This may not answer the question: the nearest passages use other words{unnamed}."

    def quote_missing(self) -> str:
        """Return the rarest words that the evidence does not name; those the whole corpus does not, first."""
        words = dict.fromkeys((*self.unknown_names, *self.missing))
        return ", ".join(f"“{word}”" for word in list(words)[:4])


def judge_relevance(
    plan: Plan,
    evidence: Sequence[Candidate],
    sentences: Mapping[str, Sequence[Sentence]],
    terms: CorpusTerms,
    embedder: Embedder | None,
    *,
    is_one_field: bool,
) -> Relevance:
    """Weigh cosine, coverage of the rare words of the question, and words the corpus does not hold.

    Nothing is tentative in a corpus of several fields; nor without an embedder, when words are all there is and names
    cannot be told from ordinary ones.
    """
    threshold = ANSWER_THRESHOLD if embedder else ANSWER_THRESHOLD_BY_WORDS
    found = [sentence for item in evidence for sentence in sentences.get(item.chunk_id, ())]
    weights = terms.question_weights(plan.question)
    all_stems = stems_of([text for item in evidence for text in (item.chunk.text, item.chunk.section_title)])
    missing = tuple(
        word
        for word in sorted(weights, key=lambda word: -weights[word])
        if word not in QUESTION_WORDS and not is_in(word, all_stems)
    )
    if not found:
        return Relevance(0.0, threshold, {}, missing)
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
    weighing = BY_MEANING if embedder else BY_WORDS
    logit = weighing["intercept"] + sum(weighing[name] * value for name, value in signals.items())
    return Relevance(
        probability=round(sigmoid(logit), 6),
        threshold=threshold,
        signals={name: round(value, 4) for name, value in signals.items()},
        missing=missing,
        unknown_names=unknown_names(missing, terms, embedder) if embedder else (),
        tentative_threshold=TENTATIVE_THRESHOLD if embedder and is_one_field else threshold,
    )


def unknown_names(missing: Sequence[str], terms: CorpusTerms, embedder: Embedder) -> tuple[str, ...]:
    """Return the words that no passage holds and that the embedding model has to spell out: names, mostly.

    A prefix before a word the corpus holds ("overdiagnosis") makes no name.
    """
    return tuple(
        word
        for word in missing
        if terms.document_frequency(word) == 0
        and len(embedder.token_starts(word)) >= MIN_PIECES_OF_A_NAME
        and not ((built := PREFIX.match(word)) and terms.document_frequency(built["rest"]))
    )


def covers_one_field(generation: Generation, embedder: Embedder | None) -> bool:
    """Tell whether the papers' cards are as near to each other as those of one field; False where that is not known."""
    if embedder is None or embedder.name not in FIELD_COSINE:
        return False
    _, vectors = generation.card_vectors()
    num = len(vectors)
    if num < 2:
        return num == 1
    total = vectors.sum(axis=0, dtype="float64")
    return float(total @ total - num) / (num * (num - 1)) >= FIELD_COSINE[embedder.name]
