"""Content words of questions and sentences: folding, stop words, light stems. Used wherever words are compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

WORD = re.compile(r"[^\W_]+(?:[-–‐‑'’.][^\W_]+)*", re.UNICODE)
HYPHENS = str.maketrans({"–": "-", "‐": "-", "‑": "-", "−": "-", "’": "'", "µ": "μ"})
GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "κ": "kappa", "λ": "lambda",
    "μ": "mu", "σ": "sigma", "τ": "tau", "ω": "omega",
}  # fmt: skip


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


STOP_WORDS = word_set(
    """
    a about above across after again against all almost along already also although always am among an and
    another any are around as at be became because been before being below between both but by can cannot could
    did do does doing done down due during each either else ever every few for from further had has have having
    he her here hers him his how however i if in into is it its itself just least less let like made make many
    may me might mine more most much must my near need neither no nor not now of off often on once one only onto
    or other our out over own per perhaps please quite rather really s same say shall she should since so some
    still such t tell than that the their them themselves then there these they thing things this those through
    thus to too toward under until up upon us use used uses using very via was we were what whatever when where
    whether which while who whom whose why will with within without would yet you your explain describe discuss
    give list show summarise summarize overview know known
    """
)
# Words of a question that name no subject: they are no evidence that a corpus is about it.
QUESTION_WORDS = word_set(
    """
    effect effects impact influence role evidence study studies paper papers research result results finding
    findings main key important importance best better good difference differences compare compared comparison
    versus vs way ways mean means many much common possible current recent new different various kind kinds type
    types question answer example examples explain work works happen happens associated association relate
    related relationship affect affects author authors report reported reports find found say says think exist
    exists involve involved play plays cause causes literature according approach approaches issue issues
    problem problems include includes including strong strongly large big high long fast frequent far true actually
    truth fact
    """
)


def fold(text: str) -> str:
    """Return ``text`` case-folded, without accents, with hyphens and micro signs unified. Length may change."""
    decomposed = unicodedata.normalize("NFKD", text.translate(HYPHENS))
    return "".join(ch for ch in decomposed if not unicodedata.combining(ch)).casefold().translate(HYPHENS)


def words(text: str) -> list[str]:
    """Return the folded words of ``text`` in order; hyphenated words stay one word."""
    return WORD.findall(fold(text))


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return a light stem: plural, -ed, -ing, -ly and a few nominal endings go; identifiers with digits stay."""
    if len(word) <= 3 or any(ch.isdigit() for ch in word):
        return word
    for ending, replacement in STEM_RULES:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            base = word[: len(word) - len(ending)] + replacement
            if ending in {"ed", "ing"} and len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz":
                base = base[:-1]
            return base[:-1] if base.endswith("e") and len(base) > 3 else base
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


STEM_RULES = (
    ("ications", "ic"), ("ication", "ic"), ("ations", "at"), ("ation", "at"), ("ative", "at"),
    ("ments", "ment"), ("iveness", "iv"), ("fulness", "ful"), ("ities", "iti"), ("ity", "iti"),
    ("sses", "ss"), ("ies", "y"), ("ied", "y"), ("ally", "al"), ("ously", "ous"), ("ly", ""),
    ("ants", "ant"), ("ances", "anc"), ("ance", "anc"), ("ences", "enc"), ("ence", "enc"),
    ("tions", "t"), ("tion", "t"), ("ings", ""), ("ing", ""), ("ates", "at"), ("ated", "at"), ("ate", "at"),
    ("ed", ""), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("us", "us"), ("ss", "ss"), ("is", "is"), ("s", ""),
)  # fmt: skip


def content_words(text: str) -> list[str]:
    """Return the folded words that carry meaning, in order, duplicates kept."""
    return [word for word in words(text) if word not in STOP_WORDS and (len(word) > 1 or not word.isascii())]


def content_stems(text: str) -> list[str]:
    """Return stems of the content words; a hyphenated word gives its parts too."""
    return list(_content_stems(text))


@lru_cache(maxsize=4096)
def _content_stems(text: str) -> tuple[str, ...]:
    found: list[str] = []
    for word in content_words(text):
        found.append(stem(word))
        if "-" in word:
            found.extend(stem(part) for part in word.split("-") if len(part) > 1 and part not in STOP_WORDS)
    return tuple(found)


def subject_words(question: str) -> list[str]:
    """Return the content words of a question that name its subject, in order, without repeats."""
    seen: dict[str, None] = {}
    for word in content_words(question):
        if word not in QUESTION_WORDS:
            seen.setdefault(word, None)
    return list(seen)


def overlap(a: Iterable[str], b: Iterable[str]) -> float:
    """Return the Jaccard overlap of two collections of terms, 0 when both are empty."""
    first, second = set(a), set(b)
    return len(first & second) / len(first | second) if first | second else 0.0


def count_words(text: str) -> int:
    """Return the number of white-space separated pieces, heading and list marks included: the strictest count."""
    return len(text.split())


def clip_words(text: str, limit: int) -> str:
    """Return at most ``limit`` words of ``text``, with an ellipsis when some were cut."""
    parts = text.split()
    return text if len(parts) <= limit else " ".join(parts[:limit]).rstrip(",;:") + "…"
