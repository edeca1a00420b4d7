"""Everything Dagster knows of this project. Importing it loads no model, index or PDF library."""

from __future__ import annotations

import gc

import dagster as dg

# What Dagster has loaded lives as long as the process. Unfrozen, every full collection walks its 110,000 objects again:
# about 60 ms, the first time during the imports below.
gc.freeze()

from corpus_assets.assets import corpus_assets  # noqa: E402
from corpus_assets.checks import corpus_asset_checks  # noqa: E402
from dagster_project.ask_job import ask_job  # noqa: E402
from dagster_project.ideas import ideas, ideas_job  # noqa: E402
from dagster_project.jobs import corpus_job, gates_job  # noqa: E402
from dagster_project.resources import CopilotResource, GateSuiteResource  # noqa: E402
from dagster_project.schedules import nightly_corpus  # noqa: E402
from dagster_project.sensors import papers_folder_sensor  # noqa: E402
from evaluation.checks import evaluation_asset_checks  # noqa: E402

defs = dg.Definitions(
    assets=[*corpus_assets, ideas],
    asset_checks=[*corpus_asset_checks, *evaluation_asset_checks],
    jobs=[corpus_job, ask_job, gates_job, ideas_job],
    sensors=[papers_folder_sensor],
    schedules=[nightly_corpus],
    resources={"copilot": CopilotResource(), "gate_suite": GateSuiteResource()},
    executor=dg.in_process_executor,  # the graph is a chain; a process for each step costs two seconds a step
)
