"""Reranking against the original question, and the sentence scores the writer and abstention stand on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from corpus_assets.errors import ModelMissingError
from corpus_assets.model import SectionKind
from retrieval.acronyms import rewordings_with
from retrieval.claims.check import find_entities
from retrieval.passages import (
    CAPTION,
    FRAMING,
    LEANS_ON_BEFORE,
    LIKENED,
    STRUCTURE_TALK,
    Candidate,
    Sentence,
    SentenceReader,
)
from retrieval.plan import Plan
from retrieval.rarity import CorpusTerms
from retrieval.terms import content_stems, fold, words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corpus_assets.embedding.protocol import Embedder
    from corpus_assets.settings import RetrievalSettings

# Logistic of a sentence's cosine to the question: .5 where judged SciFact train pairs are as often relevant as not.
SIMILARITY_CENTRE = 0.45
SIMILARITY_SLOPE = 12.0
COVERAGE_SHARE = 0.35  # of a sentence's score; the rest is its cosine
SECTION_BONUS = {
    SectionKind.ABSTRACT: 0.03,
    SectionKind.RESULTS: 0.03,
    SectionKind.CONCLUSION: 0.03,
    SectionKind.DISCUSSION: 0.01,
    SectionKind.INTRODUCTION: -0.03,
    SectionKind.METHODS: -0.05,
    SectionKind.FRONT: -0.05,
    SectionKind.APPENDIX: -0.03,
}
UNRELATED = (
    "The bridge was painted red last summer.",
    "Enzyme activity fell after heating the sample.",
    "She plays the violin in a small orchestra.",
    "Interest rates rose by half a point.",
    "The compiler reports a missing semicolon.",
    "Lava cooled slowly on the northern slope.",
    "Patients received the vaccine in two doses.",
    "The recipe asks for three eggs and some flour.",
)
MAX_RERANK_WORDS = 180  # about 256 word pieces, the cross-encoder's cut


class CrossEncoder(Protocol):
    """Scores (question, passage) pairs; higher is better, unbounded."""

    name: str

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]: ...


@dataclass(frozen=True)
class Reranked:
    """Candidates best first with ``relevance`` in 0..1, their sentences by chunk id, and what ran."""

    candidates: tuple[Candidate, ...]
    sentences: Mapping[str, tuple[Sentence, ...]]
    scorer: str
    degraded: tuple[str, ...] = ()


def sigmoid(value: float) -> float:
    """Return the logistic of ``value``, safe for large ones."""
    if value >= 0:
        return 1.0 / (1.0 + math.exp(-value))
    exponential = math.exp(value)
    return exponential / (1.0 + exponential)


def fuse_ranks(
    rankings: Sequence[Sequence[str]], *, k: int, weights: Sequence[float] | None = None
) -> list[tuple[str, float]]:
    """Return keys with their reciprocal-rank-fusion score, best first; ties go by best single rank, then by key."""
    scores: dict[str, float] = {}
    best: dict[str, int] = {}
    for index, ranking in enumerate(rankings):
        weight = weights[index] if weights else 1.0
        for rank, key in enumerate(ranking, start=1):
            scores[key] = scores.get(key, 0.0) + weight / (k + rank)
            best[key] = min(best.get(key, rank), rank)
    return sorted(
        ((key, round(score, 12)) for key, score in scores.items()), key=lambda item: (-item[1], best[item[0]], item[0])
    )


def score_sentences(
    plan: Plan,
    candidates: Sequence[Candidate],
    reader: SentenceReader,
    terms: CorpusTerms,
    embedder: Embedder | None,
) -> dict[str, tuple[Sentence, ...]]:
    """Return each candidate's quotable sentences with similarity and coverage for the question and each sub-query.

    Column 0 is the question itself, column ``i + 1`` sub-query ``i``. A sentence is compared with its paper's title
    before it, because a finding seldom repeats what the paper is about; coverage is the mean of with and without.
    """
    questions = [plan.question, *(sub_query.text for sub_query in plan.sub_queries)]
    focuses = [plan.question, *(sub_query.focus or sub_query.text for sub_query in plan.sub_queries)]
    asked = [*questions, *focuses]
    spelt = [spell_out(text, plan.expansions) for text in asked]  # papers write "PFS" or its long form
    by_chunk = {candidate.chunk_id: reader.sentences(candidate.chunk) for candidate in candidates}
    context = {item.paper_id: reader.title(item.paper_id) for item in candidates}
    title_stems = {key: frozenset(content_stems(title)) for key, title in context.items()}
    unique = {
        sentence.key: f"{context[sentence.paper_id]}: {sentence.text}"
        for sentences in by_chunk.values()
        for sentence in sentences
    }
    similarities = embed_similarities([*asked, *spelt] if spelt != asked else asked, list(unique.values()), embedder)
    wanted = {fold(name) for name in find_entities(plan.question)}
    row_of = {key: row for row, key in enumerate(unique)}
    scored: dict[str, tuple[Sentence, ...]] = {}
    for chunk_id, sentences in by_chunk.items():
        rows = []
        for sentence in sentences:
            stems = frozenset(content_stems(sentence.text))
            in_context = stems | title_stems[sentence.paper_id]
            stems_for = [in_context] * len(questions) + [stems] * len(focuses)
            shares = [
                max(terms.coverage(text, have), terms.coverage(long, have))
                for text, long, have in zip(asked, spelt, stems_for, strict=True)
            ]
            coverage = mean_pairs(shares[: len(questions)], shares[len(questions) :])
            cosines = coverage
            if similarities is not None:
                row = [float(value) for value in similarities[row_of[sentence.key]]]
                best = [max(row[column :: len(asked)]) for column in range(len(asked))]
                cosines = mean_pairs(best[: len(questions)], best[len(questions) :])
            own_words = sentence.text if plan.is_comparison else LIKENED.sub(" ", sentence.text)
            on_subject = not wanted or bool(wanted & set(words(f"{context[sentence.paper_id]} {own_words}")))
            rows.append(
                replace(
                    sentence,
                    similarities=cosines,
                    coverage=coverage,
                    is_on_subject=on_subject,
                    score=sentence_score(sentence, cosines, coverage),
                )
            )
        scored[chunk_id] = tuple(rows)
    return scored


def spell_out(text: str, expansions: Mapping[str, str]) -> str:
    """Return a question with the acronyms written out that the corpus itself defines."""
    return next(iter(rewordings_with(text, dict(expansions))), text)


def mean_pairs(first: Sequence[float], second: Sequence[float]) -> tuple[float, ...]:
    """Return the mean of each pair."""
    return tuple(round((a + b) / 2, 6) for a, b in zip(first, second, strict=True))


def embed_similarities(
    questions: Sequence[str], texts: Sequence[str], embedder: Embedder | None
) -> NDArray[np.float32] | None:
    """Return ``(len(texts), len(questions))`` cosines, or None without an embedder."""
    if embedder is None or not texts:
        return None
    import numpy as np

    cosines = embedder.embed_documents(list(texts)) @ embedder.embed_queries(list(questions)).T
    background = background_cosine(embedder)
    return np.asarray((cosines - background) / (1 - background))


_BACKGROUND: dict[str, float] = {}


def background_cosine(embedder: Embedder) -> float:
    """Return the model's mean cosine of texts that have nothing to do with each other.

    Some models (bge) give .5 to such pairs, others (MiniLM) next to nothing; what is above it is what a cosine says.
    """
    if embedder.fingerprint not in _BACKGROUND:
        vectors = embedder.embed_documents(UNRELATED)
        num = len(UNRELATED)
        _BACKGROUND[embedder.fingerprint] = round(float(((vectors @ vectors.T).sum() - num) / (num * (num - 1))), 4)
    return max(0.0, _BACKGROUND[embedder.fingerprint])


def sentence_score(sentence: Sentence, cosines: Sequence[float], coverage: Sequence[float]) -> float:
    """Return how much a sentence is about the question or a sub-question: its best column."""
    best = max((1 - COVERAGE_SHARE) * c + COVERAGE_SHARE * share for c, share in zip(cosines, coverage, strict=True))
    return round(best + form_bonus(sentence), 6)


def form_bonus(sentence: Sentence) -> float:
    """Return what a sentence's form and place are worth: findings up; captions, aims and leaning sentences down."""
    bonus = SECTION_BONUS.get(sentence.section_kind, 0.0)
    text = sentence.text
    if LEANS_ON_BEFORE.match(text):
        bonus -= 0.06
    if STRUCTURE_TALK.search(text) or FRAMING.search(text):
        bonus -= 0.14
    if CAPTION.match(text):
        bonus -= 0.12
    if sentence.is_reported:
        bonus -= 0.03
    if sentence.num_words > 45:
        bonus -= 0.04
    if sentence.num_words < 6:
        bonus -= 0.02
    return bonus


