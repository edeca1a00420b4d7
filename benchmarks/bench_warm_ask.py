"""A question to a program that is warm, beside the hybrid search alone: what `ask --interactive` and the MCP server do.

``python -m benchmarks.bench_warm_ask [--papers 270] [--questions 40] [--rounds 5] [--json FILE]``

Builds a corpus of synthetic papers (270 give about 10,000 passages), warms up, then asks each question and searches for
it, in turn, in every round; printed are the p95 of both, the median of the rounds' ratios and where the time of an
answer goes. Nothing is taken from the answer cache, and no question's vector from the memory of earlier ones. The
passages' vectors are of a stand-in that costs next to nothing; questions and sentences are embedded by the real model.
Exits 1 when the bound is missed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.bench_incremental import QuickEmbedder, time_ingest, use_quick_embedder
from benchmarks.synthetic import Words, write_papers
from benchmarks.timing import p95
from corpus_assets.embedding.registry import load_embedder
from corpus_assets.settings import EmbeddingSettings, Settings
from dagster_project.agent_desk import AgentDesk
from retrieval import dense
from sample_corpus.generate import SOURCES_DIR

BOUND = 10.0
VOCABULARY = 8_000
DEPTH = 20
FORMS = (
    "What is the effect of {0} {1} on {2} in {3}?",
    "How does {0} compare with {1} in {2}?",
    "Does {0} increase {1} of {2}?",
    "Which {0} was measured with {1} and {2}?",
)


def english_words() -> Words:
    """Return a vocabulary whose frequent words are those of the sample papers: 1.8 word pieces a word."""
    texts = [path.read_text("utf-8") for path in sorted(SOURCES_DIR.rglob("*")) if path.is_file()]
    counts = Counter(re.findall(r"[a-z]{2,}", "\n".join(texts).casefold()))
    return Words(VOCABULARY, first=[word for word, _ in counts.most_common()])


def build(settings: Settings, num_papers: int, model: str) -> int:
    """Publish a corpus whose manifest names ``model``; return the number of its passages."""
    real = load_embedder(model, settings.models_path)

    class StandIn(QuickEmbedder):
        name = real.name
        fingerprint = real.fingerprint
        dimension = real.dimension

    use_quick_embedder(StandIn())
    write_papers(settings.papers_dir, range(num_papers), words=english_words())
    return time_ingest(settings)[1].num_chunks


def make_questions(num: int, num_papers: int, seed: int = 13) -> list[str]:
    """Return questions in the words that papers are about."""
    import numpy as np

    words = english_words()
    asked = []
    for number in range(num):
        topic = words.topic(np.random.default_rng([seed, (number * 7) % num_papers]))
        asked.append(FORMS[number % len(FORMS)].format(*topic[number % 5 :]))
    return asked


def measure(desk: AgentDesk, asked: Sequence[str], rounds: int) -> dict[str, Any]:
    """Return the p95 of answer and search by round, the seconds of each stage and how many answers abstained."""
    ask_p95, search_p95 = [], []
    stages: dict[str, list[float]] = defaultdict(list)
    num_abstained = 0
    for question in asked[:3]:
        desk.answer(question, use_cache=False)
    for _ in range(rounds):
        spent, searched = [], []
        for question in asked:
            dense.forget_questions()
            started = time.perf_counter()
            desk.search(question, DEPTH, "hybrid")
            searched.append((time.perf_counter() - started) * 1000)
            dense.forget_questions()
            started = time.perf_counter()
            record = desk.answer(question, use_cache=False)
            spent.append((time.perf_counter() - started) * 1000)
            num_abstained += record.abstained
            for stage in record.stages:
                stages[stage.name].append(stage.seconds * 1000)
        ask_p95.append(p95(spent))
        search_p95.append(p95(searched))
    return {
        "ask_p95_ms": median(ask_p95),
        "search_p95_ms": median(search_p95),
        "ratio": median(one / other for one, other in zip(ask_p95, search_p95, strict=True)),
        "bound": BOUND,
        "stages_ms": {name: median(values) for name, values in stages.items()},
        "share_abstained": num_abstained / (len(asked) * rounds),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--papers", type=int, default=270)
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model", default="default")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        folder, home = Path(scratch) / "papers", Path(scratch) / "home"
        settings = Settings(home=home, papers_dir=folder, embedding=EmbeddingSettings(model=options.model))
        num_chunks = build(settings, options.papers, options.model)
        desk = AgentDesk(settings)
        desk.warm_up()
        figures = measure(desk, make_questions(options.questions, options.papers), options.rounds)
        desk.close()
    is_missed = figures["ratio"] > BOUND
    print(f"{num_chunks} passages, {options.questions} questions, {options.rounds} rounds")
    print(
        f"answer p95 {figures['ask_p95_ms']:.0f} ms, hybrid search p95 {figures['search_p95_ms']:.1f} ms: "
        f"{figures['ratio']:.1f} times (at most {BOUND:g}){'   MISSED' if is_missed else ''}"
    )
    print("stages, median ms: " + ", ".join(f"{name} {ms:.1f}" for name, ms in figures["stages_ms"].items()))
    print(f"{figures['share_abstained']:.0%} of the answers abstain (their sentences are compared all the same)")
    if options.json is not None:
        options.json.write_text(json.dumps({"chunks": num_chunks, **figures}, indent=1), encoding="utf-8")
    return int(is_missed)


if __name__ == "__main__":
    sys.exit(main())
