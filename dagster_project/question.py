"""Run the ask job in this process, and what the commands about questions share with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from corpus_assets.errors import BadInputError, NothingPublishedError
from corpus_assets.model import SectionKind
from corpus_assets.paths import unescape_path

if TYPE_CHECKING:
    from corpus_assets.settings import Settings
    from dagster_project.resources import ProgressCallback
    from retrieval.answer import AnswerRecord
    from retrieval.filters import Filters


def run_ask(
    settings: Settings,
    question: str,
    *,
    mode: str = "standard",
    top_k: int = 0,
    papers: Sequence[str] = (),
    sections: Sequence[str] = (),
    min_year: int = 0,
    max_year: int = 0,
    use_cache: bool = True,
    progress: ProgressCallback | None = None,
    is_debug: bool = False,
) -> AnswerRecord:
    """Answer a question by the ``ask`` job; the run is in Dagster's history.

    What is plainly wrong (an empty question, nothing published) is refused before a run is started.
    Raises ``BadInputError`` or ``NothingPublishedError``.
    """
    from corpus_assets.store.publish import published_id
    from retrieval.answer import AnswerRecord
    from retrieval.plan import check_question

    check_question(question)
    make_filters(papers, sections, min_year, max_year)
    if published_id(settings.home) is None:
        raise NothingPublishedError(
            f"No corpus is published in {settings.home}: no generation, 0 papers.",
            hint="Run `research-copilot ingest FOLDER` first.",
        )
    from dagster_project.ask_job import ASK_JOB
    from dagster_project.runs import run_job

    config = {
        "question": question,
        "mode": mode,
        "top_k": top_k,
        "papers": list(papers),
        "sections": list(sections),
        "min_year": min_year,
        "max_year": max_year,
        "use_cache": use_cache,
        "home": str(settings.home),
    }
    result = run_job(ASK_JOB, settings, run_config=config, progress=progress, is_debug=is_debug)
    record = result.output_for_node("answer")
    assert isinstance(record, AnswerRecord)
    return record


def make_filters(
    papers: Sequence[str],
    sections: Sequence[str],
    min_year: int,
    max_year: int,
    *,
    include_retracted: bool | None = None,
) -> Filters | None:
    """Return what a search is restricted to, or None. Raises ``BadInputError`` for an unknown kind of section."""
    from retrieval.filters import Filters

    kinds = [kind.value for kind in SectionKind]
    unknown = [kind for kind in sections if kind not in kinds]
    if unknown:
        raise BadInputError(f"Unknown kind of section {unknown[0]!r}.", hint=f"Use one of {', '.join(kinds)}.")
    filters = Filters(
        paper_ids=frozenset(papers),
        section_kinds=frozenset(SectionKind(kind) for kind in sections),
        min_year=min_year or None,
        max_year=max_year or None,
        include_retracted=include_retracted,
    )
    return None if filters.is_empty else filters


def built_from(settings: Settings) -> Path:
    """Return the folder the published corpus was built from, or the one the settings name when nothing is published."""
    from corpus_assets.store.generation import open_published

    try:
        with open_published(settings.home) as generation:
            folder = generation.manifest.papers_dir
    except NothingPublishedError:
        return settings.papers_dir
    return Path(unescape_path(folder)) if folder else settings.papers_dir
