"""Search the published corpus, ask it, and check an answer's quotes against the papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from corpus_assets.errors import BadInputError, CopilotError
from dagster_project.cli.invocation import Invocation, command
from dagster_project.cli.terminal import Progress, print_json, print_markdown, print_note, print_text

if TYPE_CHECKING:
    from corpus_assets.settings import Settings
    from retrieval.answer import AnswerRecord
    from retrieval.filters import Filters

Retrieval = Literal["fts_only", "embedding_only", "hybrid"]
AnswerMode = Literal["brief", "standard", "detailed", "ideas"]

Papers = Annotated[str, typer.Option("--papers", metavar="ID,…", help="Only in these papers.")]
Sections = Annotated[str, typer.Option("--sections", metavar="KIND,…", help="Only in these: abstract, results, …")]
MinYear = Annotated[int, typer.Option("--min-year", help="Only papers of this year or later.", show_default=False)]
MaxYear = Annotated[int, typer.Option("--max-year", help="Only papers of this year or earlier.", show_default=False)]


def add_to(app: typer.Typer) -> None:
    """Register this file's commands."""
    command(app)(search)
    command(app)(ask)
    command(app)(verify)
    command(app)(feedback)


def search(
    call: Invocation,
    query: Annotated[str, typer.Argument(help="Words, identifiers, a sentence.")],
    *,
    retrieval: Annotated[
        Retrieval | None, typer.Option(help="How to search; default: as decided for this corpus.", show_default=False)
    ] = None,
    k: Annotated[int, typer.Option("-k", "--k", help="Most passages shown.", min=1, max=1000)] = 10,
    papers: Papers = "",
    sections: Sections = "",
    min_year: MinYear = 0,
    max_year: MaxYear = 0,
    include_retracted: Annotated[bool, typer.Option("--include-retracted", help="Also retracted papers.")] = False,
) -> None:
    """Find passages; the best sentence of each is shown."""
    from corpus_assets.store.generation import open_published
    from dagster_project.cli.hits import describe_hits
    from retrieval import copilot

    settings = call.settings()
    filters = _make_filters(papers, sections, min_year, max_year, include_retracted=include_retracted or None)
    with open_published(settings.home) as generation:
        found = copilot.search(query, settings=settings, mode=retrieval, k=k, generation=generation, filters=filters)
        rows = describe_hits(generation, query, found.hits)
        document = {"query": query, "retrieval": found.mode, "generation": generation.id, "hits": rows, "ms": found.ms}
    if call.as_json:
        print_json({**document, "degraded": found.degraded})
        return
    for reason in found.degraded:
        print_note(f"Note: {reason}")
    if not rows:
        print_text("No passage found.")
    for row in rows:
        mark = f" [{row['retraction'].upper()}]" if row["retraction"] else ""
        print_text(f"{row['rank']:>3}. {row['title']}{mark}")
        print_text(
            f"     {row['section']}, page {row['quote_pages'] or row['pages']} · {row['chunk_id']} · {row['score']:.4f}"
        )
        print_text(f"     “{' '.join(row['quote'].split())}”\n")


def ask(
    call: Invocation,
    question: Annotated[
        str | None, typer.Argument(help="One full question; none with --interactive.", show_default=False)
    ] = None,
    *,
    interactive: Annotated[
        bool, typer.Option("--interactive", help="Read questions from stdin, one a line, until exit, quit or its end.")
    ] = False,
    mode: Annotated[AnswerMode, typer.Option(help="How much to write.")] = "standard",
    top_k: Annotated[int, typer.Option(help="Most passages kept as evidence; 0: as set.", min=0)] = 0,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Do not take an earlier answer.")] = False,
    html: Annotated[Path | None, typer.Option(help="Also write the answer as one self-contained page.")] = None,
    papers: Papers = "",
    sections: Sections = "",
    min_year: MinYear = 0,
    max_year: MaxYear = 0,
) -> None:
    """Answer a question from the published corpus, each statement with a quote that can be checked.

    With --interactive everything stays loaded between questions, an error ends its question only, and a corpus
    published meanwhile is taken up; with --json each answer is one line.
    """
    if interactive:
        if question is not None:
            raise BadInputError("--interactive reads questions from stdin.", hint="Leave QUESTION out, or the option.")
        if html is not None:
            raise BadInputError("--html and --interactive exclude each other.", hint="Give one of them.")
        _converse(
            call,
            {"mode": mode, "top_k": top_k or None, "use_cache": not no_cache},
            _make_filters(papers, sections, min_year, max_year),
        )
        return
    if question is None:
        raise BadInputError("No question is given.", hint="Give one, in quotes, or --interactive.")
    from dagster_project.question import run_ask

    if html is not None and not html.absolute().parent.is_dir():
        raise BadInputError(f"The folder of {html} does not exist.", hint="Name a file in an existing folder.")
    with Progress(is_quiet=call.as_json) as progress:
        record = run_ask(
            call.settings(),
            question,
            mode=mode,
            top_k=top_k,
            papers=_split(papers),
            sections=_split(sections),
            min_year=min_year,
            max_year=max_year,
            use_cache=not no_cache,
            progress=progress if call.is_debug else None,
            is_debug=call.is_debug,
        )
    if html is not None:
        _write_page(call.settings(), html, record)
    if call.as_json:
        print_json(record)
    else:
        _print_answer(record)


