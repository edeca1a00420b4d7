"""All suites over answers by one call: what needs data runs where it is given, everything else runs without.

The same suites run against a language model when one is configured; each question then has its own budget.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.errors import BadInputError, CopilotError
from corpus_assets.settings import Settings
from evaluation.answers.claim_edits import Part, measure_claim_edits, measure_written_claims, source_texts
from evaluation.answers.corpora import Asker, BuiltCorpus, GoldStances, built_corpus, make_asker, papers_of_sets
from evaluation.answers.gold_sets import (
    GoldSet,
    abstracts_of,
    consensus_sets,
    healthver_pairs,
    read_rows,
    scifact_claims,
    scifact_pairs,
    split_sets,
)
from evaluation.answers.rows import Row

if TYPE_CHECKING:
    from corpus_assets.embedding.protocol import Embedder
    from corpus_assets.store.generation import Generation

NUM_CONSENSUS = 100  # judged sets, besides the built-in ones
NUM_SPLITS = 44
NUM_SHAPE_QUESTIONS = 50


@dataclass
class SuiteRun:
    """What the suites share: settings, data, and corpora that are made when first needed."""

    settings: Settings
    data: Path | None = None
    part: Part = "test"
    limit: int = 0  # most questions a suite; 0: as each suite wants
    papers_dir: Path | None = None
    on_progress: Callable[[str], None] = lambda text: None
    stack: ExitStack = field(default_factory=ExitStack)

    def most(self, num: int) -> int:
        """Return a suite's number of questions under the limit."""
        return min(num, self.limit) if self.limit else num

    @cached_property
    def work_dir(self) -> Path:
        return Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="answers-")))

    @cached_property
    def embedder(self) -> Embedder:
        from corpus_assets.embedding.registry import load_embedder

        return load_embedder(self.settings.embedding.model, self.settings.models_path, threads=1)

    @cached_property
    def published(self) -> Generation | None:
        """Return the published generation, or None when nothing is published."""
        from corpus_assets.errors import NothingPublishedError
        from corpus_assets.store.generation import open_published

        try:
            return self.stack.enter_context(open_published(self.settings.home))
        except NothingPublishedError:
            return None

    @cached_property
    def consensus(self) -> list[GoldSet]:
        return consensus_sets(self.data, self.part, self.most(NUM_CONSENSUS))

    @cached_property
    def splits(self) -> list[GoldSet]:
        return split_sets(self.data, self.part, self.most(NUM_SPLITS))

    @cached_property
    def gold_corpus(self) -> BuiltCorpus:
        """Return the corpus of the consensus and split sets."""
        self.on_progress(f"ingesting {len(self.consensus) + len(self.splits)} sets of judged passages")
        papers = papers_of_sets([*self.consensus, *self.splits])
        return self.stack.enter_context(built_corpus(self.settings, self.work_dir / "sets", papers))

    @property
    def source(self) -> str:
        return "built-in, healthver and covidfact" if self.data else "built-in"


def run_suites(run: SuiteRun, names: Sequence[str] = ()) -> dict[str, Any]:
    """Run the named suites (all without names) and return the report; a suite that cannot run is a failing row.

    Raises BadInputError for an unknown name or a data folder that is not one.
    """
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        raise BadInputError(f"There is no suite {unknown[0]!r}.", hint=f"Use {', '.join(SUITES)}.")
    if run.data is not None and not (run.data / "claims").is_dir():
        raise BadInputError(f"{run.data} holds no folder claims.", hint="Name the folder that holds beir and claims.")
    rows: list[Row] = []
    with run.stack:
        for name in names or SUITES:
            run.on_progress(name)
            try:
                found = SUITES[name](run)
            except BadInputError:
                raise
            except CopilotError as error:
                found = [Row(name, "could not run", 0.0, 0, "at least", 1.0, note=str(error))]
            for row in found:
                shown = "not measured" if row.value is None else f"{row.value:.4g}"
                run.on_progress(f"  {row.name}: {shown}, n {row.num_cases}")
            rows += found
    from retrieval.copilot import load_model

    model = load_model(run.settings)
    failed = [row for row in rows if row.passed is False]
    return {
        "writer": model.name if model else "extractive",
        "embedder": run.settings.embedding.model,
        "data": bool(run.data),
        "part": run.part,
        "rows": [row.as_json() for row in rows],
        "num_failed": len(failed),
        "num_not_measured": sum(row.value is None and row.bound != "report" for row in rows),
        "passed": not failed,
    }


