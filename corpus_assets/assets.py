"""The corpus as Dagster assets: settings and store from the resource, one step, one log line, numbers for the UI."""

# No `from __future__ import annotations` here: Dagster reads an asset's config class from its annotation itself.

import base64
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import dagster as dg
from pydantic import Field

from corpus_assets.build import load_settings_embedder
from corpus_assets.embedding.protocol import Embedder
from corpus_assets.errors import CopilotError
from corpus_assets.gates import Gate
from corpus_assets.settings import Settings
from corpus_assets.steps.report import PROBLEMS_NAME, Progress, StepReport
from corpus_assets.store.lock import acquire_home, release_home
from corpus_assets.store.working import WorkingStore

GROUP = "corpus"
OWNERS = ["team:research-copilot"]
WRITES_POOL = "corpus_writes"  # dagster.yaml lets one run at a time into it, whatever job or button started the run
_PROBLEM_ROWS = 20


class CopilotLike(Protocol):
    """What the assets need of the ``copilot`` resource."""

    def settings(self) -> Settings:
        """Return the settings of this run."""
        ...

    def report_progress(self, step: str, done: int, total: int, detail: str = "") -> None:
        """Tell how far a step is."""
        ...


class GateSuite(Protocol):
    """What ``published_corpus`` needs of the ``gate_suite`` resource: every gate a candidate must pass."""

    def gates(self) -> Sequence[Gate]:
        """Return the gates, in the order they are run."""
        ...


class IngestConfig(dg.Config):
    """What one run may change."""

    full: bool = Field(False, description="Read every file again, also unchanged ones.")
    only_papers: list[str] = Field([], description="Ids of papers to read again; the others stay as they are.")


papers_folder = dg.AssetSpec(
    "papers_folder",
    group_name=GROUP,
    owners=OWNERS,
    kinds={"pdf"},
    description="The folder of scientific papers (PDF, text, Markdown). Only ever read.",
)

Step = Callable[[WorkingStore, Settings, Embedder, Progress], StepReport]


def run_step(context: dg.AssetExecutionContext, copilot: CopilotLike, step: Step) -> dg.MaterializeResult[Any]:
    """Run one step on this run's home and turn its report into a materialization, or its error into a failure."""
    settings = copilot.settings()
    try:
        acquire_home(settings.home)  # kept by this process for the steps that follow, given back by published_corpus
        embedder = load_settings_embedder(settings)
        with WorkingStore(settings.home) as store:
            report = step(store, settings, embedder, copilot.report_progress)
    except CopilotError as error:
        raise dg.Failure(str(error), allow_retries=error.retryable) from error
    context.log.info(report.line)
    for note in report.notes:
        context.log.warning(note)
    return dg.MaterializeResult(metadata=describe(report, settings), data_version=dg.DataVersion(report.data_version))


def describe(report: StepReport, settings: Settings) -> dict[str, dg.MetadataValue[Any]]:
    """Return a report as asset metadata: numbers by stable names, samples to look at, problems as a table."""
    metadata: dict[str, dg.MetadataValue[Any]] = {}
    for name, value in report.counts.items():
        metadata[name] = dg.MetadataValue.int(value) if isinstance(value, int) else dg.MetadataValue.float(value)
    for name, text in report.samples.items():
        metadata[name] = dg.MetadataValue.md(text)
    for name, picture in report.images.items():
        encoded = base64.b64encode(picture).decode("ascii")
        metadata[name] = dg.MetadataValue.md(f"![{name}](data:image/png;base64,{encoded})")
    if report.notes:
        metadata["notes"] = dg.MetadataValue.md("\n".join(f"- {note}" for note in report.notes))
    if report.problems:
        metadata["problems"] = dg.MetadataValue.md(_problem_table(report))
        metadata["all_problems"] = dg.MetadataValue.path(str(settings.home / PROBLEMS_NAME))
    return metadata


def _problem_table(report: StepReport) -> str:
    rows = [f"| {_cell(p.path)} | {p.status} | {_cell(p.reason)} |" for p in report.problems[:_PROBLEM_ROWS]]
    more = len(report.problems) - _PROBLEM_ROWS
    rest = [f"\n{more} more are in the file named under all_problems."] if more > 0 else []
    return "\n".join(["| file | status | reason |", "|---|---|---|", *rows, *rest])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


@dg.asset(group_name=GROUP, owners=OWNERS, pool=WRITES_POOL, kinds={"python", "pdf", "duckdb"}, deps=[papers_folder])
def raw_text(
    context: dg.AssetExecutionContext, config: IngestConfig, copilot: dg.ResourceParam[CopilotLike]
) -> dg.MaterializeResult[Any]:
    """Papers and their pages: each file read in isolation, in reading order, every page accounted for."""
    from corpus_assets.steps.raw_text import read_folder

    def step(store: WorkingStore, settings: Settings, embedder: Embedder, progress: Progress) -> StepReport:
        return read_folder(
            store,
            settings,
            Path(settings.papers_dir),
            full=config.full,
            only_papers=config.only_papers,
            progress=progress,
        )

    return run_step(context, copilot, step)


