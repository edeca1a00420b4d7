"""What the counter-evidence pass finds and costs: known splits, each side asked as a claim the other contradicts."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from corpus_assets.errors import BadInputError, GateFailedError
from corpus_assets.settings import Settings
from evaluation.ab import SPLITS, Arm, ArmResult, Bundle
from evaluation.cases import normalize_spaces
from evaluation.metrics import PerQuery

if TYPE_CHECKING:
    from corpus_assets.embedding.protocol import Embedder
    from corpus_assets.store.generation import Generation

OTHER = {"a": "b", "b": "a"}


def collect_claims(generation: Generation) -> dict[str, dict[str, Any]]:
    """Return what both arms are asked: id -> text, whether it takes a side, and the quotes that must be found.

    A split gives three rows: its open question (both quotes) and each side's quote as a claim (the other quote). Raises
    BadInputError when no split is about this corpus, GateFailedError when a quote is in no passage of its paper.
    """
    records = {record.path: record for record in generation.papers.values() if record.is_served}
    rows: list[dict[str, Any]] = json.loads(SPLITS.read_text(encoding="utf-8"))["cases"]
    splits = [row for row in rows if row["kind"] == "split" and {row["a"]["file"], row["b"]["file"]} <= records.keys()]
    if not splits:
        raise BadInputError("No known split is about this corpus.", hint="Run the experiment on the sample corpus.")
    claims: dict[str, dict[str, Any]] = {}
    for row in splits:
        name = row["case_id"]
        for side in OTHER:
            _require_quote(name, row[side], records[row[side]["file"]].paper_id, generation)
            claims[f"{name}:{side}"] = {
                "text": row[side]["quote"],
                "takes_side": True,
                "quotes": [row[OTHER[side]]["quote"]],
            }
        claims[name] = {
            "text": row.get("claim") or row["question"],
            "takes_side": False,
            "quotes": [row[side]["quote"] for side in OTHER],
        }
    return claims


def _require_quote(name: str, side: dict[str, str], paper_id: str, generation: Generation) -> None:
    quote = normalize_spaces(side["quote"])
    if not any(quote in normalize_spaces(chunk.text) for chunk in generation.chunks_of(paper_id)):
        raise GateFailedError(
            f"Split {name!r}: no passage of {side['file']} holds the quote {quote[:80]!r}.",
            hint="Neither arm could find it; mend the split's quote.",
        )


def run_counter_evidence(
    arm: Arm, bundle: Bundle, generation: Generation, settings: Settings, embedder: Embedder
) -> ArmResult:
    """Run the question's stages up to the counter-evidence pass, or up to the one before it.

    ``contradict_recall``: is the passage that contradicts the claim among the candidates. ``both_sides_recall``: the
    share of a split's two sides found for its open question. What it costs: candidates to rerank, and milliseconds.
    """
    from retrieval.dense import forget_questions
    from retrieval.pipeline import STAGES, AskContext, AskState

    wanted = ("plan", "shortlist", "search", "counter_evidence")
    names = [name for name in wanted if arm.is_on or name != "counter_evidence"]
    stages = dict(STAGES)
    context = AskContext(settings, generation, arm.mode, load_embedder=lambda: embedder, use_cache=False)
    claims = bundle.content["evidence"]

    def find(text: str) -> list[str]:
        forget_questions()  # the other arm asked the same ones
        state = AskState(question=text)
        for name in names:
            state = stages[name](state, context)
        return [normalize_spaces(candidate.chunk.text) for candidate in state.candidates]

    contradict: PerQuery = {}
    both_sides: PerQuery = {}
    milliseconds: PerQuery = {}
    num: PerQuery = {}
    for claim in claims.values():  # both arms find postings in memory, not only the one that runs second
        find(claim["text"])
    for case_id, claim in claims.items():
        started = time.perf_counter()
        texts = find(claim["text"])
        milliseconds[case_id] = (time.perf_counter() - started) * 1000
        quotes = [normalize_spaces(quote) for quote in claim["quotes"]]
        found = sum(any(quote in text for text in texts) for quote in quotes) / len(quotes)
        (contradict if claim["takes_side"] else both_sides)[case_id] = found
        num[case_id] = float(len(texts))
    values = {
        "contradict_recall": contradict,
        "both_sides_recall": both_sides,
        "num_candidates": num,
        "latency_ms": milliseconds,
    }
    return ArmResult(arm, bundle.digest, values)
