"""A bench report a person can read: one self-contained HTML file and the same in Markdown."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus_assets.store.atomic import write_atomic
from evaluation.charts import NEUTRAL, PASSED, as_data_uri, draw_bars, draw_differences, draw_wins

NUM_CASES_SHOWN = 15
METRICS = ("ndcg@10", "recall@10", "recall@100", "mrr@10", "hit_rate@10")

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1d2733;background:#fff}
h1{font-size:1.6rem}h2{font-size:1.15rem;margin-top:2rem;border-bottom:1px solid #d5dbe1}
table{border-collapse:collapse;margin:.6rem 0;font-size:.86rem}
td,th{border:1px solid #d5dbe1;padding:.25rem .55rem;text-align:left;vertical-align:top}
th{background:#f2f5f7}img{max-width:100%;display:block;margin:.6rem 0}
p.key{background:#f2f5f7;padding:.6rem .8rem;border-left:4px solid #5b7083}
"""


@dataclass(frozen=True)
class Text:
    text: str
    is_key: bool = False


@dataclass(frozen=True)
class Table:
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Picture:
    png: bytes
    alt: str


@dataclass(frozen=True)
class Part:
    heading: str
    blocks: Sequence[Text | Table | Picture]


def write_report(
    report: Mapping[str, Any],
    html_path: Path,
    *,
    markdown_path: Path | None = None,
    tiers: Mapping[str, Any] | None = None,
    gates: Mapping[str, Any] | None = None,
    title: str = "Retrieval on judged cases",
) -> Path:
    """Write a bench report as HTML (and Markdown); returns the HTML's path.

    ``tiers`` is what ``tiers.compare_tiers`` returns, ``gates`` what ``gates.describe_results`` returns.
    """
    parts = make_parts(report, tiers=tiers, gates=gates)
    html_path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(html_path, render_html(title, parts))
    if markdown_path is not None:
        markdown_path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(markdown_path, render_markdown(title, parts))
    return html_path


def make_parts(
    report: Mapping[str, Any], *, tiers: Mapping[str, Any] | None = None, gates: Mapping[str, Any] | None = None
) -> list[Part]:
    """Return the report's parts in reading order: verdict first, evidence after."""
    parts = [_decision_part(report), _modes_part(report)]
    if report.get("rerank"):
        parts.append(Part("Reranking", [Text(str(report["rerank"]["reason"]), is_key=True)]))
    if report.get("peers"):
        parts.append(_peers_part(report))
    if report.get("comparisons"):
        parts.append(_comparisons_part(report))
    if any(report.get("slices", {}).values()):
        parts.append(_slices_part(report))
    if tiers:
        parts.append(_tiers_part(tiers))
    if gates:
        parts.append(_gates_part(gates))
    parts += _case_parts(report)
    parts.append(_provenance_part(report))
    return parts


def _decision_part(report: Mapping[str, Any]) -> Part:
    decision = report.get("decision")
    if not decision:
        return Part("Decision", [Text("No decision: fts_only and hybrid were not both measured.", is_key=True)])
    rows = [[name.replace("_", " "), "yes" if passed else "NO"] for name, passed in decision.get("tests", {}).items()]
    blocks: list[Text | Table | Picture] = [Text(str(decision["reason"]), is_key=True)]
    if rows:
        blocks.append(Table(["what hybrid must show", "shown"], rows))
    return Part(f"Decision: {decision['mode']}", blocks)


def _modes_part(report: Mapping[str, Any]) -> Part:
    modes: Mapping[str, Any] = report["modes"]
    rows = []
    for mode, values in modes.items():
        cells = []
        for metric in METRICS:
            low, high = values["ci95"][metric]
            cells.append(f"{values[metric]:.4f} ({low:.3f} to {high:.3f})")
        rows.append([mode, *cells, f"{values['avg_latency_ms']:.1f}", f"{values['p95_latency_ms']:.1f}"])
    served = (report.get("decision") or {}).get("mode", "")
    picture = draw_bars(
        list(modes),
        [values["ndcg@10"] for values in modes.values()],
        colours=[PASSED if mode == served else NEUTRAL for mode in modes],
        floor=None,
        title="nDCG@10 (served mode in green)",
    )
    head = ["mode", *METRICS, "average ms", "p95 ms"]
    note = (
        f"Means over {report['num_cases']} cases, with 95 % bootstrap intervals. Recall is the share of the relevant "
    )
    note += "passages found; hit rate is whether any was found."
    return Part("Modes", [Text(note), Table(head, rows), Picture(picture, "nDCG@10 by mode")])