@dg.asset(group_name=GROUP, owners=OWNERS, pool=WRITES_POOL, kinds={"python", "duckdb"}, deps=[raw_text])
def chunks(context: dg.AssetExecutionContext, copilot: dg.ResourceParam[CopilotLike]) -> dg.MaterializeResult[Any]:
    """Passages of a size the embedding model reads whole, cut at sections, paragraphs and sentences."""
    from corpus_assets.steps.chunks import chunk_papers

    def step(store: WorkingStore, settings: Settings, embedder: Embedder, progress: Progress) -> StepReport:
        return chunk_papers(store, settings, embedder, progress=progress)

    return run_step(context, copilot, step)


@dg.asset(group_name=GROUP, owners=OWNERS, pool=WRITES_POOL, kinds={"python", "onnx"}, deps=[chunks])
def embeddings(context: dg.AssetExecutionContext, copilot: dg.ResourceParam[CopilotLike]) -> dg.MaterializeResult[Any]:
    """A unit vector for each retrievable chunk, computed once for each text and model."""
    from corpus_assets.steps.embeddings import embed_chunks

    def step(store: WorkingStore, settings: Settings, embedder: Embedder, progress: Progress) -> StepReport:
        return embed_chunks(store, settings, embedder, progress=progress)

    return run_step(context, copilot, step)


@dg.asset(group_name=GROUP, owners=OWNERS, pool=WRITES_POOL, kinds={"faiss"}, deps=[embeddings])
def faiss_index(context: dg.AssetExecutionContext, copilot: dg.ResourceParam[CopilotLike]) -> dg.MaterializeResult[Any]:
    """The candidate's vector index: inner product, stable ids, exact up to a size."""
    from corpus_assets.steps.indexes import build_vector_index

    def step(store: WorkingStore, settings: Settings, embedder: Embedder, progress: Progress) -> StepReport:
        return build_vector_index(store, settings, embedder)

    return run_step(context, copilot, step)


@dg.asset(group_name=GROUP, owners=OWNERS, pool=WRITES_POOL, kinds={"duckdb"}, deps=[chunks])
def fts_index(context: dg.AssetExecutionContext, copilot: dg.ResourceParam[CopilotLike]) -> dg.MaterializeResult[Any]:
    """The candidate's chunks with their full-text index; identifiers such as T790M and TNF-α are whole terms."""
    from corpus_assets.steps.indexes import build_full_text_index

    def step(store: WorkingStore, settings: Settings, embedder: Embedder, progress: Progress) -> StepReport:
        return build_full_text_index(store, settings, embedder)

    return run_step(context, copilot, step)


@dg.asset(group_name=GROUP, owners=OWNERS, pool=WRITES_POOL, kinds={"scikitlearn"}, deps=[faiss_index])
def clusters(context: dg.AssetExecutionContext, copilot: dg.ResourceParam[CopilotLike]) -> dg.MaterializeResult[Any]:
    """Which papers stand together, how clearly, and the terms that set each group apart."""
    from corpus_assets.steps.clusters import build_clusters

    def step(store: WorkingStore, settings: Settings, embedder: Embedder, progress: Progress) -> StepReport:
        return build_clusters(store, settings, embedder)

    return run_step(context, copilot, step)


@dg.asset(group_name=GROUP, owners=OWNERS, pool=WRITES_POOL, kinds={"python", "duckdb"}, deps=[clusters, fts_index])
def summary_cards(
    context: dg.AssetExecutionContext, copilot: dg.ResourceParam[CopilotLike]
) -> dg.MaterializeResult[Any]:
    """Each paper in one paragraph, with method, findings and limitations; completes the candidate generation."""
    from corpus_assets.steps.cards import build_cards

    def step(store: WorkingStore, settings: Settings, embedder: Embedder, progress: Progress) -> StepReport:
        return build_cards(store, settings, embedder, progress=progress)

    return run_step(context, copilot, step)


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    pool=WRITES_POOL,
    kinds={"duckdb", "faiss"},
    deps=[raw_text, chunks, embeddings, faiss_index, fts_index, clusters, summary_cards],
)
def published_corpus(
    context: dg.AssetExecutionContext,
    copilot: dg.ResourceParam[CopilotLike],
    gate_suite: dg.ResourceParam[GateSuite],
) -> dg.MaterializeResult[Any]:
    """The generation readers see. Moves only when every blocking gate passed on this very candidate."""
    from corpus_assets.steps.publish import publish_candidate

    def step(store: WorkingStore, settings: Settings, embedder: Embedder, progress: Progress) -> StepReport:
        return publish_candidate(store, settings, embedder, gate_suite.gates())

    try:
        return run_step(context, copilot, step)
    finally:
        release_home(copilot.settings().home)


corpus_assets: list[dg.AssetsDefinition | dg.AssetSpec] = [
    papers_folder,
    raw_text,
    chunks,
    embeddings,
    faiss_index,
    fts_index,
    clusters,
    summary_cards,
    published_corpus,
]
