"""When a stored verdict may be used again."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from corpus_assets.gates import Gate, GateContext, GateResult, read_gate_results, run_gates


def test_a_verdict_is_used_again_only_for_the_same_candidate_and_the_same_inputs(tmp_path: Path) -> None:
    candidate = SimpleNamespace(path=tmp_path, manifest_sha256="m1")
    context = cast(GateContext, SimpleNamespace(candidate=candidate))
    state: dict[str, Any] = {"golden": "a", "runs": 0}

    def judge(_: GateContext) -> GateResult:
        state["runs"] += 1
        return GateResult("recall", 0.9, 0.5, passed=True)

    gates = [Gate("recall", "ERROR", judge, lambda _: state["golden"])]
    for golden, manifest, runs in (("a", "m1", 1), ("a", "m1", 1), ("b", "m1", 2), ("b", "m2", 3)):
        state["golden"], candidate.manifest_sha256 = golden, manifest
        (result,) = run_gates(gates, context)
        assert state["runs"] == runs and result.fingerprint == f"{manifest}:{golden}"
    assert read_gate_results(tmp_path)["recall"].passed
    run_gates(gates, context, rerun=True)
    assert state["runs"] == 4
