"""Answers given before, found again only for a question that means the same.

A cosine alone cannot tell: negated or turned-round question pairs score .94 to .98. So a near-duplicate must also agree
in polarity, direction, numbers with units, names, question word and every word that is not a known synonym.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpus_assets.settings import fingerprint
from retrieval.answer import AnswerRecord
from retrieval.claims.check import find_entities
from retrieval.claims.numbers import WORD_NUMBERS, base_value, find_quantities
from retrieval.claims.polarity import NEGATION, PREFIXED, STRONG_CERTAINTY, analyse, direction_axes
from retrieval.claims.synonyms import SYNONYMS, share_synonym
from retrieval.state_store import StateStore
from retrieval.terms import STOP_WORDS, fold, stem, word_set, words

if TYPE_CHECKING:
    from corpus_assets.embedding.protocol import Embedder
    from corpus_assets.settings import AnswerMode, Settings

MIN_COSINE = 0.86  # chosen on generated paraphrases; the other tests keep what is not a paraphrase out
ASKING = frozenset({"what", "which", "who", "why", "how", "when", "where", "whose", "whom"})
QUANTITY_ASKED = frozenset(
    {"many", "much", "often", "long", "large", "high", "old", "early", "fast", "strong", "likely"}
)
# Words that open or decorate a question without changing what is asked.
FRAME_WORDS = frozenset(
    stem(word)
    for word in [
        "effect",
        "effects",
        "impact",
        "influence",
        "role",
        "evidence",
        "study",
        "studies",
        "paper",
        "papers",
        "literature",
        "research",
        "known",
        "report",
        "reported",
        "reports",
        "show",
        "shown",
        "say",
        "explain",
        "describe",
        "summarise",
        "summarize",
        "tell",
        "give",
        "find",
        "found",
        "according",
        "main",
        "key",
        "current",
        "please",
        "question",
        "exactly",
        "kind",
        "kinds",
        "type",
        "types",
        "thing",
        "things",
        "way",
        "ways",
    ]
)
# Function words that change what is asked; they have to agree, in their order.
RELATION_WORDS = word_set(
    """
    before after with without versus vs than between against during above below under over within beyond until since
    up down off out into from through only same other most least more less many few some any all every each both
    either again once ever always almost half twice
    """
)
LINK_WITH = re.compile(r"\b((?:associat|correlat|link|connect|relat)\w*) with\b", re.I)
FRONTED = re.compile(r"^\W*((?:in|for|among|with|after|before|under|during|within|at|on|by) [^,?]+), (.+?)\W*$", re.I)


def cache_scope(
    *, generation: str, mode: AnswerMode, filters: object, settings: Settings, writer: str, retrieval: str, top_k: int
) -> str:
    """Return the digest of everything but the question that shapes an answer."""
    return fingerprint(
        {
            "generation": generation,
            "mode": mode,
            "filters": repr(filters),
            "retrieval": settings.retrieval.model_dump(mode="json"),
            "llm": settings.llm.model_dump(mode="json"),
            "served": retrieval,
            "writer": writer,
            "top_k": top_k,
        }
    )


def normal_form(question: str) -> str:
    """Return the question without case, spacing and closing punctuation."""
    return " ".join(fold(question).strip(" ?.!").split())


@dataclass(frozen=True)
class Meaning:
    """What two questions must share for one answer to serve both."""

    negations: int
    directions: tuple[tuple[str, int], ...]  # direction words by axis and sign
    numbers: tuple[tuple[str, str], ...]  # value and dimension, comparator
    names: frozenset[str]
    asking: frozenset[str]
    relations: tuple[str, ...]
    content: tuple[str, ...]  # stems in order
    certainty: frozenset[str]


def meaning_of(question: str) -> Meaning:
    """Return the features of a question that a paraphrase keeps; "in X, does …" is read as "does … in X"."""
    question = LINK_WITH.sub(r"\1 to", FRONTED.sub(r"\2 \1", question.replace("’", "'")))
    tokens, _ = analyse(question)
    folded = words(question)
    directions = Counter(
        (str(axis), sign) for token in tokens for axis, sign in direction_axes(token.stem, token.word) if axis < 8
    )
    numbers = []
    for quantity in find_quantities(question):
        value, dimension = base_value(quantity.value, quantity.unit)
        numbers.append((f"{value:.9g} {dimension}", quantity.comparator))
    asked = {word for word in folded if word in ASKING}
    if "how" in asked:
        following = folded[folded.index("how") + 1 : folded.index("how") + 2]
        asked |= {f"how {word}" for word in following if word in QUANTITY_ASKED}
    content = tuple(
        token.stem
        for token in tokens
        if token.word not in STOP_WORDS
        and token.stem not in FRAME_WORDS
        and not token.word[0].isdigit()
        and token.word not in WORD_NUMBERS
    )
    return Meaning(
        negations=len(NEGATION.findall(question)) + sum(token.word in PREFIXED for token in tokens),
        directions=tuple(sorted(directions)),
        numbers=tuple(sorted(numbers)),
        names=frozenset(fold(name) for name in find_entities(question)),
        asking=frozenset(asked),
        relations=tuple(word for word in folded if word in RELATION_WORDS),
        content=content,
        certainty=frozenset(fold(match.group(0)) for match in STRONG_CERTAINTY.finditer(question)),
    )


def mean_the_same(first: str, second: str) -> bool:
    """Tell whether one answer serves both questions, as far as rules can see; a doubt is a no."""
    one, two = meaning_of(first), meaning_of(second)
    if (one.negations, one.directions, one.numbers, one.certainty) != (
        two.negations,
        two.directions,
        two.numbers,
        two.certainty,
    ):
        return False
    if one.names != two.names or one.relations != two.relations or not same_asking(one.asking, two.asking):
        return False
    return same_content(one.content, two.content)


def same_asking(first: frozenset[str], second: frozenset[str]) -> bool:
    """Tell whether two questions ask for the same kind of thing: why is not how, how many is not which."""
    plain = frozenset({"what", "which"})
    one, two = ({("what" if word in plain else word) for word in asked} for asked in (first, second))
    return one == two


def same_content(first: Sequence[str], second: Sequence[str]) -> bool:
    """Tell whether each content word has itself or a synonym on the other side, and shared ones keep their order."""
    for one, two in ((first, second), (second, first)):
        for item in one:
            if item not in two and not any(share_synonym(item, other) for other in two):
                return False
    kept = [item for item in first if item in second and item not in SYNONYMS]
    others = [item for item in second if item in first and item not in SYNONYMS]
    if Counter(kept) != Counter(others):
        return False
    return kept == others


def similarity_of(first: str, second: str, get_embedder: Callable[[], Embedder | None]) -> float | None:
    """Return the cosine of two questions, or None without an embedder."""
    embedder = get_embedder()
    if embedder is None:
        return None
    vectors = embedder.embed_queries([first, second])
    return round(float(vectors[0] @ vectors[1]), 6)


def would_hit(question: str, stored: str, get_embedder: Callable[[], Embedder | None]) -> bool:
    """Tell whether the answer to a stored question would be given to another."""
    if normal_form(question) == normal_form(stored):
        return True
    if not mean_the_same(question, stored):
        return False
    cosine = similarity_of(question, stored, get_embedder)
    return cosine is not None and cosine >= MIN_COSINE


@dataclass(frozen=True)
class CacheHit:
    question: str
    record: AnswerRecord
    similarity: float


class AnswerCache:
    """Lookups and stores within one scope."""

    def __init__(self, store: StateStore, scope: str) -> None:
        self._store = store
        self._scope = scope

    def find(self, question: str, get_embedder: Callable[[], Embedder | None] = lambda: None) -> CacheHit | None:
        """Return the stored answer of the same question, else of the nearest that means the same, or None."""
        rows = self._store.read(
            "SELECT c.question, c.answer_id FROM answer_cache c WHERE c.scope = ? ORDER BY c.question", [self._scope]
        )
        if not rows:
            return None
        wanted = normal_form(question)
        for stored, answer_id in rows:
            if normal_form(stored) == wanted:
                return self._hit(stored, answer_id, 1.0)
        near = [(stored, answer_id) for stored, answer_id in rows if mean_the_same(question, stored)]
        embedder = get_embedder() if near else None
        if embedder is None:
            return None
        vectors = embedder.embed_queries([question, *(stored for stored, _ in near)])
        scored = sorted(
            ((-round(float(vectors[0] @ vectors[index + 1]), 6), pair) for index, pair in enumerate(near)),
        )
        similarity, (stored, answer_id) = scored[0]
        return self._hit(stored, answer_id, -similarity) if -similarity >= MIN_COSINE else None

    def _hit(self, stored: str, answer_id: str, similarity: float) -> CacheHit | None:
        record = self._store.load_answer(answer_id)
        return CacheHit(stored, AnswerRecord.model_validate_json(record), similarity) if record else None

    def put(self, question: str, answer_id: str, created_at: str) -> None:
        """Remember that ``answer_id`` answers ``question``."""
        self._store.write(
            "INSERT OR REPLACE INTO answer_cache VALUES (?, ?, ?, ?)",
            [self._scope, question, answer_id, created_at],
        )