def _peers_part(report: Mapping[str, Any]) -> Part:
    """Return latency (and ranking) beside what one would take instead."""
    columns = ("ndcg@10", "recall@100", "avg_latency_ms", "p95_latency_ms")
    rows = []
    for name, row in {**report["modes"], **report["peers"]}.items():
        formats = zip(columns, (".4f", ".4f", ".1f", ".1f"), strict=True)
        cells = [format(row[key], form) if key in row else "" for key, form in formats]
        rows.append([name, *cells, row.get("absent") or row.get("what") or "this project"])
    machine = report["machine"]
    note = (
        f"The same questions one after another in a warm process on {machine['num_cores']} core(s), "
        f"{machine['embedding_threads']} embedding thread(s); embedding the question counts wherever a mode needs it."
    )
    head = ["", "nDCG@10", "recall@100", "average ms", "p95 ms", "what"]
    return Part("Latency beside peers", [Text(note), Table(head, rows)])


def _comparisons_part(report: Mapping[str, Any]) -> Part:
    rows, drawn = [], []
    for item in report["comparisons"]:
        low, high = item["ci95"]
        rows.append(
            [
                f"{item['a']} − {item['b']}",
                item["metric"],
                f"{item['diff']:+.4f}",
                f"{low:+.4f} to {high:+.4f}",
                f"{item['p']:.4f}",
                f"{item['p_holm']:.4f}",
                f"{item['wins']} / {item['losses']} / {item['ties']}",
                _or_unknown(item["minimum_detectable"], "{:.4f}"),
                _or_unknown(item["cases_needed"], "{}"),
            ]
        )
        if item["metric"] == "ndcg@10":
            drawn.append((f"{item['a']} − {item['b']}", item["diff"], item["ci95"]))
    head = ["modes", "metric", "difference", "95 % interval", "p", "p (Holm)", "wins / losses / ties", "detectable"]
    needed = report["comparisons"][0]["cases_needed_for"]
    blocks: list[Text | Table | Picture] = [
        Text(
            "Paired over the same cases: bootstrap intervals, sign-flip permutation tests, Holm's correction over the "
            "modes. “Detectable” is the smallest true difference this many cases would show four times in five; "
            f"the last column is how many cases would show {needed:g}."
        ),
        Table([*head, f"cases for {needed:g}"], rows),
    ]
    if drawn:
        blocks.append(Picture(draw_differences(drawn, title="nDCG@10, 95 % interval"), "differences in nDCG@10"))
    return Part("Comparisons", blocks)


def _or_unknown(value: float | None, form: str) -> str:
    return "no spread seen" if value is None else form.format(value)


def _slices_part(report: Mapping[str, Any]) -> Part:
    blocks: list[Text | Table | Picture] = []
    for slice_name, groups in report["slices"].items():
        if not groups:
            continue
        modes = list(report["modes"])
        rows = []
        for group, row in groups.items():
            worse = ", ".join(f"{item['mode']} {item['diff']:+.3f}" for item in row["regressions"]) or "none"
            values = [f"{row['modes'][mode]['ndcg@10']:.3f}" for mode in modes]
            rows.append([group, str(row["num_cases"]), *values, worse])
        blocks.append(
            Text(f"nDCG@10 by {slice_name.replace('_', ' ')}; the last column shows what ranks below fts_only.")
        )
        blocks.append(Table([slice_name, "cases", *modes, "below fts_only"], rows))
    return Part("Slices", blocks)


def _tiers_part(tiers: Mapping[str, Any]) -> Part:
    names = list(tiers["tiers"])
    rows = [
        [
            row["mode"],
            row["metric"],
            *(f"{row[name]:.4f}" if "_ms" not in row["metric"] else f"{row[name]:.1f}" for name in names),
        ]
        for row in tiers["rows"]
    ]
    decisions = "; ".join(
        f"{name} serves {tier['decision']['mode']}" for name, tier in tiers["tiers"].items() if tier["decision"]
    )
    compared = [
        [
            f"{item['a']} − {item['b']}",
            item["mode"],
            item["metric"],
            f"{item['diff']:+.4f}",
            f"{item['ci95'][0]:+.4f} to {item['ci95'][1]:+.4f}",
            f"{item['p_holm']:.4f}",
            _or_unknown(item["minimum_detectable"], "{:.4f}"),
        ]
        for item in tiers["comparisons"]
    ]
    blocks: list[Text | Table | Picture] = [
        Text(f"{decisions or 'No decision: fts_only and hybrid were not both measured'}."),
        Table(["mode", "metric", *names], rows),
    ]
    if compared:
        head = ["embedders", "mode", "metric", "difference", "95 % interval", "p (Holm)", "detectable"]
        blocks.append(Table(head, compared))
    return Part("Tiers side by side", blocks)


