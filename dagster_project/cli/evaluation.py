"""Measure retrieval on judged cases, and judge the published corpus by its gates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpus_assets.errors import BadInputError, GateFailedError
from dagster_project.cli.golden import DEFAULT_GOLDEN, Golden
from dagster_project.cli.invocation import Invocation, command
from dagster_project.cli.report_files import require_writable, write_json_report
from dagster_project.cli.terminal import print_json, print_note, print_table, print_text

if TYPE_CHECKING:
    from corpus_assets.settings import Settings

METRICS = ("ndcg@10", "recall@10", "recall@100", "mrr@10", "hit_rate@10", "avg_latency_ms", "p95_latency_ms")


def add_to(app: typer.Typer) -> None:
    """Register this file's commands."""
    command(app)(bench)
    command(app)(gate)
    command(app)(ab)


def bench(
    call: Invocation,
    fixture: Annotated[
        str, typer.Argument(metavar="FIXTURE", help="A golden set (JSON), or the word beir, or the word answers.")
    ],
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="After beir: the collection's folder.")] = None,
    *,
    qrels: Annotated[str, typer.Option(help="Of a BEIR collection: which judgments, e.g. test.")] = "test",
    retrieval: Annotated[
        str, typer.Option(metavar="MODE,…", help="fts_only, embedding_only, hybrid, hybrid_rerank.")
    ] = "fts_only,embedding_only,hybrid",
    embedder: Annotated[
        str,
        typer.Option(
            metavar="NAME,…",
            help="default, hash, bge-small, a name or path, api (the embedding API of the settings), or live: the real "
            "model, hash, and the API if set up. Several are reported side by side; floors judge the first. Default: "
            "the corpus's own.",
            show_default=False,
        ),
    ] = "",
    output: Annotated[Path | None, typer.Option(help="Write the whole report (JSON) to this file.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write the report as one self-contained page.")] = None,
    fail_under_hybrid_recall: Annotated[
        float | None, typer.Option(help="Exit 1 when hybrid's recall@10 is lower.", min=0, max=1)
    ] = None,
    fail_under_hybrid_hit_rate: Annotated[
        float | None, typer.Option(help="Exit 1 when hybrid's hit rate@10 is lower.", min=0, max=1)
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Of answers: the folder of judged data; what needs none runs without.")
    ] = None,
    suite: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Of answers: only this suite.")] = None,
    part: Annotated[str, typer.Option(help="Of answers: test (measured), or dev (to look for what to mend).")] = "test",
    limit: Annotated[int, typer.Option(help="Of answers: most questions a suite; 0: as each wants.", min=0)] = 0,
) -> int:
    """Measure the retrieval modes on a golden set or a BEIR collection, or (`bench answers`) whole answers."""
    from evaluation.runner import require_floors

    for target in (output, html):
        if target is not None:
            require_writable(target)
    modes = [mode.strip() for mode in retrieval.split(",") if mode.strip()]
    settings = call.settings()
    if fixture == "answers":
        from dagster_project.cli.answer_suites import bench_answers, print_answer_suites

        report = bench_answers(settings, data, suite or [], embedder, part, limit)
        if output is not None:
            write_json_report(output, report)
        if call.as_json:
            print_json(report)
        else:
            print_answer_suites(report)
        return 0 if report["passed"] else 1
    if fixture == "beir":
        report = _bench_beir(settings, folder, qrels, embedder, modes)
    else:
        report = _bench_fixture(settings, Path(fixture), embedder, modes)
    if output is not None:
        write_json_report(output, report)
    if html is not None:
        from evaluation.report import write_report

        print_note(f"Page written to {write_report(report, html, tiers=report.get('tiers'))}")
    failure = ""
    try:
        require_floors(report, hybrid_recall=fail_under_hybrid_recall, hybrid_hit_rate=fail_under_hybrid_hit_rate)
    except GateFailedError as error:
        failure = str(error)
    if call.as_json:
        print_json(report)
    else:
        _print_bench(report)
    if failure:
        print_note(f"Error: {failure}")
    return 1 if failure else 0


def _bench_beir(settings: Settings, folder: Path | None, qrels: str, embedder: str, modes: list[str]) -> dict[str, Any]:
    from evaluation.bench import bench_beir

    if folder is None:
        raise BadInputError("`bench beir` needs the folder of a collection.", hint="bench beir DIR --qrels test")
    if not folder.is_dir():
        raise BadInputError(f"The collection's folder {folder} does not exist.", hint="Name an existing folder.")
    return bench_beir(folder, qrels=qrels, settings=settings, embedder=embedder or "default", modes=modes)


def _bench_fixture(settings: Settings, path: Path, embedder: str, modes: list[str]) -> dict[str, Any]:
    from corpus_assets.store.generation import open_published
    from evaluation.bench import bench_fixture
    from evaluation.embedders import name_embedders
    from evaluation.tiers import bench_tiers, compare_tiers

    if not path.is_file():
        raise BadInputError(f"The golden set {path} does not exist.", hint="Name a JSON file, or `beir DIR`.")
    with open_published(settings.home) as generation:
        if not embedder:
            return bench_fixture(path, generation, settings=settings, modes=modes)
        names = name_embedders(embedder, settings, generation.manifest.embedder.name)
        reports = bench_tiers(path, generation, settings=settings, embedders=names, modes=modes)
    report = reports[names[0]]
    return report if len(names) == 1 else {**report, "tiers": compare_tiers(reports)}


