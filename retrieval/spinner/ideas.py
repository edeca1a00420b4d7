"""Spin ideas from a generation: pairs from the cards, proposals, and a verifier that reads the passages themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

from corpus_assets.errors import StoreError
from corpus_assets.settings import fingerprint
from retrieval.answer import Citation
from retrieval.citations import bind_citation
from retrieval.claims.check import entity_forms, find_entities
from retrieval.llm.branches import attempt
from retrieval.llm.spinning import propose_with_model
from retrieval.passages import Sentence, SentenceReader
from retrieval.spinner.pairs import PaperPair, Premise, find_pairs, telling_stems
from retrieval.stance import find_opposition
from retrieval.terms import WORD, clip_words, fold, stem
from retrieval.writing.ideas import join_terms

if TYPE_CHECKING:
    from corpus_assets.store.generation import Generation
    from retrieval.llm.protocol import LanguageModel

FOLDER = "ideas"  # of the home: one file a generation
NUM_IDEAS = 12
PAIRS_AN_IDEA = 6  # pairs looked at for each idea wanted
MAX_OF_ONE_BOND = 2
MAX_OF_ONE_PAPER = 3
MIN_SHARED_STEMS = 2  # of a gap, that the passages themselves must share


class Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Idea(Form):
    """A hypothesis that joins two papers. The premises are quotes; the idea itself is nobody's finding."""

    idea_id: str
    label: Literal["Hypothesis"] = "Hypothesis"
    bond: Literal["entity", "gap"]
    shared: tuple[str, ...] = Field(description="What joins the two papers.")
    text: str
    test: str = Field(description="How one could find out.")
    premises: tuple[Citation, Citation]
    clusters: tuple[str, str] = Field(description="Labels of the two papers' clusters.")


class DroppedIdea(Form):
    """A proposal whose passages did not bear it out."""

    paper_ids: tuple[str, str]
    bond: Literal["entity", "gap"]
    shared: tuple[str, ...]
    reason: str


class IdeaReport(Form):
    """What was kept and dropped on one generation, and who wrote the ideas."""

    generation: str
    writer: str
    ideas: tuple[Idea, ...]
    dropped: tuple[DroppedIdea, ...]
    num_pairs: int
    degraded: tuple[str, ...] = ()


def spin_ideas(generation: Generation, *, model: LanguageModel | None = None, limit: int = NUM_IDEAS) -> IdeaReport:
    """Return at most ``limit`` ideas that their passages bear out, the rarest bonds first."""
    pairs = find_pairs(generation.cards, generation.clusters, generation.papers, limit * PAIRS_AN_IDEA)
    reader = SentenceReader(generation)
    kept: list[Idea] = []
    dropped: list[DroppedIdea] = []
    degraded: list[str] = []
    num_used: Counter[object] = Counter()
    for pair in pairs:
        if len(kept) >= limit:
            break
        ids = (pair.first.paper_id, pair.second.paper_id)
        if num_used[pair.shared] >= MAX_OF_ONE_BOND or any(num_used[paper_id] >= MAX_OF_ONE_PAPER for paper_id in ids):
            continue
        checked = verify_pair(pair, generation, reader)
        if isinstance(checked, str):
            dropped.append(DroppedIdea(paper_ids=ids, bond=pair.bond, shared=pair.shared, reason=checked))
            continue
        sentences, citations = checked
        text, test = propose(pair, sentences, generation)
        if model is not None:
            quotes = (citations[0].quote, citations[1].quote)
            written, notes = attempt("ideas", partial(propose_with_model, model, quotes), "Worded by rules.")
            degraded.extend(notes)
            if written is not None and written.problem:
                dropped.append(DroppedIdea(paper_ids=ids, bond=pair.bond, shared=pair.shared, reason=written.problem))
                continue
            if written is not None:
                text, test = written.idea, written.test
        num_used.update([pair.shared, *ids])
        kept.append(make_idea(pair, text, test, citations, generation))
    return IdeaReport(
        generation=generation.id,
        writer=model.name if model else "extractive",
        ideas=tuple(kept),
        dropped=tuple(dropped),
        num_pairs=len(pairs),
        degraded=tuple(dict.fromkeys(degraded)),
    )


def verify_pair(
    pair: PaperPair, generation: Generation, reader: SentenceReader
) -> tuple[tuple[Sentence, Sentence], tuple[Citation, Citation]] | str:
    """Return the sentences of the papers that bear a pair out, bound to quotes; or why they do not."""
    found: list[Sentence] = []
    for premise in (pair.first, pair.second):
        sentence = find_sentence(premise, generation, reader)
        if sentence is None:
            return f"no passage of {premise.paper_id} holds the sentence its card gives"
        if sentence.is_reported:
            return f"{premise.paper_id} only reports what others found"
        found.append(sentence)
    first, second = found
    if pair.bond == "entity":
        for sentence in found:
            if not {fold(pair.shared[0]), fold(pair.shared[0]).replace("-", "")} & entity_forms(sentence.text):
                return f"the passage of {sentence.paper_id} does not name {pair.shared[0]}"
    elif len(telling_stems(first.text) & telling_stems(second.text)) < MIN_SHARED_STEMS:
        return "the passages do not speak of the same things"
    opposed = find_opposition(first.text, second.text)
    if opposed is not None:
        return f"the passages may disagree ({opposed.reason}): a split, not a combination"
    bound = [bind_citation(sentence, generation, reader) for sentence in found]
    if bound[0] is None or bound[1] is None:
        return "a passage could not be bound to its paper"
    numbered = (bound[0].model_copy(update={"n": 1}), bound[1].model_copy(update={"n": 2}))
    return (first, second), numbered


