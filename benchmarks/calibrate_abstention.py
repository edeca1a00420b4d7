"""Fit when `ask` answers and when it abstains, on judged questions whose papers are in, or were left out of, a corpus.

    python -m benchmarks.calibrate_abstention DATA_DIR WORK_DIR [--embedder default|none]

Passages are found by full text and judged by sentence cosines (with --embedder none: by words alone), as in `ask`.
Collections (BEIR layout, under DATA_DIR/beir): half of PubMedQA's abstracts, 1,500 of SciFact's. A question is
answerable when a judged document is in the part that was kept. Not answerable: questions of the same collection
whose documents were all left out (hard: the same field, and sometimes answerable after all), and Cranfield's
queries (another field; its own texts are lower-cased without sentences to quote). PubMedQA's questions not marked
`official_test`, SciFact's `train.tsv` and every other Cranfield query fit the weights and the threshold; the others
are only reported. SciFact's test queries are never read. The printed weights are copied into
`retrieval/relevance.py` by hand.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from corpus_assets.settings import IndexSettings, RetrievalSettings, Settings
from evaluation.answers.corpora import MemoEmbedder
from retrieval.pipeline import AskContext, AskState, stage_plan, stage_rerank, stage_search

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evaluation.beir import BeirCorpus, BeirDocument

SEED = 20
RIDGE = 0.01
SIGNS = {
    "max_cosine": 1,
    "mean_top3_cosine": 1,
    "best_blend": 1,
    "sentence_coverage": 1,
    "passage_coverage": 1,
    "evidence_coverage": 1,
    "unknown_share": -1,
    "rarest_missing": -1,
}


@dataclass(frozen=True)
class Question:
    text: str
    is_answerable: bool
    group: str
    fits: bool  # used for fitting, not only reported


def keep_some(documents: Sequence[BeirDocument], num: int, seed: int) -> list[BeirDocument]:
    """Return ``num`` documents drawn with a seed, in their own order."""
    chosen = set(random.Random(seed).sample(range(len(documents)), min(num, len(documents))))
    return [document for index, document in enumerate(documents) if index in chosen]


def collect_questions(
    name: str, queries: dict[str, str], qrels: dict[str, dict[str, int]], kept: set[str], is_fit: dict[str, bool]
) -> list[Question]:
    """Return questions of a collection, answerable or hard negatives by whether a judged document was kept."""
    found = []
    for query_id, text in sorted(queries.items()):
        judged = {doc for doc, grade in qrels[query_id].items() if grade > 0}
        is_in = bool(judged & kept)
        group = f"{name}: {'answerable' if is_in else 'same field, left out'}"
        found.append(Question(text, is_in, group, is_fit.get(query_id, True)))
    return found


def signals_of(question: str, ctx: AskContext) -> dict[str, float] | None:
    """Run the stages up to rerank and return the abstention signals, None when nothing was found at all."""
    state = stage_plan(AskState(question=question), ctx)
    if state.plan is None or state.plan.clarification:
        return None
    state = stage_rerank(stage_search(replace(state, abstain_reason=""), ctx), ctx)
    return dict(state.relevance.signals) if state.relevance and state.relevance.signals else None


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the fitted weights, the threshold, and what they give on each group."""
    from corpus_assets.embedding.registry import load_embedder
    from evaluation.beir import BeirCorpus, build_beir_segment, load_beir

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("work_dir", type=Path)
    parser.add_argument("--embedder", default="default", help="a model's name, or none: words alone")
    parser.add_argument("--passages", type=int, default=8)
    parser.add_argument("--questions", type=int, default=60, help="most questions a group")
    options = parser.parse_args(arguments)
    embedder = None
    if options.embedder != "none":
        embedder = MemoEmbedder(load_embedder(options.embedder, options.work_dir / "models", threads=1), {})
    settings = Settings(home=options.work_dir)
    reranker = "sentences" if embedder else "lexical"
    retrieval = RetrievalSettings.model_validate({"k_retrieve": options.passages, "reranker": reranker})
    settings = settings.model_copy(update={"retrieval": retrieval})
    plans = (("pubmedqa", "test", 500), ("scifact", "train", 1500), ("cranfield", "test", 0))
    corpora: dict[str, tuple[BeirCorpus, list[Question]]] = {}
    for name, qrels, num in plans:
        data = load_beir(options.data_dir / "beir" / name, qrels)
        kept = keep_some(data.documents, num, SEED) if num else data.documents[:1]
        folder = build_beir_segment(kept, options.work_dir / name, None, IndexSettings.model_validate({}))
        is_fit = fit_marks(options.data_dir / "beir" / name / "queries.jsonl", name)
        questions = collect_questions(name, dict(data.queries), data.qrels, {item.doc_id for item in kept}, is_fit)
        corpora[name] = (BeirCorpus(folder), questions)
    rows: list[tuple[Question, dict[str, float]]] = []
    rng = random.Random(SEED)
    for name, (corpus, own) in corpora.items():
        if name == "cranfield":
            continue
        foreign = [
            replace(question, is_answerable=False, group=f"{name} corpus: another field ({other})")
            for other, (_, questions) in corpora.items()
            if other != name and {other, name} != {"pubmedqa", "scifact"}
            for question in questions
        ]
        ctx = AskContext(
            settings=settings,
            generation=corpus,
            retrieval_mode="fts_only",
            load_embedder=(lambda: embedder) if embedder else None,
            use_cache=False,
        )  # type: ignore[arg-type]
        groups: dict[tuple[str, bool], list[Question]] = {}
        for question in [*own, *foreign]:
            groups.setdefault((question.group, question.fits), []).append(question)
        for key in sorted(groups):
            for question in rng.sample(groups[key], min(options.questions, len(groups[key]))):
                signals = signals_of(question.text, ctx)
                rows.append((question, signals or {}))
            print(key, len(groups[key]), file=sys.stderr, flush=True)
    (options.work_dir / "signals.json").write_text(
        json.dumps([{**question.__dict__, "signals": signals} for question, signals in rows]), "utf-8"
    )
    report(rows)


