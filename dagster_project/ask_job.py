"""The ``ask`` job: each stage of the question pipeline is an op, so the run's page shows what each of them did."""

# No `from __future__ import annotations` here: Dagster reads config classes from the annotations themselves.

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field, PrivateAttr

from corpus_assets.errors import CopilotError
from corpus_assets.settings import Settings
from dagster_project.jobs import PlaceConfig, configure_console
from dagster_project.resources import CopilotResource

if TYPE_CHECKING:
    from retrieval.answer import AnswerRecord
    from retrieval.pipeline import AskContext

ASK_JOB = "ask"

# Name and description of each stage, in order (retrieval/pipeline.py does the work; a test compares the two lists).
STAGES = {
    "plan": "Intent, shape and sub-queries of the question, with rewordings.",
    "cache_lookup": "An earlier answer to the same question from the same corpus, if there is one.",
    "shortlist": "Papers whose cards fit the question; small corpora skip this.",
    "search": "Full-text and dense search for each sub-query, ranks fused, inside the shortlist.",
    "counter_evidence": "For claims, a second search for evidence against, also outside the shortlist.",
    "rerank": "Passages against the original question; decides whether there is evidence at all.",
    "themes": "What the passages agree and disagree on.",
    "write": "The answer in the mode asked for, from the evidence alone.",
    "bind_citations": "Each citation bound to an exact quote, page and document hash.",
    "verify_claims": "Each claim checked against the quotes it cites; failing claims are removed.",
}


class QuestionConfig(dg.Config):
    """A question and what it is restricted to."""

    question: str = Field(default="", description="The question, in one full sentence. Must not stay empty.")
    mode: str = Field(default="standard", description="brief, standard, detailed or ideas.")
    top_k: int = Field(default=0, description="Most passages kept as evidence; 0: as the settings say.")
    papers: list[str] = Field(default=[], description="Only these papers, by id.")
    sections: list[str] = Field(default=[], description="Only these kinds of section: abstract, methods, results, …")
    min_year: int = Field(default=0, description="Only papers of this year or later; 0: any.")
    max_year: int = Field(default=0, description="Only papers of this year or earlier; 0: any.")


class AskConfig(PlaceConfig, QuestionConfig):
    """The whole config of the job, flat."""

    use_cache: bool = Field(default=True, description="Take an earlier answer to the same question.")


class AskSession(dg.ConfigurableResource["AskSession"]):
    """The published corpus, open for the length of one run, with the models its stages load."""

    copilot: dg.ResourceDependency[CopilotResource]
    use_cache: bool = Field(default=True, description="Take an earlier answer to the same question.")

    _context: Any = PrivateAttr(default=None)

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator["AskSession"]:
        """Close the corpus after the run."""
        try:
            yield self
        finally:
            if self._context is not None:
                self._context.generation.close()

    def context(self) -> "AskContext":
        """Return what the stages work with; the corpus is opened by the first of them."""
        if self._context is None:
            from corpus_assets.store.generation import open_published
            from retrieval.copilot import load_model, make_context

            settings: Settings = self.copilot.settings()
            self._context = make_context(
                settings,
                open_published(settings.home),
                use_cache=self.use_cache,
                language_model=load_model(settings),
            )
        context: AskContext = self._context
        return context


@contextmanager
def failures() -> Iterator[None]:
    """Turn our own errors into failures of the op."""
    try:
        yield
    except CopilotError as error:
        raise dg.Failure(str(error), allow_retries=error.retryable) from error


@dg.op(description="Checks the question and its restrictions.", out=dg.Out(Any))
def question(context: dg.OpExecutionContext, config: QuestionConfig) -> Any:
    """Return the state the first stage takes."""
    from dagster_project.question import make_filters
    from retrieval.copilot import start

    with failures():
        filters = make_filters(config.papers, config.sections, config.min_year, config.max_year)
        return start(
            config.question,
            mode=config.mode,  # type: ignore[arg-type]  # checked there, with a message that names the modes
            top_k=config.top_k or None,
            filters=filters,
        )


