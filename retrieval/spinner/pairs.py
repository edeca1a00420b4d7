"""Which papers could be joined: cards of different clusters that name the same thing, or a gap one of them may fill."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from corpus_assets.model import Card, ClusterMap, PaperRecord
from corpus_assets.sentences import split_sentences
from retrieval.claims.check import find_entities
from retrieval.claims.synonyms import LIGHT_WORDS
from retrieval.passages import FRAMING, STRUCTURE_TALK, is_reported_by_others
from retrieval.terms import QUESTION_WORDS, STOP_WORDS, WORD, fold, stem, word_set, words
from retrieval.writing.ideas import GENERIC

Bond = Literal["entity", "gap"]
MAX_SHARE = 0.25  # of the papers a name may stand in and still say something
MIN_GAP_STEMS = 3  # content words a limitation and a finding must share
MAX_GAP_SHARE = 0.1  # of the cards a word may stand in and still say what a gap is about
MIN_GAP_LETTERS = 5
GENERIC_NAMES = word_set(
    """
    ci hr or rr sd se usa uk eu us nih doi pdf isbn ii iii iv table figure section appendix january february march april
    may june july august september october november december et al url http https www dna rna who
    """
)


@dataclass(frozen=True)
class Premise:
    """A sentence of a card, with the paper it is said to stand in."""

    paper_id: str
    text: str


@dataclass(frozen=True)
class PaperPair:
    """Two papers, what joins them, and the sentence of each that speaks of it; ``weight`` orders pairs."""

    bond: Bond
    shared: tuple[str, ...]
    first: Premise
    second: Premise
    weight: float


def find_pairs(
    cards: Mapping[str, Card], clusters: ClusterMap, papers: Mapping[str, PaperRecord], limit: int
) -> list[PaperPair]:
    """Return at most ``limit`` pairs, one of each two papers, the rarest bond first. Retracted papers join nothing."""
    usable = {
        paper_id: card
        for paper_id, card in sorted(cards.items())
        if paper_id in papers and papers[paper_id].is_served and not papers[paper_id].retraction
    }
    best: dict[frozenset[str], PaperPair] = {}
    for pair in [*entity_pairs(usable, clusters), *gap_pairs(usable, clusters)]:
        key = frozenset({pair.first.paper_id, pair.second.paper_id})
        if key not in best or pair.weight > best[key].weight:
            best[key] = pair
    ranked = sorted(best.values(), key=lambda pair: (-pair.weight, pair.first.paper_id, pair.second.paper_id))
    return ranked[:limit]


def entity_pairs(cards: Mapping[str, Card], clusters: ClusterMap) -> Iterator[PaperPair]:
    """Yield pairs whose cards name the same thing in a sentence each."""
    holders: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)  # folded name -> paper -> (name, sentence)
    for paper_id, card in cards.items():
        for sentence in card_sentences(card):
            for name in find_entities(sentence):
                folded = fold(name)
                if len(folded) > 1 and folded not in GENERIC_NAMES:
                    holders[folded].setdefault(paper_id, (name, sentence))
    most = max(3, math.floor(MAX_SHARE * len(cards)))
    plain = {word for card in cards.values() for word in WORD.findall(whole_text(card)) if word.islower()}
    for name, found in sorted(holders.items()):
        is_word = name in plain and all(spelt[1:].islower() for spelt, _ in found.values())  # "Data" and "data"
        if not 2 <= len(found) <= most or (is_word and any(spelt[0].isupper() for spelt, _ in found.values())):
            continue
        weight = math.log(len(cards) / len(found)) + (0.5 if any(ch.isdigit() for ch in name) else 0.0)
        for one, two in combinations(sorted(found), 2):
            if are_apart(one, two, clusters):
                yield PaperPair(
                    "entity", (found[one][0],), Premise(one, found[one][1]), Premise(two, found[two][1]), weight
                )


def gap_pairs(cards: Mapping[str, Card], clusters: ClusterMap) -> Iterator[PaperPair]:
    """Yield pairs in which one paper's limitation and another's finding speak of the same things."""
    frequency: dict[str, int] = defaultdict(int)
    for card in cards.values():
        for item in telling_stems(whole_text(card)):
            frequency[item] += 1
    most = max(2, math.floor(MAX_GAP_SHARE * len(cards)))
    finding_stems = {
        paper_id: [(finding, telling_stems(finding)) for finding in card_sentences(card)]
        for paper_id, card in cards.items()
    }
    for paper_id, card in cards.items():
        for limitation in card.limitations:
            wanted = {item for item in telling_stems(limitation) if frequency[item] <= most}
            for other, found in finding_stems.items():
                if other == paper_id or not are_apart(paper_id, other, clusters):
                    continue
                for finding, stems in found:
                    shared = sorted(wanted & stems)
                    if len(shared) >= MIN_GAP_STEMS:
                        weight = sum(math.log(len(cards) / frequency[item]) for item in shared) / 2
                        yield PaperPair(
                            "gap", tuple(shared), Premise(paper_id, limitation), Premise(other, finding), weight
                        )


def are_apart(one: str, two: str, clusters: ClusterMap) -> bool:
    """Tell whether two papers stand in different clusters."""
    assigned = clusters.assignments
    return one in assigned and two in assigned and assigned[one] != assigned[two]


def whole_text(card: Card) -> str:
    """Return all a card says."""
    return " ".join((card.title, card.summary, card.method, *card.findings, *card.limitations))


def telling_stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that can say what it is about."""
    return frozenset(
        stem(word)
        for word in words(text)
        if len(word) >= MIN_GAP_LETTERS
        and word.isalpha()
        and word not in STOP_WORDS
        and word not in QUESTION_WORDS
        and stem(word) not in GENERIC
        and stem(word) not in LIGHT_WORDS
    )


def card_sentences(card: Card) -> Sequence[str]:
    """Return a card's own findings, then its summary's sentences; what reports others' work or only announces goes."""
    summary = [card.summary[start:end] for start, end in split_sentences(card.summary)]
    found = dict.fromkeys(re.sub(r"\s+", " ", text).strip() for text in (*card.findings, *summary))
    return [
        text
        for text in found
        if text and not (is_reported_by_others(text) or FRAMING.search(text) or STRUCTURE_TALK.search(text))
    ]
