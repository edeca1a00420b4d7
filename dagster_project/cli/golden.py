"""Golden sets of one's own, and the manual sample: draft, judge, check; draw, label, report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corpus_assets.errors import BadInputError
from dagster_project.cli.invocation import Invocation, command
from dagster_project.cli.report_files import write_json_report
from dagster_project.cli.terminal import make_safe, print_json, print_note, print_table, print_text

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Make and check golden sets of your own.")

DEFAULT_GOLDEN = Path(__file__).parents[2] / "evaluation" / "fixtures" / "document_evidence" / "bench_v1.json"

Golden = Annotated[Path, typer.Option("--golden", help="The golden set (JSON) whose questions are used.")]
DraftFile = Annotated[Path, typer.Argument(metavar="DRAFT", help="The draft (JSON).")]


def add_to(parent: typer.Typer) -> None:
    """Register this file's commands."""
    command(app)(draft)
    command(app)(judge)
    command(app)(finish)
    command(app)(lint)
    command(app)(losses)
    parent.add_typer(app, name="golden")
    command(parent)(sample)


def draft(
    call: Invocation,
    path: DraftFile,
    *,
    num: Annotated[int, typer.Option("-n", "--num", help="Cases drafted.", min=1)] = 20,
    queries: Annotated[Path | None, typer.Option(help="A text file of questions, one a line.")] = None,
    from_feedback: Annotated[bool, typer.Option("--from-feedback", help="Questions people gave feedback on.")] = False,
) -> None:
    """Draft cases from the published corpus; nothing counts until a person judged it."""
    from corpus_assets.store.generation import open_published
    from evaluation.bench import open_embedder
    from evaluation.golden import draft_golden

    settings = call.settings()
    asked: list[str] = []
    if queries is not None:
        if not queries.is_file():
            raise BadInputError(f"The file of questions {queries} does not exist.", hint="One question a line.")
        asked = [line.strip() for line in queries.read_text("utf-8").splitlines() if line.strip()]
    if from_feedback:
        from retrieval.feedback import draft_cases, list_feedback
        from retrieval.state_store import StateStore

        asked += [case.query for case in draft_cases(list_feedback(StateStore(settings.home)))]
        if not asked:
            raise BadInputError("No feedback with something to check is stored.", hint="research-copilot feedback")
    with open_published(settings.home) as generation:
        embedder = open_embedder(generation, settings)
        count = draft_golden(generation, path, settings=settings, embedder=embedder, num=num, queries=asked)
    if call.as_json:
        print_json({"draft": path, "num_cases": count})
    else:
        print_text(f"{count} cases drafted in {path}. Next: research-copilot golden judge {path}")


