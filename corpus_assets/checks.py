"""The corpus gates as blocking asset checks on the completed candidate; direct parents of ``published_corpus``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import dagster as dg

from corpus_assets.assets import WRITES_POOL, CopilotLike, summary_cards
from corpus_assets.build import load_settings_embedder
from corpus_assets.corpus_gates import corpus_gates
from corpus_assets.errors import CopilotError
from corpus_assets.gates import GateResult
from corpus_assets.store.lock import acquire_home
from corpus_assets.store.working import WorkingStore

_SPECS = [
    dg.AssetCheckSpec(
        gate.name,
        asset=summary_cards,
        blocking=gate.severity == "ERROR",
        description=(gate.run.__doc__ or "").strip().splitlines()[0],
    )
    for gate in corpus_gates()
]


def check_result(result: GateResult, more: Mapping[str, Any] | None = None) -> dg.AssetCheckResult:
    """Return a verdict as a check result on the candidate (``summary_cards`` completes it), with ``more`` metadata."""
    metadata: dict[str, Any] = {
        "value": dg.MetadataValue.float(float(result.value)),
        "floor": dg.MetadataValue.float(float(result.floor)),
        "num_cases": dg.MetadataValue.int(result.num_cases),
        "candidate": dg.MetadataValue.text(result.fingerprint),
        **(more or {}),
    }
    return dg.AssetCheckResult(
        asset_key=summary_cards.key,
        check_name=result.name,
        passed=result.passed,
        severity=dg.AssetCheckSeverity.ERROR if result.severity == "ERROR" else dg.AssetCheckSeverity.WARN,
        description=result.detail,
        metadata=metadata,
    )


@dg.multi_asset_check(name="corpus_gates", specs=_SPECS, pool=WRITES_POOL)
def corpus_checks(copilot: dg.ResourceParam[CopilotLike]) -> Iterator[dg.AssetCheckResult]:
    """Judge the candidate; verdicts are stored with it, and ``published_corpus`` asks for every one of them."""
    from corpus_assets.steps.publish import judge_candidate

    settings = copilot.settings()
    try:
        acquire_home(settings.home)
        with WorkingStore(settings.home) as store:
            results = judge_candidate(store, settings, load_settings_embedder(settings), corpus_gates())
    except CopilotError as error:  # a check that raises leaves no verdict and blocks nothing
        results = [
            GateResult(gate.name, 0.0, 1.0, passed=False, severity=gate.severity, detail=str(error))
            for gate in corpus_gates()
        ]
    for result in results:
        yield check_result(result)


corpus_asset_checks = [corpus_checks]