def _converse(call: Invocation, options: dict[str, Any], filters: Filters | None) -> None:
    """Answer stdin's questions without a Dagster run for each: a run's records take longer than a warm answer."""
    from dagster_project.agent_desk import AgentDesk
    from dagster_project.cli.interactive import answer_lines

    def show(record: AnswerRecord) -> None:
        if call.as_json:
            print_json(record, is_compact=True)
        else:
            _print_answer(record)
            print_text()

    desk = AgentDesk(call.settings(), saves=True)
    try:
        desk.warm_up()
        answer_lines(call, lambda question: desk.answer(question, filters=filters, **options), show)
    finally:
        desk.close()


def _print_answer(record: AnswerRecord) -> None:
    from retrieval.quoted_sources import answer_with_quotes

    print_markdown(answer_with_quotes(record))
    _print_footer(record)


def _write_page(settings: Settings, path: Path, record: AnswerRecord) -> None:
    """Write the answer's page; quotes are shown in context when its generation is still there."""
    from corpus_assets.store.atomic import write_atomic
    from corpus_assets.store.generation import open_generation
    from retrieval.render import quote_context, render_html

    try:
        with open_generation(settings.home, record.generation) as generation:
            page = render_html(record, quote_context(generation))
    except CopilotError as error:
        print_note(f"Note: quotes are shown without context ({error})")
        page = render_html(record)
    write_atomic(path.absolute(), page)
    print_note(f"Page written to {path}")


def _print_footer(record: AnswerRecord) -> None:
    """Say on stderr who wrote the answer, how it was checked, and what did not run as configured."""
    if record.cached:
        print_note(f"From the cache: first asked as “{record.cached_question or record.question}”.")
    for note in record.notes:
        print_note(f"Note: {note}")
    for stage in record.stages:
        for reason in stage.degraded:
            print_note(f"Degraded, {stage.name}: {reason}")
    score = record.faithfulness.score
    checked = "" if score is None else f", {score:.0%} of its claims borne out by their quotes"
    removed = len(record.faithfulness.removed)
    dropped = f" ({removed} removed)" if removed else ""
    cost = f", {record.cost.usd:.4f} USD" if record.cost.calls else ""
    print_note(f"Answer {record.answer_id}, written by {record.writer}{checked}{dropped}{cost}.")


def verify(
    call: Invocation,
    answer: Annotated[str, typer.Argument(metavar="ANSWER", help="The JSON of `ask --json`, or an answer's id.")],
    *,
    papers_dir: Annotated[
        Path | None, typer.Option(help="The folder of papers; default: the one the corpus was built from.")
    ] = None,
) -> int:
    """Check every quote of an answer against the papers themselves, read anew; exit 1 if one does not hold."""
    from dagster_project.question import built_from
    from retrieval import copilot

    settings = call.settings()
    report = copilot.verify(answer, settings=settings, papers_dir=papers_dir or built_from(settings))
    if call.as_json:
        print_json(report)
    else:
        for failure in report.failures:
            print_text(f"FAILED [{failure.n}]: {failure.reason}")
        print_text(f"{report.num_ok} of {report.num_quotes} quotes stand in the papers exactly as cited.")
    return 0 if report.passed else 1


def feedback(
    call: Invocation,
    answer_id: Annotated[str, typer.Argument(metavar="ANSWER_ID", help="As `ask` printed it.")],
    *,
    rating: Annotated[int, typer.Option(help="1 (useless) to 5 (just right).", min=1, max=5)],
    issue: Annotated[list[str] | None, typer.Option(help="missing_citation, wrong_fact, missing_paper, …")] = None,
    correct_answer: Annotated[str, typer.Option(help="What the answer should have been.")] = "",
    missing_paper: Annotated[list[str] | None, typer.Option(metavar="ID", help="A paper it should have used.")] = None,
    comment: Annotated[str, typer.Option(help="Anything else.")] = "",
) -> None:
    """Say how good an answer was; what can be checked becomes a draft of a golden case."""
    from corpus_assets.store.generation import open_published
    from retrieval.feedback import give_feedback
    from retrieval.state_store import StateStore

    settings = call.settings()
    with open_published(settings.home) as generation:
        known = frozenset(generation.papers)
    stored, is_new = give_feedback(
        StateStore(settings.home),
        answer_id,
        rating=rating,
        issues=issue or (),
        correct_answer=correct_answer,
        missing_papers=missing_paper or (),
        comment=comment,
        known_papers=known,
    )
    if call.as_json:
        print_json({**stored.model_dump(mode="json"), "is_new": is_new, "is_checkable": stored.is_checkable})
        return
    print_text("Thank you, stored." if is_new else "This very feedback is stored already.")
    if stored.is_checkable:
        print_text("A golden case can be made of it: research-copilot golden draft DRAFT.json --from-feedback")


def _make_filters(
    papers: str, sections: str, min_year: int, max_year: int, *, include_retracted: bool | None = None
) -> Filters | None:
    from dagster_project.question import make_filters

    return make_filters(_split(papers), _split(sections), min_year, max_year, include_retracted=include_retracted)


def _split(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]
