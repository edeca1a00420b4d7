"""Everything Dagster knows of this project. Importing it loads no model, index or PDF library."""

from __future__ import annotations

import dagster as dg

from corpus_assets.assets import corpus_assets
from corpus_assets.checks import corpus_asset_checks
from dagster_project.ask_job import ask_job
from dagster_project.ideas import ideas, ideas_job
from dagster_project.jobs import corpus_job, gates_job
from dagster_project.resources import CopilotResource, GateSuiteResource
from dagster_project.schedules import nightly_corpus
from dagster_project.sensors import papers_folder_sensor
from evaluation.checks import evaluation_asset_checks

defs = dg.Definitions(
    assets=[*corpus_assets, ideas],
    asset_checks=[*corpus_asset_checks, *evaluation_asset_checks],
    jobs=[corpus_job, ask_job, gates_job, ideas_job],
    sensors=[papers_folder_sensor],
    schedules=[nightly_corpus],
    resources={"copilot": CopilotResource(), "gate_suite": GateSuiteResource()},
    executor=dg.in_process_executor,  # the graph is a chain; a process for each step costs two seconds a step
)
