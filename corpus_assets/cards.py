"""Summary cards. Without a model a card is extractive: whole sentences of the paper, chosen and never reworded."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from corpus_assets.model import Card, PaperMetadata, ParsedPaper, Section, SectionKind
from corpus_assets.sentences import split_sentences
from corpus_assets.settings import CardSettings

CARDS_VERSION = "1"

_WORD = re.compile(r"[^\W_][\w-]+")
_MIN_WORDS, _MAX_WORDS = 6, 60
_MAX_FINDINGS, _MAX_LIMITATIONS = 4, 3
_MAX_CANDIDATES = 400  # sentences of the body looked at; bounds the cost of a thesis

_METHOD = re.compile(
    r"\b(we (?:used|conducted|performed|enrolled|analy[sz]ed|measured|propose|introduce|present|develop\w*|trained"
    r"|compared|collected|randomi[sz]ed|searched)"
    r"|were (?:randomi[sz]ed|enrolled|collected|sequenced|measured|recruited)"
    r"|this (?:study|trial|review|work|paper) (?:uses|used|is|was|presents|describes)|using an?)\b",
    re.IGNORECASE,
)
_FINDING = re.compile(
    r"\b(we (?:found|show|showed|observed|demonstrate\w*|report|identified)|results? (?:show|suggest|indicate)\w*"
    r"|was associated|were associated|increased|decreased|improved|reduced|outperform\w*|higher|lower|significant\w*"
    r"|median|hazard ratio|compared with)\b",
    re.IGNORECASE,
)
_LIMITATION = re.compile(
    r"\b(limitation|limited by|small (?:sample|number|cohort)|retrospective|single[- ]cent(?:re|er)|caution"
    r"|not (?:generali[sz]e|powered)|future work|did not (?:assess|measure|evaluate)"
    r"|further (?:studies|research|work))\b",
    re.IGNORECASE,
)
_SKIPPED = {SectionKind.REFERENCES, SectionKind.ACKNOWLEDGEMENTS, SectionKind.FRONT}


def write_card(paper_id: str, metadata: PaperMetadata, parsed: ParsedPaper, settings: CardSettings) -> Card:
    """Write a card from the paper's own sentences, the abstract's where there is one.

    The summary holds the sentences with most of the words that recur in the paper, in the paper's order.
    """
    body = _sentences(parsed, [s for s in parsed.sections if s.kind not in _SKIPPED])
    if not body:  # a poster or a note without headings: everything is "front"
        body = _sentences(parsed, [s for s in parsed.sections if s.kind is not SectionKind.REFERENCES])
    abstract = _sentences(parsed, _of_kind(parsed, SectionKind.ABSTRACT))
    pool = abstract if len(abstract) >= 2 else body[:40]
    results = _sentences(parsed, _of_kind(parsed, SectionKind.RESULTS, SectionKind.CONCLUSION, SectionKind.DISCUSSION))
    limits = _sentences(parsed, _of_kind(parsed, SectionKind.LIMITATIONS))
    methods = _sentences(parsed, _of_kind(parsed, SectionKind.METHODS))
    method = _matching([*abstract, *methods, *body], _METHOD, 1)
    findings = _matching([*abstract, *results], _FINDING, _MAX_FINDINGS)
    return Card(
        paper_id=paper_id,
        title=metadata.title,
        summary=" ".join(_central(pool, body, settings.summary_sentences)),
        method=method[0] if method else "",
        findings=tuple(findings),
        limitations=tuple(limits[:_MAX_LIMITATIONS] or _matching(body, _LIMITATION, _MAX_LIMITATIONS)),
    )


def card_text(card: Card) -> str:
    """Return what is embedded of a card."""
    return f"{card.title}\n{card.summary}".strip()


def _of_kind(parsed: ParsedPaper, *kinds: SectionKind) -> list[Section]:
    return [section for section in parsed.sections if section.kind in kinds]


def _sentences(parsed: ParsedPaper, sections: Sequence[Section]) -> list[str]:
    found: list[str] = []
    for section in sections:
        text = parsed.text[section.char_start : section.char_end]
        for start, end in split_sentences(text):
            sentence = text[start:end]
            if (
                _MIN_WORDS <= len(sentence.split()) <= _MAX_WORDS
                and "\ufffd" not in sentence
                and "\n\n" not in sentence
            ):
                found.append(" ".join(sentence.split()))
            if len(found) >= _MAX_CANDIDATES:
                return found
    return found


def _matching(sentences: Sequence[str], pattern: re.Pattern[str], limit: int) -> list[str]:
    found = [sentence for sentence in dict.fromkeys(sentences) if pattern.search(sentence)]
    return found[:limit]


def _central(pool: Sequence[str], body: Sequence[str], limit: int) -> list[str]:
    """Return the ``limit`` sentences of ``pool`` that say most of what the paper keeps saying, in their own order."""
    profile: Counter[str] = Counter(word for sentence in (*pool, *body) for word in _content_words(sentence))

    def weight(sentence: str) -> float:
        words = set(_content_words(sentence))
        return sum(math.log(profile[word]) for word in words) / math.sqrt(len(words) + 5.0)

    ranked = sorted(range(len(pool)), key=lambda i: (-weight(pool[i]), i))
    return [pool[i] for i in sorted(ranked[:limit])]


def _content_words(sentence: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(sentence) if len(word) > 3 or not word.islower()]