def make_stage_op(name: str, description: str) -> dg.OpDefinition:
    """Return the op of one stage; its output metadata is the stage's entry in the ledger."""

    @dg.op(name=name, description=description, ins={"state": dg.In(Any)}, out=dg.Out(Any))
    def stage(context: dg.OpExecutionContext, session: dg.ResourceParam[AskSession], state: Any) -> Any:
        from retrieval.pipeline import STAGES as FUNCTIONS

        with failures():
            after = dict(FUNCTIONS)[name](state, session.context())
        record = after.stages[-1]
        metadata: dict[str, Any] = {
            "seconds": record.seconds,
            "num_in": record.num_in,
            "num_out": record.num_out,
            "detail": dg.MetadataValue.json(json.loads(json.dumps(record.detail, default=str))),
        }
        if record.usd:
            metadata |= {"usd": record.usd, "tokens": record.input_tokens + record.output_tokens}
        if record.degraded:
            metadata["degraded"] = "; ".join(record.degraded)
            context.log.warning(f"{name} degraded: {metadata['degraded']}")
        context.log.info(f"{name}: {record.num_in} in, {record.num_out} out, {record.seconds:.3f} s")
        context.add_output_metadata(metadata)
        return after

    return stage


@dg.op(
    description="The finished answer, saved: Markdown, citations, scores.", ins={"state": dg.In(Any)}, out=dg.Out(Any)
)
def answer(context: dg.OpExecutionContext, session: dg.ResourceParam[AskSession], state: Any) -> Any:
    """Return the answer's record and show it as the output's metadata."""
    from retrieval.copilot import finish

    with failures():
        record = finish(state, session.context())
    context.add_output_metadata(describe_answer(record))
    return record


def describe_answer(record: "AnswerRecord") -> dict[str, Any]:
    """Return an answer as Dagster metadata: Markdown, a table of citations, scores."""
    from retrieval.quoted_sources import answer_with_quotes

    metadata: dict[str, Any] = {
        "question": record.question,
        "answer": dg.MetadataValue.md(answer_with_quotes(record)),
        "answer_id": record.answer_id,
        "writer": record.writer,
        "generation": record.generation,
        "abstained": record.abstained,
        "cached": record.cached,
        "num_citations": len(record.citations),
        "num_evidence": len(record.evidence),
        "num_splits": len(record.splits),
        "usd": record.cost.usd,
    }
    if record.faithfulness.score is not None:
        metadata["faithfulness"] = record.faithfulness.score
    if record.citations:
        rows = [
            dg.TableRecord(
                {
                    "n": citation.n,
                    "title": citation.title,
                    "section": citation.section,
                    "pages": citation.pages,
                    "quote": citation.quote,
                    "chunk": citation.chunk_id,
                }
            )
            for citation in record.citations
        ]
        metadata["citations"] = dg.MetadataValue.table(rows)
    return metadata


@dg.config_mapping
def map_ask_config(config: AskConfig) -> dict[str, Any]:
    """Turn the flat form into the config of the first op, the resources and the log."""
    asked = {name: getattr(config, name) for name in QuestionConfig.model_fields}
    return {
        "ops": {"question": {"config": asked}},
        "resources": {
            "copilot": {"config": {"home": config.home}},
            "session": {"config": {"use_cache": config.use_cache}},
        },
        "loggers": configure_console(config.log_level),
    }


_copilot = CopilotResource.configure_at_launch()


@dg.job(
    name=ASK_JOB,
    description="Answers one question from the published corpus, with citations that can be checked.",
    config=map_ask_config,
    executor_def=dg.in_process_executor,
    resource_defs={
        "copilot": _copilot,
        "session": AskSession.configure_at_launch(copilot=_copilot),
        "io_manager": dg.mem_io_manager,  # states go from stage to stage in memory
    },
)
def ask_job() -> None:
    """Chain the stages."""
    state = question()
    for name, description in STAGES.items():
        state = make_stage_op(name, description)(state)
    answer(state)