def find_sentence(premise: Premise, generation: Generation, reader: SentenceReader) -> Sentence | None:
    """Return the whole quotable sentence of the paper that is a card's sentence, spacing aside."""
    wanted = squeeze(premise.text)
    for chunk in generation.chunks_of(premise.paper_id):
        if not chunk.is_retrievable:
            continue
        for sentence in reader.sentences(chunk):
            if squeeze(sentence.text) == wanted:
                return sentence
    return None


def squeeze(text: str) -> str:
    """Return text without any space."""
    return "".join(text.split())


def propose(pair: PaperPair, sentences: tuple[Sentence, Sentence], generation: Generation) -> tuple[str, str]:
    """Return an idea and its test, worded from what the two passages name and nothing else."""
    first, second = sentences
    titles = [f"“{clip_words(generation.papers[item.paper_id].label, 10)}”" for item in sentences]
    own = [names_of(first, second), names_of(second, first)]
    if pair.bond == "gap":
        words = join_terms(spelt(pair.shared, first))
        text = f"{titles[0]} leaves something open on {words}; {titles[1]}, from another field, may help with it."
        return (
            text,
            "Read both passages in full, and see whether the second one's setting fits the first one's question.",
        )
    subject = join_terms(pair.shared)
    text = f"Both name {subject}. Yes, and: what {titles[0]} states of it may bear on what {titles[1]} states of it."
    if all(own):
        test = f"Test: look at {join_terms(own[0])} and {join_terms(own[1])} together, where {subject} is present."
    else:
        test = f"Test: repeat what the first paper did with {subject} in the setting of the second."
    return text, test


def names_of(sentence: Sentence, other: Sentence) -> list[str]:
    """Return up to two names that a sentence holds and the other lacks."""
    absent = entity_forms(other.text)
    return [name for name in find_entities(sentence.text) if fold(name) not in absent][:2]


def spelt(stems: Sequence[str], sentence: Sentence) -> list[str]:
    """Return up to three words of a sentence that have one of the stems, as they stand in it."""
    found = {stem(fold(word)): word for word in reversed(WORD.findall(sentence.text)) if stem(fold(word)) in stems}
    return list(reversed(found.values()))[:3]


def make_idea(
    pair: PaperPair, text: str, test: str, citations: tuple[Citation, Citation], generation: Generation
) -> Idea:
    """Return an idea with its id and the labels of its papers' clusters."""
    assigned, labels = generation.clusters.assignments, generation.clusters.labels
    ids = (citations[0].paper_id, citations[1].paper_id)
    return Idea(
        idea_id=fingerprint([generation.id, ids, pair.bond, pair.shared]),
        bond=pair.bond,
        shared=pair.shared,
        text=text,
        test=test,
        premises=citations,
        clusters=(labels.get(assigned[ids[0]], ""), labels.get(assigned[ids[1]], "")),
    )


def save_ideas(home: Path, report: IdeaReport) -> Path:
    """Write a report to the home, under its generation's id."""
    from corpus_assets.store.atomic import write_atomic

    path = home / FOLDER / f"{report.generation}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, report.model_dump_json(indent=1) + "\n")
    return path


def load_ideas(home: Path, generation_id: str) -> IdeaReport | None:
    """Return the stored report on a generation, or None. Raises StoreError for a damaged one."""
    path = home / FOLDER / f"{generation_id}.json"
    if not path.is_file():
        return None
    try:
        return IdeaReport.model_validate_json(path.read_text("utf-8"))
    except ValueError as error:
        raise StoreError(f"{path} is damaged.", hint="Run `research-copilot ideas --again`.") from error


def ideas_markdown(ideas: Sequence[Idea]) -> str:
    """Return ideas with their passages as Markdown, everything from papers escaped."""
    from retrieval.writing.escape import display_sentence, escape_markdown

    parts = []
    for number, idea in enumerate(ideas, start=1):
        lines = [f"{number}. **{idea.label}.** {escape_markdown(idea.text)} {escape_markdown(idea.test)}"]
        lines += [
            f"   - {escape_markdown(clip_words(premise.title, 14))}, p. {premise.pages or '?'}: "
            f"“{escape_markdown(display_sentence(premise.quote))}”"
            for premise in idea.premises
        ]
        parts.append("\n".join(lines))
    return "\n".join(parts) + "\n" if parts else "No idea was borne out by the passages.\n"