def load_cross_encoder(settings: RetrievalSettings) -> tuple[CrossEncoder | None, str]:
    """Return the cross-encoder the settings ask for and a note when it is not to be had."""
    name = settings.reranker
    if name in {"off", "lexical", "sentences"}:
        return None, ""
    try:
        from corpus_assets.embedding import cross_encoder as models
    except ImportError:
        return None, "" if name == "auto" else f"reranker {name}: no cross-encoder support is installed"
    if name == "auto":
        return (models.OnnxCrossEncoder(), "") if models.cross_encoder_available() else (None, "")
    try:
        return models.load_cross_encoder(name), ""
    except ModelMissingError as error:
        return None, f"reranker {name}: {error.message}"


def score_passages(plan: Plan, candidates: Sequence[Candidate], cross_encoder: CrossEncoder) -> list[Candidate]:
    """Return the candidates with the cross-encoder's score, mapped to 0..1, as their relevance.

    Against the original question; of a question in several parts, against the parts that found the passage, the best
    one counting: a passage that answers one part well scores low against the whole.
    """
    is_in_parts = plan.is_multi_hop and not plan.is_comparison
    pairs: list[tuple[str, str]] = []
    for item in candidates:
        passage = " ".join(item.chunk.text.split()[:MAX_RERANK_WORDS])
        asked = [plan.sub_queries[index].text for index in item.sub_queries] if is_in_parts else [plan.question]
        pairs.extend((question, passage) for question in asked)
    scores = iter(round(sigmoid(float(logit)), 6) for logit in cross_encoder.predict(pairs))
    scored = []
    for item in candidates:
        parts = {index: next(scores) for index in item.sub_queries} if is_in_parts else {}
        relevance = max(parts.values()) if parts else next(scores)
        scored.append(replace(item, relevance=relevance, part_scores=parts))
    return scored


