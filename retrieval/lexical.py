"""The full-text leg: BM25 over chunks, with what a paper is known by (title, authors, year, DOI) beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from corpus_assets.errors import BadInputError
from corpus_assets.folding import fold_for_search
from corpus_assets.fts import ANY_RETRIEVABLE, ChunkFilter, LexicalHit, Scores, score_terms, tokenize
from retrieval.corpus import Corpus

# Names of Greek letters and single characters name things, they do not describe them.
_GREEK = frozenset(fold_for_search("α β γ δ ε ζ η θ ι κ λ μ ν ξ ο π ρ σ τ υ φ χ ψ ω").split())
_PLAIN_WORD = re.compile(r"[^\W\d_]{3,}")
_LATIN_OR_GREEK = re.compile("[A-Za-z\u00c0-\u024f\u0370-\u03ff\u1e00-\u1fff]")


def query_terms(query: str) -> list[str]:
    """Return the question's terms; raise BadInputError if it has none (empty, only punctuation)."""
    terms = tokenize(query)
    if not terms:
        shown = " ".join(query.split())[:60]
        raise BadInputError(
            f"There is nothing to search for in {shown!r}." if shown else "The question is empty.",
            hint="Ask with at least one word, number or identifier.",
        )
    return terms


def score(
    corpus: Corpus, terms: Sequence[str], allowed: ChunkFilter = ANY_RETRIEVABLE, *, paper_weight: float = 0.0
) -> Scores:
    """Score the corpus for a question's terms, each weighing the same."""
    segments = [segment.fts for segment in corpus.segments]
    return score_terms(segments, dict.fromkeys(terms, 1.0), allowed, paper_weight)


def search(
    corpus: Corpus, query: str, k: int, allowed: ChunkFilter = ANY_RETRIEVABLE, *, paper_weight: float = 0.0
) -> list[LexicalHit]:
    """Return the best ``k`` chunks by BM25; score first, then chunk id. Raises BadInputError for an empty question."""
    return score(corpus, query_terms(query), allowed, paper_weight=paper_weight).top(k)


def is_identifiers_only(query: str) -> bool:
    """Tell whether a question names something (T790M, β, a DOI, a number) and describes nothing."""
    if "10." in query and re.search(r"10\.\d{4,9}/\S+", query):
        query = re.sub(r"\S*10\.\d{4,9}/\S+", " ", query)
    words = [
        token
        for run in query.split()
        if not any(char.isdigit() or "\u0370" <= char <= "\u03ff" for char in run)
        for token in fold_for_search(run, is_query=True).split()
    ]
    return not any(_PLAIN_WORD.fullmatch(word) and word not in _GREEK for word in words)


def is_one_word(query: str) -> bool:
    """Tell whether a question is a single word."""
    return len(query.split()) == 1


def is_foreign_script(query: str) -> bool:
    """Tell whether most letters of a question are of a script an English model has not learnt."""
    letters = [char for char in query if char.isalpha()]
    return bool(letters) and sum(bool(_LATIN_OR_GREEK.match(char)) for char in letters) * 2 < len(letters)