def _print_bench(report: dict[str, Any]) -> None:
    num_docs = report["corpus"]["num_docs"]
    print_text(f"{num_docs} documents, {report['num_cases']} cases, embedder {report['embedder']}\n")
    names = [name for name in METRICS if any(name in mode for mode in report["modes"].values())]
    rows = [[mode, *(_number(values.get(name)) for name in names)] for mode, values in report["modes"].items()]
    print_table(("mode", *names), rows)
    decision = report["decision"]
    if decision:
        print_text(f"\nServe {decision['mode']}: {decision['reason']}")
    if report.get("rerank"):
        print_text(f"Rerank: {report['rerank']['reason']}.")
    if report.get("peers"):
        _print_peers(report)
    if report.get("tiers"):
        _print_tiers(report["tiers"])


def _print_tiers(tiers: dict[str, Any]) -> None:
    names = list(tiers["tiers"])
    print_text("\nThe same cases with each embedder:\n")
    shown = [row for row in tiers["rows"] if row["metric"] in METRICS]
    print_table(
        ("mode", "metric", *names),
        [(row["mode"], row["metric"], *map(_number, (row[n] for n in names))) for row in shown],
    )
    compared = [row for row in tiers["comparisons"] if row["metric"] == "ndcg@10"]
    print_text("\nDifferences in nDCG@10, paired:\n")
    print_table(
        ("embedders", "mode", "difference", "95 % interval", "p (Holm)", "detectable"),
        [
            (
                f"{row['a']} - {row['b']}",
                row["mode"],
                _number(row["diff"]),
                _interval(row["ci95"]),
                _number(row["p_holm"]),
                _number(row["minimum_detectable"]),
            )
            for row in compared
        ],
    )
    for name, tier in tiers["tiers"].items():
        print_text(f"{name}: serve {tier['decision']['mode']}" if tier["decision"] else f"{name}: no decision")


def _print_peers(report: dict[str, Any]) -> None:
    peers = report["peers"]
    print_text(f"\nBeside them, the same questions on {report['machine']['num_cores']} core(s):")
    names = [name for name in METRICS if any(name in peer for peer in peers.values())]
    rows = [
        [peer, *(_number(row.get(name)) for name in names), row.get("absent") or row["what"]]
        for peer, row in peers.items()
    ]
    print_table(("peer", *names, ""), rows)


def gate(
    call: Invocation,
    *,
    generation: Annotated[str, typer.Option(help="A generation's id; default: the published one.")] = "",
) -> int:
    """Judge the published corpus anew by every gate; exit 1 when a blocking one fails."""
    from evaluation.gates import describe_results, run_gates

    document = describe_results(run_gates(call.settings(), generation_id=generation or None))
    if call.as_json:
        print_json(document)
    else:
        gates: Any = document["gates"]
        rows = [
            (_verdict(row), row["name"], _number(row["value"]), _number(row["floor"]), row["detail"]) for row in gates
        ]
        print_table(("", "gate", "value", "floor", ""), rows, max_width=100)
        print_text("\nEvery blocking gate passed." if document["passed"] else "\nNot good enough to publish.")
    return 0 if document["passed"] else 1


def ab(
    call: Invocation,
    a: Annotated[Path, typer.Argument(help="Arm A (TOML), or the name of a ready-made experiment.")],
    b: Annotated[Path | None, typer.Argument(metavar="[B]", help="Arm B (TOML).")] = None,
    *,
    golden: Golden = DEFAULT_GOLDEN,
    bundle: Annotated[Path | None, typer.Option(help="Keep the frozen inputs in this file.")] = None,
) -> None:
    """Run two arms on byte-identical frozen inputs and compare them case by case."""
    from corpus_assets.store.generation import open_published
    from evaluation.ab import list_experiments, run_ab
    from retrieval.copilot import load_model

    if b is None:
        ready = list_experiments()
        if str(a) not in ready:
            raise BadInputError(f"There is no experiment {a}.", hint=f"Two files, or one of {', '.join(ready)}.")
        a, b = ready[str(a)]
    settings = call.settings()
    model = load_model(settings)
    with open_published(settings.home) as generation:
        document = run_ab(a, b, golden, generation, settings=settings, language_model=model, bundle_path=bundle)
    if call.as_json:
        print_json(document)
        return
    print_text(f"A: {document['a']['name']}, B: {document['b']['name']}, {document['num_cases']} cases\n")
    rows = [
        (
            metric,
            str(row["num_cases"]),
            *(_number(row[name]) for name in ("a", "b", "diff")),
            _interval(row["ci95"]),
            _number(row["p_holm"]),
            _number(row["minimum_detectable"]),
        )
        for metric, row in document["metrics"].items()
    ]
    print_table(("metric", "cases", "A", "B", "B - A", "95 % interval", "p (Holm)", "detectable"), rows)
    for name in ("a", "b"):
        spent = document["totals"][name]
        if spent:
            print_text(
                f"\n{name.upper()} spent: " + ", ".join(f"{what} {_number(much)}" for what, much in spent.items())
            )
    if document["is_budget_matched"] is not None:
        kept = (
            "as many papers as B in every case" if document["is_budget_matched"] else "OTHER numbers of papers than B"
        )
        print_text(f"\nBudget: A kept {kept}.")


def _interval(ends: list[float]) -> str:
    return " to ".join(_number(end) for end in ends)


def _verdict(row: dict[str, Any]) -> str:
    return "passed" if row["passed"] else "FAILED" if row["severity"] == "ERROR" else "warning"


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)
