"""Stances of the evidence, and what the papers agree or really split on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Literal

from corpus_assets.model import PaperRecord
from retrieval.counter_evidence import as_statement
from retrieval.llm.quotes import locate_quote
from retrieval.passages import Candidate, Sentence, SentenceReader
from retrieval.plan import Plan
from retrieval.rerank import max_blend
from retrieval.stance import Opposition, StanceModel, find_opposition, rule_stance
from retrieval.terms import STOP_WORDS, WORD, clip_words, fold

if TYPE_CHECKING:
    from retrieval.stance import Stance

MAX_SENTENCES = 4  # of a passage that are compared with those of others
MIN_RELEVANT = 0.42  # blend of cosine and coverage under which a sentence does not take part in a split
MAX_SPLITS = 2
MAX_SIDE_WORDS = 50  # of a side's sentence: both sides must fit in the shortest mode
RULES_NOTE = "Found by rules, not by a judge; check both quotes."


@dataclass(frozen=True)
class Side:
    """One side of a split: what it holds, and the sentence that says so."""

    position: str
    sentence: Sentence


@dataclass(frozen=True)
class ThemeSplit:
    """A disagreement of distinct, non-retracted papers about one outcome."""

    label: str
    sides: tuple[Side, ...]
    basis: str
    is_verdict: bool = False
    note: str = ""


@dataclass(frozen=True)
class Theme:
    """What one sub-question's evidence amounts to; ``kind`` "mixed" means: it depends, see the condition."""

    label: str
    kind: Literal["agreement", "mixed", "split"]
    paper_ids: tuple[str, ...]
    condition: str = ""


@dataclass(frozen=True)
class Themes:
    """``checks`` are pairs that rules find suspicious but that are no split: numbers apart, or other conditions."""

    themes: tuple[Theme, ...] = ()
    splits: tuple[ThemeSplit, ...] = ()
    checks: tuple[tuple[Sentence, Sentence, str], ...] = ()


def judge_stances(
    plan: Plan,
    evidence: Sequence[Candidate],
    sentences: Mapping[str, Sequence[Sentence]],
    stance_model: StanceModel | None,
) -> tuple[Candidate, ...]:
    """Return the evidence with stances on the question's claim; neutral throughout when it makes none."""
    if not plan.is_claim:
        return tuple(evidence)
    claim = as_statement(plan.question)
    if stance_model is not None:
        verdicts = stance_model.judge(claim, [item.chunk.text for item in evidence])
        return tuple(
            replace(item, stance=v.label, stance_reason=v.reason, stance_is_verdict=v.is_verdict, stance_quote=v.quote)
            for item, v in zip(evidence, verdicts, strict=True)
        )
    judged = []
    for item in evidence:
        stances = [rule_stance(claim, s.text) for s in best_sentences(sentences.get(item.chunk_id, ()))]
        found: Stance | None = next((s for s in stances if s.label != "neutral"), None)
        judged.append(replace(item, stance=found.label, stance_reason=found.reason) if found else item)
    return tuple(judged)


def find_themes(
    plan: Plan,
    evidence: Sequence[Candidate],
    sentences: Mapping[str, Sequence[Sentence]],
    papers: Mapping[str, PaperRecord],
    reader: SentenceReader,
    *,
    is_judged: bool = False,
) -> Themes:
    """Return what the evidence agrees and splits on. Retracted papers and reports of others' work take no side.

    Once a judge has read the passages (``is_judged``), rules add no disagreement of their own.
    """
    standing = [item for item in evidence if is_standing(papers.get(item.paper_id))]
    if is_judged or any(item.stance_is_verdict for item in standing):
        splits = verdict_splits(plan, standing, sentences, reader)
        checks: list[tuple[Sentence, Sentence, str]] = []
    else:
        splits, checks = rule_splits(standing, sentences)
    themes = tuple(theme_of(plan, index, standing, splits, checks) for index in range(len(plan.sub_queries)))
    return Themes(themes, tuple(splits[:MAX_SPLITS]), tuple(checks[:MAX_SPLITS]))


def is_standing(paper: PaperRecord | None) -> bool:
    """Tell whether a paper's word counts in a disagreement."""
    return paper is not None and paper.retraction not in {"retraction", "expression_of_concern"}


def verdict_splits(
    plan: Plan,
    evidence: Sequence[Candidate],
    sentences: Mapping[str, Sequence[Sentence]],
    reader: SentenceReader,
) -> list[ThemeSplit]:
    """Return the split that verdicts make: two distinct papers, one for and one against, each with a quote."""
    sides: dict[str, list[Side]] = {"supports": [], "contradicts": []}
    for item in evidence:
        if item.stance_is_verdict and item.stance in sides:
            sentence = quote_for(item, sentences, reader)
            if sentence is not None:
                position = "For" if item.stance == "supports" else "Against"
                sides[item.stance].append(Side(position, sentence))
    for side in sides["supports"]:
        for other in sides["contradicts"]:
            if side.sentence.paper_id != other.sentence.paper_id:
                label = clip_words(as_statement(plan.question), 14)
                return [
                    ThemeSplit(
                        label[:1].upper() + label[1:], (side, other), "verdicts on the passages", is_verdict=True
                    )
                ]
    return []


