"""The library's face: ingest, search, ask, verify."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from corpus_assets.cores import num_cores
from corpus_assets.errors import BadInputError, CopilotError
from corpus_assets.settings import AnswerMode, RetrievalMode, Settings, fingerprint
from retrieval.answer import AnswerRecord, Cost, EvidenceItem, NextStep, Split, SplitSide, StageRecord, SubQueryRecord
from retrieval.answer_cache import AnswerCache
from retrieval.asking import AskContext, AskState
from retrieval.citations import PaperResolver, VerificationReport, verify_answer
from retrieval.decision import stored_mode
from retrieval.pipeline import run_stages
from retrieval.plan import check_question
from retrieval.state_store import StateStore
from retrieval.writing.compose import HEADINGS
from retrieval.writing.escape import escape_markdown

if TYPE_CHECKING:
    from corpus_assets.build import IngestReport
    from corpus_assets.embedding.protocol import Embedder
    from corpus_assets.store.generation import Generation
    from retrieval.filters import Filters
    from retrieval.llm.protocol import LanguageModel
    from retrieval.search import SearchResult
    from retrieval.stance import StanceModel

MODEL_STAGES = frozenset({"plan", "shortlist", "themes", "write", "verify_claims"})
MAX_THREADS = 4
ABSTENTION = "Not enough evidence in the corpus to answer this."


def ask(
    question: str,
    *,
    settings: Settings | None = None,
    mode: AnswerMode = "standard",
    generation: Generation | None = None,
    use_cache: bool = True,
    top_k: int | None = None,
    filters: Filters | None = None,
    language_model: LanguageModel | None = None,
    stance_model: StanceModel | None = None,
    save: bool = True,
) -> AnswerRecord:
    """Answer a question from the published corpus (or ``generation``), with citations, and save the answer.

    Without ``language_model`` the one the settings and the environment name is used, with a budget for this question.
    Raises ``BadInputError`` for an empty question or unknown mode, ``NothingPublishedError`` without a corpus.
    """
    settings = settings or Settings()
    state = start(question, mode=mode, top_k=top_k, filters=filters)
    if language_model is None:
        language_model = load_model(settings)
    if generation is not None:
        ctx = make_context(
            settings, generation, use_cache=use_cache, language_model=language_model, stance_model=stance_model
        )
        return finish(run_stages(state, ctx), ctx, save=save)
    from corpus_assets.store.generation import open_published

    with open_published(settings.home) as published:
        ctx = make_context(
            settings, published, use_cache=use_cache, language_model=language_model, stance_model=stance_model
        )
        return finish(run_stages(state, ctx), ctx, save=save)


def load_model(settings: Settings) -> LanguageModel | None:
    """Return the configured language model with a fresh budget for one question, or None without a key."""
    from retrieval.llm.anthropic_model import load_language_model

    return load_language_model(settings.llm, settings.llm.budget_usd_per_question)


def start(
    question: str, *, mode: AnswerMode = "standard", top_k: int | None = None, filters: Filters | None = None
) -> AskState:
    """Return the state the first stage takes. Raises ``BadInputError``."""
    if mode not in get_args(AnswerMode):
        raise BadInputError(f"Unknown mode {mode!r}.", hint=f"Use one of {', '.join(get_args(AnswerMode))}.")
    if top_k is not None and top_k < 1:
        raise BadInputError(f"top_k is {top_k}.", hint="Use 1 or more.")
    return AskState(question=check_question(question), mode=mode, top_k=top_k, filters=filters)


def make_context(
    settings: Settings,
    generation: Generation,
    *,
    use_cache: bool = True,
    language_model: LanguageModel | None = None,
    stance_model: StanceModel | None = None,
) -> AskContext:
    """Return what the stages work with: the served retrieval mode, and models that load when first needed."""

    def load() -> Embedder:
        from corpus_assets.embedding.registry import load_embedder

        # The number of threads changes no vector, only the time the sentences of the passages take.
        threads = settings.run.threads or min(MAX_THREADS, num_cores())
        return load_embedder(generation.manifest.embedder.name, settings.models_path, threads=threads)

    mode, degraded = serving_mode(settings, generation.id)
    return AskContext(
        settings=settings,
        generation=generation,
        retrieval_mode=mode,
        language_model=language_model,
        stance_model=stance_model,
        load_embedder=load,
        use_cache=use_cache,
        setup_degraded=degraded,
    )


def serving_mode(settings: Settings, generation_id: str) -> tuple[RetrievalMode, tuple[str, ...]]:
    """Return the retrieval mode to serve: the setting, else the stored decision, else hybrid."""
    if settings.retrieval.mode != "auto":
        return settings.retrieval.mode, ()
    try:
        decided = stored_mode(settings.home, generation_id)
    except CopilotError as error:
        return "hybrid", (f"retrieval decision: {error}; hybrid used",)
    return (decided[0] if decided else "hybrid"), ()


def finish(state: AskState, ctx: AskContext, *, save: bool = True) -> AnswerRecord:
    """Turn the last state into the answer and save it; a failed save is named in ``stages``, never fatal."""
    if state.cached is not None:
        return state.cached.model_copy(
            update={
                "question": state.question,
                "stages": state.stages,
                "cached": True,
                "cached_question": state.cached_question,
                "cost": cost_of(state.stages),
            }
        )
    record = build_record(state, ctx)
    if not save:
        return record
    failure = save_answer(record, state, ctx)
    if failure:
        stage = StageRecord(name="save", seconds=0.0, num_in=1, num_out=0, degraded=(failure,))
        record = record.model_copy(update={"stages": (*record.stages, stage)})
    return record


def build_record(state: AskState, ctx: AskContext) -> AnswerRecord:
    """Return the answer of a finished state."""
    plan = state.planned
    has_answer = state.layout is not None and not state.abstain_reason
    layout = state.layout if has_answer else None
    answer_id = fingerprint(
        {
            "question": state.question,
            "scope": state.cache_scope,
            "generation": ctx.generation.id,
            "mode": state.mode,
            "writer": state.writer,
        }
    )
    steps = layout.steps if layout else abstention_steps(state)
    return AnswerRecord(
        answer_id=answer_id,
        question=state.question,
        mode=state.mode,
        intent=plan.intent,
        writer=state.writer if layout else "none",
        generation=ctx.generation.id,
        abstained=not has_answer,
        abstain_reason=state.abstain_reason,
        answer=layout.text if layout else abstention_text(state, steps),
        next_steps=steps,
        splits=splits_of(state) if layout else (),
        citations=layout.citations if layout else (),
        evidence=tuple(
            EvidenceItem(
                chunk_id=item.chunk_id,
                paper_id=item.paper_id,
                score=item.relevance,
                stance=item.stance,
                stance_reason=item.stance_reason,
            )
            for item in (state.evidence if layout else ())
        ),
        sub_queries=tuple(
            SubQueryRecord(text=item.text, label=item.label, num_passages=state.num_pool.get(index, 0))
            for index, item in enumerate(plan.sub_queries)
        ),
        faithfulness=state.faithfulness,
        stages=state.stages,
        cost=cost_of(state.stages),
        retrieval=ctx.retrieval_mode,
        num_removed_citations=state.num_removed_citations,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def cost_of(stages: Sequence[StageRecord]) -> Cost:
    """Return what the stages spent on a language model."""
    return Cost(
        usd=round(sum(stage.usd for stage in stages), 6),
        input_tokens=sum(stage.input_tokens for stage in stages),
        output_tokens=sum(stage.output_tokens for stage in stages),
        calls=sum(calls for stage in stages if isinstance(calls := stage.detail.get("num_calls"), int)),
    )


def is_as_configured(record: AnswerRecord, ctx: AskContext) -> bool:
    """Tell whether the configured model did its part: an answer that fell back is not kept for the next who asks."""
    model = ctx.language_model
    return model is None or (
        record.writer == model.name and not any(stage.degraded for stage in record.stages if stage.name in MODEL_STAGES)
    )


def splits_of(state: AskState) -> tuple[Split, ...]:
    """Return the splits that stayed in the answer, with citation numbers."""
    if state.layout is None:
        return ()
    numbers = state.layout.numbers
    found = []
    for split in state.themes.splits:
        sides = tuple(
            SplitSide(
                position=side.position,
                citations=(numbers[side.sentence.key],),
                paper_ids=(side.sentence.paper_id,),
            )
            for side in split.sides
            if side.sentence.key in numbers
        )
        if len(sides) >= 2:
            found.append(Split(label=split.label, basis=split.basis, is_verdict=split.is_verdict, sides=sides))
    return tuple(found)


def abstention_steps(state: AskState) -> tuple[NextStep, ...]:
    """Return what a person can do when there is no answer."""
    if state.planned.clarification:
        return (NextStep(text="Ask again in one full question that names its subject.", is_general=True),)
    return (
        NextStep(text="Ask with other words, or more narrowly, if the papers should cover this.", is_general=True),
        NextStep(text="Add papers on the subject to the folder, ingest, and ask again.", is_general=True),
    )


def abstention_text(state: AskState, steps: tuple[NextStep, ...]) -> str:
    """Return the Markdown of an abstention."""
    first = state.abstain_reason if state.planned.clarification else f"{ABSTENTION} {state.abstain_reason}".strip()
    lines = [f"{number}. {escape_markdown(step.text)} (general)" for number, step in enumerate(steps, start=1)]
    return f"## {HEADINGS['answer']}\n\n{escape_markdown(first)}\n\n## Next steps\n\n" + "\n".join(lines) + "\n"


def save_answer(record: AnswerRecord, state: AskState, ctx: AskContext) -> str:
    """Save an answer and remember it for the cache; return what went wrong, or an empty string."""
    try:
        ctx.store.save_answer(
            record.answer_id,
            record.created_at,
            record.question,
            record.generation,
            record.mode,
            record.model_dump_json(),
        )
        if not record.abstained and is_as_configured(record, ctx) and ctx.settings.retrieval.use_answer_cache:
            AnswerCache(ctx.store, state.cache_scope).put(state.planned.question, record.answer_id, record.created_at)
    except CopilotError as error:
        return f"the answer was not saved: {error}"
    return ""


def search(
    query: str,
    *,
    settings: Settings | None = None,
    mode: RetrievalMode | None = None,
    k: int = 10,
    generation: Generation | None = None,
    filters: Filters | None = None,
) -> SearchResult:
    """Search the published corpus (or ``generation``) for passages."""
    settings = settings or Settings()
    query = check_question(query)
    if k < 1:
        raise BadInputError(f"k is {k}.", hint="Use 1 or more.")
    if mode is not None and mode not in get_args(RetrievalMode):
        raise BadInputError(f"Unknown retrieval {mode!r}.", hint=f"Use one of {', '.join(get_args(RetrievalMode))}.")
    if generation is not None:
        return make_context(settings, generation).search(query, k, filters, mode)
    from corpus_assets.store.generation import open_published

    with open_published(settings.home) as published:
        return make_context(settings, published).search(query, k, filters, mode)


def load_answer(answer: str, *, settings: Settings | None = None) -> AnswerRecord:
    """Return a saved answer by its id, or one read from a JSON file."""
    settings = settings or Settings()
    path = Path(answer)
    if path.suffix == ".json" or path.is_file():
        try:
            return AnswerRecord.model_validate(json.loads(path.read_text("utf-8")))
        except FileNotFoundError as error:
            raise BadInputError(
                f"There is no file {answer}.", hint="Name the JSON that `ask --json` printed."
            ) from error
        except (OSError, ValueError) as error:
            raise BadInputError(f"{answer} is not an answer: {str(error).splitlines()[0]}.") from error
    stored = StateStore(settings.home).load_answer(answer)
    if stored is None:
        raise BadInputError(f"No answer {answer} is saved in {settings.home}.", hint="Ask first, or name a JSON file.")
    return AnswerRecord.model_validate_json(stored)


def verify(
    answer: str | AnswerRecord | Mapping[str, Any],
    *,
    settings: Settings | None = None,
    papers_dir: Path | None = None,
) -> VerificationReport:
    """Check every quote of an answer (an id, a JSON file, or the answer itself) against the papers, parsed anew."""
    settings = settings or Settings()
    if isinstance(answer, str):
        answer = load_answer(answer, settings=settings)
    return verify_answer(answer, PaperResolver(papers_dir or settings.papers_dir, settings))


def ingest(
    folder: Path | str | None = None,
    *,
    settings: Settings | None = None,
    full: bool = False,
    only_papers: tuple[str, ...] = (),
) -> IngestReport:
    """Bring the corpus up to date with a folder of papers and publish it if its gates pass."""
    from corpus_assets import build

    settings = settings or Settings()
    return build.ingest(settings, Path(folder) if folder else settings.papers_dir, full=full, only_papers=only_papers)
