"""The ``ideas`` asset and its job: what papers of different clusters may say together, checked by their passages."""

# No `from __future__ import annotations` here: Dagster reads config classes from the annotations themselves.

from typing import Any

import dagster as dg
from pydantic import Field

from corpus_assets.errors import CopilotError
from dagster_project.jobs import PlaceConfig, configure_console
from dagster_project.resources import CopilotResource

IDEAS_JOB = "spin_ideas"  # not "ideas": an asset's op and a job may not share a name
GROUP = "ideas"


class SpinConfig(dg.Config):
    """How many ideas are wanted."""

    limit: int = Field(default=12, ge=1, le=200, description="Most ideas kept.")


class IdeasConfig(PlaceConfig, SpinConfig):
    """The whole config of the job, flat."""


@dg.asset(
    name="ideas",
    group_name=GROUP,
    owners=["team:research-copilot"],
    kinds={"python"},
    deps=["published_corpus"],
    description="Hypotheses that join papers of different clusters over a shared entity or gap. Each stands on a "
    "passage of either paper, read anew; what the passages do not bear out is dropped.",
)
def ideas(context: dg.AssetExecutionContext, config: SpinConfig, copilot: CopilotResource) -> dg.MaterializeResult[Any]:
    """Spin ideas from the published corpus and keep them in the home."""
    from corpus_assets.store.generation import open_published
    from retrieval.copilot import load_model
    from retrieval.spinner.ideas import ideas_markdown, save_ideas, spin_ideas

    settings = copilot.settings()
    try:
        with open_published(settings.home) as generation:
            report = spin_ideas(generation, model=load_model(settings), limit=config.limit)
        path = save_ideas(settings.home, report)
    except CopilotError as error:
        raise dg.Failure(str(error), allow_retries=error.retryable) from error
    context.log.info(
        f"{len(report.ideas)} ideas kept, {len(report.dropped)} dropped, {report.num_pairs} pairs of papers"
    )
    for note in report.degraded:
        context.log.warning(note)
    dropped = [
        dg.TableRecord({"papers": " + ".join(item.paper_ids), "shared": ", ".join(item.shared), "reason": item.reason})
        for item in report.dropped[:20]
    ]
    metadata: dict[str, Any] = {
        "num_ideas": len(report.ideas),
        "num_dropped": len(report.dropped),
        "num_pairs": report.num_pairs,
        "writer": report.writer,
        "generation": report.generation,
        "ideas": dg.MetadataValue.md(ideas_markdown(report.ideas)),
        "file": dg.MetadataValue.path(str(path)),
    }
    if dropped:
        metadata["dropped"] = dg.MetadataValue.table(dropped)
    return dg.MaterializeResult(metadata=metadata, data_version=dg.DataVersion(report.generation))


@dg.config_mapping
def map_ideas_config(config: IdeasConfig) -> dict[str, Any]:
    """Turn the flat form into the config of the asset, the resource and the log."""
    return {
        "ops": {"ideas": {"config": {"limit": config.limit}}},
        "resources": {"copilot": {"config": {"home": config.home}}},
        "loggers": configure_console(config.log_level),
    }


ideas_job = dg.define_asset_job(
    IDEAS_JOB,
    selection=dg.AssetSelection.assets("ideas"),
    config=map_ideas_config,
    executor_def=dg.in_process_executor,
    description="Spins ideas from the published corpus: pairs of papers of different clusters, checked by passages.",
)