def _gates_part(gates: Mapping[str, Any]) -> Part:
    rows = [
        [
            item["name"],
            "yes" if item["passed"] else "NO",
            item["severity"],
            f"{item['value']:.4f}",
            f"{item['floor']:g}",
            str(item["num_cases"]),
            item["detail"],
        ]
        for item in gates["gates"]
    ]
    return Part("Gates", [Table(["gate", "passed", "severity", "value", "floor", "cases", "detail"], rows)])


def _case_parts(report: Mapping[str, Any]) -> list[Part]:
    if not {"fts_only", "hybrid"} <= set(report["modes"]):
        return []
    pairs = [
        (case["modes"]["hybrid"]["ndcg@10"] - case["modes"]["fts_only"]["ndcg@10"], case) for case in report["cases"]
    ]
    ordered = sorted(pairs, key=lambda pair: (-pair[0], pair[1]["case_id"]))
    won = [pair for pair in ordered if pair[0] > 0][:NUM_CASES_SHOWN]
    lost = [pair for pair in reversed(ordered) if pair[0] < 0][:NUM_CASES_SHOWN]
    picture = draw_wins([difference for difference, _ in pairs], title="hybrid − fts_only, nDCG@10 by case")
    head = ["case", "query", "difference", "first relevant: fts_only", "hybrid"]
    return [
        Part(
            "Wins and losses by case",
            [
                Picture(picture, "differences by case"),
                Text(f"Most won by hybrid ({len([p for p in pairs if p[0] > 0])} in all)."),
                Table(head, [_case_row(*pair) for pair in won]),
                Text(f"Most lost by hybrid ({len([p for p in pairs if p[0] < 0])} in all)."),
                Table(head, [_case_row(*pair) for pair in lost]),
            ],
        )
    ]


def _case_row(difference: float, case: Mapping[str, Any]) -> list[str]:
    ranks = [case["modes"][mode]["first_relevant_rank"] for mode in ("fts_only", "hybrid")]
    shown = [str(rank) if rank is not None else "not found" for rank in ranks]
    return [str(case["case_id"]), str(case["query"]), f"{difference:+.3f}", *shown]


def _provenance_part(report: Mapping[str, Any]) -> Part:
    rows = [["passages in the corpus", str(report["corpus"]["num_docs"])], ["embedder", str(report["embedder"])]]
    keys = ("generation", "embedder_fingerprint", "golden_hash", "num_cases", "num_left_out", "labels", "dataset")
    rows += [[key.replace("_", " "), str(report[key])] for key in keys if key in report]
    return Part("What was measured", [Table(["", ""], rows)])


def render_html(title: str, parts: Sequence[Part]) -> str:
    """Return one HTML file without any outside reference; every text is escaped."""
    body = [f"<h1>{html.escape(title)}</h1>"]
    for part in parts:
        body.append(f"<h2>{html.escape(part.heading)}</h2>")
        for block in part.blocks:
            match block:
                case Text(text, is_key):
                    body.append(f'<p class="{"key" if is_key else "text"}">{html.escape(text)}</p>')
                case Picture(png, alt):
                    body.append(f'<img alt="{html.escape(alt)}" src="{as_data_uri(png)}">')
                case Table(head, rows):
                    cells = "".join(f"<th>{html.escape(name)}</th>" for name in head)
                    lines = [f"<tr>{cells}</tr>"] if any(head) else []
                    lines += [
                        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
                    ]
                    body.append(f"<table>{''.join(lines)}</table>")
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    csp = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{csp}<title>{html.escape(title)}</title>'
        f"<style>{STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )


def render_markdown(title: str, parts: Sequence[Part]) -> str:
    """Return the same as Markdown; pictures stay in the HTML."""
    lines = [f"# {title}", ""]
    for part in parts:
        lines += [f"## {part.heading}", ""]
        for block in part.blocks:
            match block:
                case Text(text, is_key):
                    lines += [f"> {text}" if is_key else text, ""]
                case Table(head, rows):
                    lines.append("| " + " | ".join(_markdown_cell(name) for name in head) + " |")
                    lines.append("|" + "---|" * len(head))
                    lines += ["| " + " | ".join(_markdown_cell(cell) for cell in row) + " |" for row in rows]
                    lines.append("")
                case Picture(_, alt):
                    lines += [f"*(picture in the HTML: {alt})*", ""]
    return "\n".join(lines)


def _markdown_cell(text: str) -> str:
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").split())
