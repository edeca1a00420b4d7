"""The job that builds the corpus, and the config that jobs share."""

# No `from __future__ import annotations` here: Dagster reads config classes from the annotations themselves.

from typing import Any

import dagster as dg
from pydantic import Field

from dagster_project.resources import EMBEDDER_HELP, HOME_HELP, PAPERS_HELP

CORPUS_JOB = "corpus"
WRITES_TAG = "research_copilot/writes"  # dagster.yaml lets one run at a time carry it


class PlaceConfig(dg.Config):
    """Where a run works; every field may stay empty."""

    home: str = Field(default="", description=HOME_HELP)
    log_level: str = Field(default="INFO", description="What of the run's log goes to stderr: DEBUG … CRITICAL.")


class CorpusConfig(PlaceConfig):
    """What a run of the corpus job may change."""

    full: bool = Field(default=False, description="Read every file again, also unchanged ones.")
    only_papers: list[str] = Field(default=[], description="Ids of papers to read again; the others stay as they are.")
    papers_dir: str = Field(default="", description=PAPERS_HELP)
    embedder: str = Field(default="", description=EMBEDDER_HELP)


def configure_console(level: str) -> dict[str, Any]:
    """Return the loggers' config for a level."""
    return {"console": {"config": {"log_level": level}}}


@dg.config_mapping
def map_corpus_config(config: CorpusConfig) -> dict[str, Any]:
    """Turn the flat form into the config of the assets, the resource and the log."""
    place = {"home": config.home, "papers_dir": config.papers_dir, "embedder": config.embedder}
    return {
        "ops": {"raw_text": {"config": {"full": config.full, "only_papers": config.only_papers}}},
        "resources": {"copilot": {"config": place}},
        "loggers": configure_console(config.log_level),
    }


corpus_job = dg.define_asset_job(
    CORPUS_JOB,
    selection=dg.AssetSelection.groups("corpus"),
    config=map_corpus_config,
    tags={WRITES_TAG: "corpus"},
    executor_def=dg.in_process_executor,
    description="Reads what changed in the papers folder, builds a generation, judges it, and publishes it.",
)

gates_job = dg.define_asset_job(
    "gates",
    selection=dg.AssetSelection.checks_for_assets("summary_cards"),
    tags={WRITES_TAG: "corpus"},
    executor_def=dg.in_process_executor,
    description="Judges the latest candidate by every gate, and publishes nothing.",
)
