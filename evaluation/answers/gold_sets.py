"""Questions with passages whose stance is known: from judged claims, and a built-in set that needs no data."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from corpus_assets.errors import BadInputError
from evaluation.answers.claim_edits import Part, SourceText, part_of

Label = Literal["supports", "contradicts", "neutral"]
LABELS: dict[str, Label] = {"SUPPORT": "supports", "CONTRADICT": "contradicts", "NEUTRAL": "neutral"}
MIN_PASSAGE_WORDS = 8
MAX_PASSAGES = 3


@dataclass(frozen=True)
class Passage:
    """A text of one paper with its stance on the claim."""

    text: str
    label: Label


@dataclass(frozen=True)
class GoldSet:
    """A claim, asked as a question, with the passages of the papers that speak of it."""

    set_id: str
    claim: str
    passages: tuple[Passage, ...]
    source: str

    @property
    def question(self) -> str:
        first = self.claim[:1]
        body = self.claim if self.claim[1:2].isupper() else first.lower() + self.claim[1:]
        return f"Is it true that {body.strip().rstrip('.')}?"

    @property
    def labels(self) -> set[Label]:
        return {passage.label for passage in self.passages}

    @property
    def is_split(self) -> bool:
        return {"supports", "contradicts"} <= self.labels


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a JSON-lines file. Raises BadInputError naming the line."""
    if not path.is_file():
        raise BadInputError(f"{path} is missing.", hint="Name the data folder, or leave --data out.")
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                try:
                    yield dict(json.loads(line))
                except (ValueError, TypeError) as error:
                    raise BadInputError(f"{path}, line {number}: not a JSON object.") from error


def abstracts_of(data: Path) -> list[SourceText]:
    """Return SciFact's abstracts as source texts."""
    rows = read_rows(data / "claims" / "scifact" / "corpus_sentences.jsonl")
    return [SourceText(str(row["doc_id"]), tuple(row["abstract"])) for row in rows]


def healthver_sets(data: Path, part: Part) -> list[GoldSet]:
    """Return HealthVer's claims with all their evidence; its dev file is the dev part, its test file the test part."""
    grouped: dict[str, list[Passage]] = defaultdict(list)
    for row in read_rows(data / "claims" / "healthver" / f"healthver_{part}.jsonl"):
        text = " ".join(str(row["evidence"]).split())
        passage = Passage(text, LABELS[row["label"]])
        claim = " ".join(str(row["claim"]).split())
        if len(text.split()) >= MIN_PASSAGE_WORDS and text not in {item.text for item in grouped[claim]}:
            grouped[claim].append(passage)
    return [
        GoldSet(f"healthver-{part}-{number}", claim, tuple(passages), "healthver")
        for number, (claim, passages) in enumerate(grouped.items())
        if passages
    ]


def covidfact_sets(data: Path, part: Part) -> list[GoldSet]:
    """Return CovidFact's supported claims with two and more evidence sentences, which agree by construction."""
    found = []
    for row in read_rows(data / "claims" / "covidfact" / "covidfact.jsonl"):
        set_id = f"covidfact-{row['id']}"
        texts = list(dict.fromkeys(" ".join(str(text).split()) for text in row["evidence"]))
        texts = [text for text in texts if len(text.split()) >= MIN_PASSAGE_WORDS][:MAX_PASSAGES]
        if row["label"] == "SUPPORT" and len(texts) >= 2 and part_of(set_id) == part:
            passages = tuple(Passage(text, "supports") for text in texts)
            found.append(GoldSet(set_id, str(row["claim"]), passages, "covidfact"))
    return found


def healthver_sets_of_one_side(data: Path, part: Part) -> list[GoldSet]:
    """Return HealthVer's claims that two and more passages speak to, all of them on one side."""
    own = []
    for item in healthver_sets(data, part):
        sided = tuple(passage for passage in item.passages if passage.label != "neutral")
        if len(sided) >= 2 and not item.is_split:
            own.append(GoldSet(item.set_id, item.claim, sided[:MAX_PASSAGES], item.source))
    return own


def consensus_sets(data: Path | None, part: Part, limit: int) -> list[GoldSet]:
    """Return sets whose passages all take one side (and at least two do): built in, and ``limit`` judged ones."""
    own = built_in_consensus()
    if data is None:
        return own
    judged = [*healthver_sets_of_one_side(data, part), *covidfact_sets(data, part)]
    return [*own, *judged[:limit]]


def split_sets(data: Path | None, part: Part, limit: int) -> list[GoldSet]:
    """Return sets with a passage for and one against, and one that takes no side: built in, and judged ones."""
    found = built_in_splits()
    if data is None:
        return found
    limit += len(found)
    for item in healthver_sets(data, part):
        if item.is_split:
            passages = [
                passage for label in ("supports", "contradicts") for passage in _labelled(item.passages, label)[:2]
            ]
            passages += _labelled(item.passages, "neutral")[:1]
            found.append(GoldSet(item.set_id, item.claim, tuple(passages), item.source))
    return found[:limit]


def _labelled(passages: Sequence[Passage], label: str) -> list[Passage]:
    return [passage for passage in passages if passage.label == label]


@dataclass(frozen=True)
class JudgedPair:
    """One claim, one passage (as sentences), and whether the passage supports, contradicts or does not bear on it."""

    pair_id: str
    claim: str
    sentences: tuple[str, ...]
    label: Label