def judge(call: Invocation, path: DraftFile) -> None:
    """Judge a draft's passages in the terminal; every answer is saved at once."""
    import sys

    from evaluation.golden import judge_golden

    def ask(prompt: str) -> str:
        print(make_safe(prompt), end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        return line if line else "q"  # the end of the input ends the sitting

    count = judge_golden(path, ask=ask, show=lambda text: print(make_safe(text), file=sys.stderr))
    if call.as_json:
        print_json({"draft": path, "num_judged": count})
    else:
        print_text(f"{count} passages judged. Next: research-copilot golden finish {path} GOLDEN.json")


def finish(
    call: Invocation,
    path: DraftFile,
    golden: Annotated[Path, typer.Argument(metavar="GOLDEN", help="The golden set to write (JSON).")],
    *,
    description: Annotated[str, typer.Option(help="What the set is about and who judged it.")] = "Judged by hand.",
) -> None:
    """Write a draft's judged cases as a golden set."""
    from corpus_assets.store.generation import open_published
    from evaluation.golden import finish_golden

    with open_published(call.settings().home) as generation:
        fixture = finish_golden(path, golden, generation, description=description)
    if call.as_json:
        print_json({"golden": golden, "num_cases": len(fixture.cases)})
    else:
        print_text(f"{len(fixture.cases)} cases written to {golden}.")


def lint(call: Invocation, golden: Annotated[Path, typer.Argument(metavar="GOLDEN")]) -> int:
    """Say what is wrong with a golden set or weak about it; exit 1 for errors."""
    from corpus_assets.store.generation import open_published
    from corpus_assets.store.publish import published_id
    from evaluation.golden import lint_golden

    settings = call.settings()
    if published_id(settings.home) is None:
        print_note("Note: no corpus is published, so labels are not compared with its passages.")
        findings = lint_golden(golden)
    else:
        with open_published(settings.home) as generation:
            findings = lint_golden(golden, generation)
    num_errors = sum(finding.severity == "ERROR" for finding in findings)
    if call.as_json:
        print_json({"findings": findings, "num_errors": num_errors})
    else:
        for finding in findings:
            print_text(str(finding))
        print_text(f"{num_errors} errors, {len(findings) - num_errors} warnings.")
    return 1 if num_errors else 0


def losses(
    call: Invocation,
    golden: Annotated[Path, typer.Argument(metavar="[GOLDEN]", help="Default: the sample corpus' own.")] = (
        DEFAULT_GOLDEN
    ),
    *,
    min_relevance: Annotated[int, typer.Option(help="Passages judged at least so relevant.", min=1, max=3)] = 2,
    output: Annotated[Path | None, typer.Option(help="Write every passage's fate (JSON) to this file.")] = None,
) -> None:
    """Ask every question of a golden set and name the stage that lost each judged passage."""
    from corpus_assets.store.generation import open_published
    from evaluation.losses import find_losses

    if not golden.is_file():
        raise BadInputError(f"The golden set {golden} does not exist.", hint="Name a JSON file.")
    settings = call.settings()
    with open_published(settings.home) as generation:
        document = find_losses(golden, generation, settings=settings, min_relevance=min_relevance)
    if output is not None:
        write_json_report(output, document)
    if call.as_json:
        print_json(document)
        return
    print_text(f"{document['num_passages']} judged passages of {document['num_cases']} cases\n")
    print_table(("stage", "passages"), [(stage, str(num)) for stage, num in document["stages"].items()])
    rows = [(row["case_id"], row["chunk_ref"], row["stage"], row["reason"]) for row in document["passages"]]
    print_text("")
    print_table(("case", "passage", "lost by", "because"), [row for row in rows if row[2] != "cited"], max_width=60)


def sample(
    call: Invocation,
    *,
    folder: Annotated[Path, typer.Option("--folder", help="Where the page, the labels and the key are.")] = Path(
        "sample"
    ),
    n: Annotated[int, typer.Option("-n", "--n", help="Questions drawn.", min=1)] = 20,
    golden: Golden = DEFAULT_GOLDEN,
    labelled: Annotated[
        bool, typer.Option("--labelled", help="Open the labels and report, instead of drawing.")
    ] = False,
) -> None:
    """Draw a blind page of hits per mode to label grounded, broad or miss; with --labelled, report on it."""
    settings = call.settings()
    if labelled:
        from evaluation.sampling import label_sample

        report = label_sample(folder, home=settings.home)
        if call.as_json:
            print_json(report)
            return
        names = ("grounded", "broad", "miss")
        rows = [(mode, *(f"{shares[name]:.0%}" for name in names)) for mode, shares in report["modes"].items()]
        print_table(("mode", *names), rows)
        return
    from corpus_assets.store.generation import open_published
    from evaluation.bench import open_embedder
    from evaluation.cases import load_fixture
    from evaluation.sampling import LABELS_FILE, PAGE_FILE, sample_hits

    queries = {case.case_id: case.query for case in load_fixture(golden).cases}
    with open_published(settings.home) as generation:
        embedder = open_embedder(generation, settings)
        count = sample_hits(generation, queries, folder, settings=settings, embedder=embedder, num=n)
    if call.as_json:
        print_json({"folder": folder, "num_items": count})
    else:
        print_text(f"{count} passages: read {folder / PAGE_FILE}, fill in {folder / LABELS_FILE}, then run")
        print_text(f"research-copilot sample --folder {folder} --labelled")
