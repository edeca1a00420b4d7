"""What a gate is, and where its results are kept: beside the candidate generation they judge."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from corpus_assets.store.atomic import write_atomic

if TYPE_CHECKING:
    from corpus_assets.settings import Settings
    from corpus_assets.store.generation import Generation

GATES_FILE = "gates.json"

Severity = Literal["ERROR", "WARN"]


@dataclass(frozen=True)
class GateResult:
    """One gate's verdict on one candidate. ``fingerprint`` is the digest of all it was judged by."""

    name: str
    value: float
    floor: float
    passed: bool
    severity: Severity = "ERROR"
    num_cases: int = 0
    detail: str = ""
    fingerprint: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class GateContext:
    """What a gate may look at: the complete candidate and, if there is one, the published generation."""

    home: Path
    settings: Settings
    candidate: Generation
    published: Generation | None


@dataclass(frozen=True)
class Gate:
    """A named judgment of a candidate. ``ERROR`` gates stop publishing, ``WARN`` gates inform.

    A verdict of an ``ERROR`` gate may itself be a ``WARN``: "no golden set, not measured" informs and stops nothing.
    ``inputs`` gives a digest of what a verdict hangs on beside the candidate (judged cases, floors).
    """

    name: str
    severity: Severity
    run: Callable[[GateContext], GateResult]
    inputs: Callable[[GateContext], str] | None = None


def read_gate_results(generation_dir: Path) -> dict[str, GateResult]:
    """Return the results stored beside a generation, by gate name; empty when none were stored."""
    path = generation_dir / GATES_FILE
    if not path.exists():
        return {}
    return {row["name"]: GateResult(**row) for row in json.loads(path.read_text("utf-8"))}


def store_gate_results(generation_dir: Path, results: Sequence[GateResult]) -> None:
    """Add results to those stored beside a generation; a result of the same name is replaced."""
    merged = {**read_gate_results(generation_dir), **{result.name: result for result in results}}
    rows = [asdict(result) for _, result in sorted(merged.items())]
    write_atomic(generation_dir / GATES_FILE, json.dumps(rows, indent=1, ensure_ascii=False, default=str))


def run_gates(gates: Sequence[Gate], context: GateContext, *, rerun: bool = False) -> list[GateResult]:
    """Judge a candidate and store the verdicts; results stored for this very manifest and these inputs are reused."""
    stored = {} if rerun else read_gate_results(context.candidate.path)
    manifest = context.candidate.manifest_sha256
    results: list[GateResult] = []
    fresh: list[GateResult] = []
    for gate in gates:
        known = stored.get(gate.name)
        digest = f"{manifest}:{gate.inputs(context)}" if gate.inputs else manifest
        if known is not None and known.fingerprint == digest:
            results.append(known)
            continue
        judged = gate.run(context)
        severity = judged.severity if gate.severity == "ERROR" else "WARN"
        result = replace(judged, fingerprint=digest, severity=severity)
        results.append(result)
        fresh.append(result)
    if fresh:
        store_gate_results(context.candidate.path, fresh)
    return results