def scifact_pairs(data: Path) -> list[JudgedPair]:
    """Return SciFact's development claims with each cited abstract; one without evidence is neutral."""
    folder = data / "claims" / "scifact"
    abstracts = {int(row["doc_id"]): tuple(row["abstract"]) for row in read_rows(folder / "corpus_sentences.jsonl")}
    found = []
    for row in read_rows(folder / "claims_dev.jsonl"):
        for doc_id in row["cited_doc_ids"]:
            groups = row["evidence"].get(str(doc_id), [])
            label = LABELS[groups[0]["label"]] if groups else "neutral"
            if doc_id in abstracts:
                found.append(JudgedPair(f"{row['id']}:{doc_id}", str(row["claim"]), abstracts[doc_id], label))
    return found


def scifact_claims(data: Path) -> list[tuple[str, str, bool]]:
    """Return SciFact's development claims with the sentences that decide them, and whether they support the claim."""
    folder = data / "claims" / "scifact"
    abstracts = {str(row["doc_id"]): row["abstract"] for row in read_rows(folder / "corpus_sentences.jsonl")}
    return [
        (str(row["claim"]), " ".join(abstracts[doc_id][n] for n in group["sentences"]), group["label"] == "SUPPORT")
        for row in read_rows(folder / "claims_dev.jsonl")
        for doc_id, groups in row["evidence"].items()
        for group in groups
    ]


def healthver_pairs(data: Path) -> list[JudgedPair]:
    """Return HealthVer's test claims with each passage."""
    from corpus_assets.sentences import split_sentences

    found = []
    for item in healthver_sets(data, "test"):
        for number, passage in enumerate(item.passages):
            sentences = tuple(passage.text[start:end] for start, end in split_sentences(passage.text))
            found.append(JudgedPair(f"{item.set_id}:{number}", item.claim, sentences, passage.label))
    return found


TOPICS = (
    ("cover crops", "soil erosion", "sloping vineyards", "reduced", "reduce"),
    ("evening light", "sleep onset", "adolescents", "delayed", "delay"),
    ("dropout regularisation", "overfitting", "small image sets", "reduced", "reduce"),
    ("statin therapy", "LDL cholesterol", "dialysis patients", "lowered", "lower"),
    ("urban tree canopy", "surface temperature", "paved districts", "lowered", "lower"),
    ("phonics instruction", "word reading", "first graders", "improved", "improve"),
    ("pre-exercise caffeine", "time to exhaustion", "trained cyclists", "increased", "increase"),
    ("hand hygiene audits", "ward infections", "surgical wards", "reduced", "reduce"),
    ("mycorrhizal inoculation", "phosphorus uptake", "acid soils", "increased", "increase"),
    ("annealing at 450 °C", "grain size", "nickel films", "increased", "increase"),
    ("beta blockade", "resting heart rate", "stable angina", "lowered", "lower"),
    ("low-head dams", "fish passage", "upland rivers", "impaired", "impair"),
)


def built_in_consensus() -> list[GoldSet]:
    """Return sets that agree but for wording, figures, doses, groups, hedges or what they go on to say."""
    sets = []
    for number, (what, outcome, where, did, do) in enumerate(TOPICS):
        claim = f"{what} {do}s {outcome} in {where}" if not what.endswith("s") else f"{what} {do} {outcome} in {where}"
        claim = claim[:1].upper() + claim[1:]
        title = what[:1].upper() + what[1:]
        plain = f"{title} {did} {outcome} in {where} by {11 + number} %."
        forms = (
            (plain, f"In {where}, {outcome} was {did} with {what}, by {13 + number} % on average."),
            (plain, f"{title} may {do} {outcome} in {where}, although the samples were small."),
            (plain, f"Compared with controls, {what} {did} {outcome} in {where} and in neighbouring settings."),
            (plain, f"{title} {did} {outcome} in {where}, whereas the cost per unit did not change."),
            (plain, f"We confirm that {what} {did} {outcome} in {where} over {number + 2} years."),
            (plain, f"{title} {did} {outcome} in {where}; no serious side effects of {what} were seen."),
            (f"{title} did not {do} costs in {where}.", f"{title} had no effect on costs in {where}."),
            (plain, f"{title} {did} {outcome} in {where} at both doses, not only at the higher one."),
            (plain, f"Without {what}, {outcome} in {where} stayed as it was; with it, {outcome} was {did}."),
        )
        for form, texts in enumerate(forms):
            asked = f"{title} does not {do} costs in {where}" if form == 6 else claim
            passages = tuple(Passage(text, "supports") for text in texts)
            sets.append(GoldSet(f"consensus-{number}-{form}", asked, passages, "built in"))
    return sets


def built_in_splits() -> list[GoldSet]:
    """Return sets with one passage for and one against, worded in ways that rules do not all see."""
    sets = []
    for number, (what, outcome, where, did, do) in enumerate(TOPICS):
        title = what[:1].upper() + what[1:]
        claim = (
            f"{title} {do}s {outcome} in {where}" if not what.endswith("s") else f"{title} {do} {outcome} in {where}"
        )
        for form, against in enumerate(
            (
                f"{title} did not {do} {outcome} in {where}.",
                f"{outcome[:1].upper() + outcome[1:]} in {where} was the same with and without {what}.",
                f"The trial found no benefit of {what} for {outcome} in {where}, in either season.",
                f"In {where}, {outcome} went the other way once {what} had been introduced.",
            )
        ):
            passages = (
                Passage(f"{title} {did} {outcome} in {where} by {11 + number} %.", "supports"),
                Passage(against, "contradicts"),
                Passage(f"The history of {what} in {where} goes back to the last century.", "neutral"),
            )
            sets.append(GoldSet(f"split-{number}-{form}", claim, passages, "built in"))
    return sets