def fuse_with_first_stage(candidates: Sequence[Candidate], scores: Mapping[str, float], rrf_k: int) -> list[str]:
    """Return chunk ids by the fusion of the first stage's order with that of ``scores``; never the scores alone."""
    first_stage = [candidate.chunk_id for candidate in candidates]
    place = {key: index for index, key in enumerate(first_stage)}
    by_score = sorted(first_stage, key=lambda key: (-scores[key], place[key]))
    return [key for key, _ in fuse_ranks([first_stage, by_score], k=rrf_k)]


def keep_best(candidates: Sequence[Candidate], *, num: int, rrf_k: int) -> list[Candidate]:
    """Return the best ``num`` scored candidates by the fused order, and four for each part, in first-stage order."""
    scores = {item.chunk_id: item.relevance for item in candidates}
    kept = set(fuse_with_first_stage(candidates, scores, rrf_k)[:num])
    for part in sorted({part for item in candidates for part in item.part_scores}):
        own = sorted(
            (-item.part_scores[part], item.rank, item.chunk_id) for item in candidates if part in item.part_scores
        )
        kept.update(key for _, _, key in own[:4])
    return [item for item in candidates if item.chunk_id in kept]


def keep_head(candidates: Sequence[Candidate], *, num: int) -> list[Candidate]:
    """Return the first ``num`` candidates and the first four of each part: embedding sentences is what takes the time.

    On the sample corpus' judged cases 12 passages bring as much evidence as 20 do.
    """
    kept = {item.chunk_id for item in candidates[:num]}
    for part in sorted({part for item in candidates for part in item.sub_queries}):
        kept.update(item.chunk_id for item in [item for item in candidates if part in item.sub_queries][:4])
    return [item for item in candidates if item.chunk_id in kept]