def quote_for(item: Candidate, sentences: Mapping[str, Sequence[Sentence]], reader: SentenceReader) -> Sentence | None:
    """Return the sentence that decided the stance, where the judge quoted it, else the passage's best one.

    When none reads well enough to be quoted it is the passage's first undamaged whole sentence.
    """
    if item.stance_quote:
        found = locate_quote(item.chunk, item.stance_quote, reader, sentences.get(item.chunk_id, ()))
        return found[0] if found else None
    best = best_sentences(sentences.get(item.chunk_id, ()))
    best = [sentence for sentence in best if sentence.num_words <= MAX_SIDE_WORDS] or best
    return best[0] if best else reader.any_sentence(item.chunk)


def rule_splits(
    evidence: Sequence[Candidate], sentences: Mapping[str, Sequence[Sentence]]
) -> tuple[list[ThemeSplit], list[tuple[Sentence, Sentence, str]]]:
    """Return splits that rules find between two papers' sentences, and pairs with numbers apart to be checked."""
    pool = [
        sentence
        for item in evidence
        for sentence in best_sentences(sentences.get(item.chunk_id, ()))
        if not sentence.is_reported and sentence.num_words <= MAX_SIDE_WORDS and max_blend(sentence) >= MIN_RELEVANT
    ]
    splits: list[ThemeSplit] = []
    checks: list[tuple[Sentence, Sentence, str]] = []
    used: set[frozenset[str]] = set()
    for index, first in enumerate(pool):
        for second in pool[index + 1 :]:
            pair = frozenset({first.paper_id, second.paper_id})
            if len(pair) < 2 or pair in used:
                continue
            found = find_opposition(first.text, second.text)
            if found is None:
                continue
            used.add(pair)
            if found.kind == "numbers":
                checks.append((first, second, found.reason))
            else:
                splits.append(split_from(first, second, found))
    return splits, checks


def split_from(first: Sentence, second: Sentence, found: Opposition) -> ThemeSplit:
    """Return a split of two sentences, the side that states the effect first."""
    sides = (Side(found.first_position, first), Side(found.second_position, second))
    if found.first_position == "Against":
        sides = (sides[1], sides[0])
    return ThemeSplit(
        common_phrases(first.text, second.text) or "On " + " ".join(found.shared[:6]),
        sides,
        f"explicit opposite statements ({found.reason}); found by rules",
        note=RULES_NOTE,
    )


def common_phrases(first: str, second: str) -> str:
    """Return up to two runs of words that stand in both sentences, longest first, in the first one's spelling."""
    mine, theirs = WORD.findall(first), [fold(word) for word in WORD.findall(second)]
    blocks = SequenceMatcher(None, [fold(word) for word in mine], theirs, autojunk=False).get_matching_blocks()
    runs = []
    for block in blocks:
        run = mine[block.a : block.a + block.size]
        while run and fold(run[0]) in STOP_WORDS:
            run = run[1:]
        while run and fold(run[-1]) in STOP_WORDS:
            run = run[:-1]
        if run and any(len(word) > 3 and not word[0].isdigit() for word in run) and not run[0][0].isdigit():
            runs.append((-len(run), block.a, " ".join(run)))
    chosen = sorted(sorted(runs)[:2], key=lambda item: item[1])
    label = ", ".join(text for _, _, text in chosen)
    return label[:1].upper() + label[1:] if label[:1].islower() and label.split()[0].islower() else label


def theme_of(
    plan: Plan,
    index: int,
    evidence: Sequence[Candidate],
    splits: Sequence[ThemeSplit],
    checks: Sequence[tuple[Sentence, Sentence, str]],
) -> Theme:
    """Return a sub-question's theme: split, mixed, or agreement (of what was found)."""
    papers = tuple(dict.fromkeys(item.paper_id for item in evidence if index in item.sub_queries))
    in_split = {side.sentence.paper_id for split in splits for side in split.sides}
    apart = {sentence.paper_id for first, second, _ in checks for sentence in (first, second)}
    label = plan.sub_queries[index].label
    if in_split & set(papers):
        return Theme(label, "split", papers)
    if apart & set(papers):
        return Theme(label, "mixed", papers, "numbers differ between papers, perhaps with their conditions")
    return Theme(label, "agreement", papers)


def best_sentences(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Return a passage's sentences that are most about the question, best first."""
    return sorted(sentences, key=lambda item: (-item.score, item.key))[:MAX_SENTENCES]
