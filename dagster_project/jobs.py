"""The jobs: build the corpus, answer a question."""

# No `from __future__ import annotations` here: Dagster reads config classes from the annotations themselves.

from typing import Any

import dagster as dg
from pydantic import Field

CORPUS_JOB = "corpus"
WRITES_TAG = "research_copilot/writes"  # dagster.yaml lets one run at a time carry it


class PlaceConfig(dg.Config):
    """Where a run works; every field may stay empty."""

    home: str = Field("", description="Where stores and generations live; empty: RESEARCH_COPILOT_HOME, else .copilot.")
    log_level: str = Field("INFO", description="How much of the run's log goes to stderr: DEBUG, INFO, …, CRITICAL.")


class CorpusConfig(PlaceConfig):
    """What a run of the corpus job may change."""

    full: bool = Field(False, description="Read every file again, also unchanged ones.")
    only_papers: list[str] = Field([], description="Ids of papers to read again; the others stay as they are.")
    papers_dir: str = Field(
        "", description="The folder of papers; empty: RESEARCH_COPILOT_PAPERS_DIR, else the sample."
    )
    embedder: str = Field("", description="default, hash, bge-small, or a model's name or path; empty: the setting.")


def _console(level: str) -> dict[str, Any]:
    return {"console": {"config": {"log_level": level}}}


@dg.config_mapping
def map_corpus_config(config: CorpusConfig) -> dict[str, Any]:
    """Turn the flat form into the config of the assets, the resource and the log."""
    place = {"home": config.home, "papers_dir": config.papers_dir, "embedder": config.embedder}
    return {
        "ops": {"raw_text": {"config": {"full": config.full, "only_papers": config.only_papers}}},
        "resources": {"copilot": {"config": place}},
        "loggers": _console(config.log_level),
    }


corpus_job = dg.define_asset_job(
    CORPUS_JOB,
    selection=dg.AssetSelection.groups("corpus"),
    config=map_corpus_config,
    tags={WRITES_TAG: "corpus"},
    executor_def=dg.in_process_executor,
    description="Reads what changed in the papers folder, builds a generation, judges it, and publishes it.",
)