def rerank(
    candidates: Sequence[Candidate],
    sentences: Mapping[str, tuple[Sentence, ...]],
    *,
    scores: Mapping[str, float] | None,
    scorer: str,
    has_embedder: bool,
    settings: RetrievalSettings,
) -> Reranked:
    """Order candidates by their first-stage rank fused with ``scores`` (else with their best sentence)."""
    own = {item.chunk_id: best_relevance(sentences.get(item.chunk_id, ())) for item in candidates}
    if settings.reranker == "off":
        return Reranked(tuple(replace(item, relevance=own[item.chunk_id]) for item in candidates), sentences, "off")
    if scores is None:
        scores = own
        scorer = "sentence similarity" if has_embedder and settings.reranker != "lexical" else "word overlap"
    by_id = {candidate.chunk_id: candidate for candidate in candidates}
    fused = fuse_with_first_stage(candidates, scores, settings.rrf_k)
    ordered = [replace(by_id[key], relevance=scores[key], rank=rank) for rank, key in enumerate(fused, start=1)]
    return Reranked(tuple(ordered), sentences, scorer)


def best_relevance(sentences: Sequence[Sentence]) -> float:
    """Return the 0..1 relevance of a passage: that of its best sentence, 0 when nothing in it can be quoted."""
    best = max((max_blend(sentence) for sentence in sentences), default=None)
    return 0.0 if best is None else round(sigmoid(SIMILARITY_SLOPE * (best - SIMILARITY_CENTRE)), 6)


def max_blend(sentence: Sentence) -> float:
    """Return the sentence's best blend of cosine and coverage over the question and the sub-queries."""
    return max(
        (1 - COVERAGE_SHARE) * cosine + COVERAGE_SHARE * share
        for cosine, share in zip(sentence.similarities, sentence.coverage, strict=True)
    )


def part_strength(item: Candidate, part: int, sentences: Sequence[Sentence]) -> float:
    """Return how well a passage answers one part: the scorer's word if it told parts apart, and its best sentence's."""
    best = max((sentence.similarities[part + 1] for sentence in sentences), default=-1.0)
    return best + item.part_scores.get(part, 0.0) if item.part_scores else best


def select_evidence(
    plan: Plan,
    ordered: Sequence[Candidate],
    sentences: Mapping[str, tuple[Sentence, ...]],
    *,
    k: int,
    max_per_paper: int,
) -> list[Candidate]:
    """Return up to ``k`` passages, at most ``max_per_paper`` a paper, two for each sub-query if there are that many."""
    kept: dict[str, Candidate] = {}
    per_paper: dict[str, int] = {}

    def take(candidate: Candidate) -> None:
        if candidate.chunk_id in kept or len(kept) >= k or per_paper.get(candidate.paper_id, 0) >= max_per_paper:
            return
        kept[candidate.chunk_id] = candidate
        per_paper[candidate.paper_id] = per_paper.get(candidate.paper_id, 0) + 1

    if len(plan.sub_queries) > 1:
        position = {candidate.chunk_id: index for index, candidate in enumerate(ordered)}
        for part in range(len(plan.sub_queries)):
            strength = {item.chunk_id: part_strength(item, part, sentences.get(item.chunk_id, ())) for item in ordered}
            best = sorted(ordered, key=lambda item: (-strength[item.chunk_id], position[item.chunk_id]))
            for candidate in best[: max(2, k // (len(plan.sub_queries) + 1))]:
                take(candidate)
    for candidate in ordered:
        take(candidate)
    return sorted(kept.values(), key=lambda item: (-item.relevance, item.rank, item.chunk_id))