def fit_marks(path: Path, name: str) -> dict[str, bool]:
    """Return query id -> whether it may be fitted on."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    if name == "pubmedqa":
        return {row["_id"]: not row["metadata"]["official_test"] for row in rows}
    if name == "cranfield":
        return {row["_id"]: index % 2 == 0 for index, row in enumerate(rows)}
    return {row["_id"]: True for row in rows}


def report(rows: Sequence[tuple[Question, dict[str, float]]]) -> None:
    """Fit a logistic regression on the fitting rows and print weights, threshold and rates by group.

    Weights may not point the wrong way (a word the corpus does not hold never speaks for an answer), classes count
    alike, and a ridge of ``RIDGE`` keeps signals that say the same from playing against each other.
    """
    from scipy.optimize import minimize

    names = [name for name in SIGNS if any(name in signals for _, signals in rows)]
    signs = np.array([SIGNS[name] for name in names])
    usable = [(question, signals) for question, signals in rows if signals]
    features = np.array([[signals[name] for name in names] for _, signals in usable]) * signs
    labels = np.array([question.is_answerable for question, _ in usable])
    fits = np.array([question.fits for question, _ in usable])
    share = labels[fits].mean()

    def loss(weights: NDArray[np.float64]) -> float:
        logits = weights[0] + features[fits] @ weights[1:]
        errors = np.where(labels[fits], np.logaddexp(0, -logits) / share, np.logaddexp(0, logits) / (1 - share))
        return float(errors.mean() + RIDGE * (weights[1:] ** 2).sum())

    bounds = [(None, None)] + [(0, None)] * len(names)
    found = minimize(loss, np.r_[-3.0, np.ones(len(names))], bounds=bounds, method="L-BFGS-B").x
    probabilities = 1 / (1 + np.exp(-(found[0] + features @ found[1:])))
    threshold = float(np.quantile(probabilities[fits & labels], 0.04))
    weights = {name: round(float(value), 3) for name, value in zip(names, found[1:] * signs, strict=True)}
    print("WEIGHTS", json.dumps({"intercept": round(float(found[0]), 3)} | weights))
    print(f"threshold keeping 96 % of the answerable fitting questions: {threshold:.3f}")
    groups = sorted({(question.group, question.fits) for question, _ in rows})
    for group, is_fit in groups:
        chosen = np.array([question.group == group and question.fits == is_fit for question, _ in usable])
        empty = sum(question.group == group and question.fits == is_fit for question, signals in rows if not signals)
        answered = int((probabilities[chosen] >= threshold).sum())
        total = int(chosen.sum()) + empty
        use = "fit   " if is_fit else "report"
        print(f"{use} {group}: answered {answered} of {total} = {answered / max(total, 1):.3f}")


if __name__ == "__main__":
    main()