def run_claim_edits(run: SuiteRun) -> list[Row]:
    """Edits of SciFact's sentences, or of the published corpus' own."""
    if run.data is not None:
        rows = measure_claim_edits(abstracts_of(run.data), "SciFact abstracts", run.part)
        return rows + measure_written_claims(scifact_claims(run.data), "claims/scifact dev, rules only")
    if run.published is None:
        return [Row("claim edits", "edits caught, all kinds", None, 0, "at least", 0.95, note=NEEDS_CORPUS)]
    return measure_claim_edits(source_texts(run.published), f"corpus {run.published.id}", run.part)


def run_cache(run: SuiteRun) -> list[Row]:
    """Adversarial pairs and paraphrases."""
    from evaluation.answers.cache_pairs import measure_cache

    questions: list[str] = []
    if run.data is not None:
        rows = read_rows(run.data / "claims" / "pubmedqa" / "pqal.jsonl")
        questions = [str(row["question"]) for row in rows]
    return measure_cache(lambda: run.embedder, questions, run.part)


def run_consensus(run: SuiteRun) -> list[Row]:
    """Papers that agree."""
    from evaluation.answers.disagreement import measure_consensus

    return measure_consensus(run.gold_corpus, run.consensus, f"{run.source}, {run.part} half")


def run_splits(run: SuiteRun) -> list[Row]:
    """Papers that do not, with and without someone who judges."""
    from evaluation.answers.disagreement import measure_gold_splits, measure_possible_disagreement

    where = f"built-in and healthver, {run.part} half" if run.data else "built-in"
    rows = measure_gold_splits(run.gold_corpus, run.splits, f"{where}, gold stances")
    if run.data is not None:
        rows += measure_possible_disagreement(scifact_pairs(run.data), "claims/scifact dev")
        rows += measure_possible_disagreement(healthver_pairs(run.data), "claims/healthver test")
    return rows


def run_abstention(run: SuiteRun) -> list[Row]:
    """Questions of another field, invented ones, and golden ones."""
    from evaluation.answers.abstention import NUM_FOREIGN, measure_abstention

    if run.published is None:
        return [Row("abstention", "questions of another field", None, 0, "at least", 0.95, note=NEEDS_CORPUS)]
    return measure_abstention(_published_asker(run, run.published, remembers=True), run.data, run.most(NUM_FOREIGN))


def run_shape(run: SuiteRun) -> list[Row]:
    """Fifty questions in every mode, twice: from judged sets with their stances, and golden ones if there are any."""
    from evaluation.answers.abstention import spread
    from evaluation.answers.shape import Question, ask_all, measure_shape
    from evaluation.quality import choose_golden

    num = run.most(NUM_SHAPE_QUESTIONS)
    golden: list[str] = []
    published = run.published
    if published is not None:
        fixture = choose_golden(run.settings, published).fixture
        golden = [case.query for case in fixture.cases] if fixture else []
    golden = spread(golden, num // 2)
    sets = [*spread(run.splits, num // 2), *spread(run.consensus, num)][: num - len(golden)]
    corpus = run.gold_corpus
    own = [
        Question(item.question, corpus.papers_of(item), GoldStances(item) if item.is_split else None) for item in sets
    ]
    asked = list(ask_all(lambda: _again(corpus.asker), own))
    if published is not None and golden:
        run.on_progress("golden questions in every mode")
        asked += ask_all(lambda: _published_asker(run, published), [Question(text) for text in golden])
    return measure_shape(asked, f"{len(own)} questions on {run.source} sets, {len(golden)} golden, every mode")


def run_injection(run: SuiteRun) -> list[Row]:
    """Passages that give orders."""
    from evaluation.answers.injection import injection_papers, measure_injection

    with built_corpus(run.settings, run.work_dir / "orders", injection_papers()) as corpus:
        return measure_injection(corpus)


def _published_asker(run: SuiteRun, generation: Generation, *, remembers: bool = False) -> Asker:
    return make_asker(run.settings, generation, run.papers_dir or run.settings.papers_dir, remembers=remembers)


def _again(asker: Asker) -> Asker:
    return make_asker(asker.settings, asker.generation, asker.papers_dir)


NEEDS_CORPUS = "needs a published corpus (or --data)"
SUITES: dict[str, Callable[[SuiteRun], list[Row]]] = {
    "claim_edits": run_claim_edits,
    "cache": run_cache,
    "consensus": run_consensus,
    "splits": run_splits,
    "abstention": run_abstention,
    "shape": run_shape,
    "injection": run_injection,
}
