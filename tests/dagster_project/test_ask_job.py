"""The ask job mirrors the pipeline, stage by stage, and shows its answer."""

from __future__ import annotations

import dagster as dg

from dagster_project.ask_job import STAGES, ask_job, describe_answer
from dagster_project.definitions import defs
from retrieval.answer import AnswerRecord, Citation
from retrieval.pipeline import STAGES as FUNCTIONS


def test_there_is_one_op_a_stage_in_the_pipelines_order():
    assert list(STAGES) == [name for name, _ in FUNCTIONS]
    ops = [node.name for node in ask_job.nodes_in_topological_order]
    assert ops == ["question", *STAGES, "answer"]


def test_the_config_is_flat():
    fields = ask_job.run_config_schema.config_type.fields
    assert {
        "question",
        "mode",
        "top_k",
        "papers",
        "sections",
        "min_year",
        "max_year",
        "use_cache",
        "home",
    } <= fields.keys()
    corpus = defs.resolve_job_def("corpus").run_config_schema.config_type.fields
    assert {"full", "only_papers", "papers_dir", "home", "embedder"} <= corpus.keys()


def test_an_empty_question_fails_the_run_with_the_reason(tmp_path):
    config = {"question": " ", "home": str(tmp_path), "log_level": "CRITICAL"}
    result = ask_job.execute_in_process(run_config=config, raise_on_error=False)
    assert not result.success
    (failure,) = result.get_step_failure_events()
    assert failure.step_key == "question"
    assert "question" in failure.step_failure_data.error.message


def test_an_answer_is_shown_as_markdown_citations_and_scores():
    citation = Citation(
        n=1, paper_id="p", title="T", section="S", pages="3", quote="q", chunk_id="p:s:0", char_start=0, char_end=1,
        doc_sha256="0",
    )  # fmt: skip
    record = AnswerRecord(
        answer_id="a", question="q?", mode="brief", intent="understand", writer="extractive", generation="g",
        abstained=False, answer="## Answer", citations=(citation,),
    )  # fmt: skip
    metadata = describe_answer(record)
    assert isinstance(metadata["answer"], dg.MarkdownMetadataValue)
    assert metadata["citations"].records[0].data["quote"] == "q"
    assert metadata["num_citations"] == 1
