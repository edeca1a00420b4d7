"""Evaluation's gates as asset checks on the completed candidate: blocking where they gate, WARN where they inform."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from corpus_assets.assets import WRITES_POOL, CopilotLike, summary_cards
from corpus_assets.build import load_settings_embedder
from corpus_assets.checks import check_result as gate_check_result
from corpus_assets.errors import CopilotError
from corpus_assets.gates import GateResult
from corpus_assets.store.lock import acquire_home
from corpus_assets.store.working import WorkingStore
from evaluation.charts import MAX_BYTES, as_data_uri, draw_gate
from evaluation.gates import CHECKS, DESCRIPTIONS, evaluation_gates

_SPECS = [
    dg.AssetCheckSpec(name, asset=summary_cards, blocking=severity == "ERROR", description=DESCRIPTIONS[name])
    for name, severity, _ in CHECKS
]


def check_result(result: GateResult) -> dg.AssetCheckResult:
    """Return a verdict as an asset check result: value, floor, cases, golden hash, worst cases, a small chart."""
    metadata: dict[str, Any] = {
        "golden_set": dg.MetadataValue.text(str(result.extra.get("golden_hash") or "none")),
    }
    mode = result.extra.get("mode")
    if mode:
        metadata["mode"] = dg.MetadataValue.text(str(mode))
    interval = result.extra.get("ci95")
    if interval:
        metadata["ci95_low"], metadata["ci95_high"] = (dg.MetadataValue.float(float(end)) for end in interval)
    worst = result.extra.get("worst_cases")
    if worst:
        metadata["worst_cases"] = dg.MetadataValue.md(make_table(worst))
    fallen = result.extra.get("slices")
    if fallen:
        metadata["slices_that_fell"] = dg.MetadataValue.md(make_table(fallen))
    picture = draw_gate(result)
    if picture is not None and len(picture) < MAX_BYTES:
        metadata["chart"] = dg.MetadataValue.md(f"![{result.name}]({as_data_uri(picture)})")
    report = result.extra.get("report_path")
    if report:
        metadata["report"] = dg.MetadataValue.path(str(report))
    return gate_check_result(result, metadata)


def make_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows of the same keys as a Markdown table; what comes from papers or people is escaped."""
    names = list(rows[0])
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    lines += [f"| {' | '.join(_cell(row.get(name)) for name in names)} |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    text = "" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)
    for mark, escaped in (("\\", "\\\\"), ("|", "\\|"), ("<", "&lt;"), ("[", "\\["), ("`", "\\`"), ("*", "\\*")):
        text = text.replace(mark, escaped)
    return " ".join(text.split())


@dg.multi_asset_check(name="evaluation_gates", specs=_SPECS, pool=WRITES_POOL)
def evaluation_checks(copilot: dg.ResourceParam[CopilotLike]) -> Iterator[dg.AssetCheckResult]:
    """Measure the candidate; verdicts are stored with it, and ``published_corpus`` asks for every one of them."""
    from corpus_assets.steps.publish import judge_candidate

    settings = copilot.settings()
    try:
        acquire_home(settings.home)
        embedder = load_settings_embedder(settings)
        with WorkingStore(settings.home) as store:
            results = judge_candidate(store, settings, embedder, evaluation_gates(embedder))
    except CopilotError as error:  # a check that raises leaves no verdict and blocks nothing
        results = [
            GateResult(name, 0.0, 0.0, passed=False, severity=severity, detail=str(error))
            for name, severity, _ in CHECKS
        ]
    for result in results:
        yield check_result(result)


evaluation_asset_checks = [evaluation_checks]
