"""The retrieval decision of each generation: which mode is served, on what numbers, and why.

Kept in ``state.duckdb`` of the home, one row a decision, never updated: the newest row of a generation counts. A
rolled-back decision is a new row too, so the history stays readable.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast, get_args

from corpus_assets.errors import BadInputError, StoreError
from corpus_assets.settings import RetrievalMode
from retrieval.state_file import LOCK_WAIT_SECONDS, STATE_FILE, open_state

_WRITING = threading.Lock()  # two threads of one process share the file; their first "create table" would collide

SCHEMA = """
create table if not exists retrieval_decisions (
    generation text not null,
    mode text not null,
    reason text not null,
    numbers text not null,
    embedder text not null,
    golden_hash text not null,
    num_cases integer not null,
    decided_at text not null,
    decided_by text not null,
    sequence bigint not null
)
"""
COLUMNS = "generation, mode, reason, numbers, embedder, golden_hash, num_cases, decided_at, decided_by"


@dataclass(frozen=True)
class RetrievalDecision:
    """One decision. ``decided_by`` is "policy", "rollback" or "person"."""

    generation: str
    mode: RetrievalMode
    reason: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    embedder: str = ""
    golden_hash: str = ""
    num_cases: int = 0
    decided_at: str = ""
    decided_by: str = "policy"


def stored_mode(home: Path, generation_id: str) -> tuple[RetrievalMode, str] | None:
    """Return the served mode of a generation and its reason, or None when nothing was decided for it."""
    decision = latest_decision(home, generation_id)
    return (decision.mode, decision.reason) if decision else None


def latest_decision(home: Path, generation_id: str) -> RetrievalDecision | None:
    """Return the newest decision about a generation, or None."""
    decisions = list_decisions(home, generation_id)
    return decisions[-1] if decisions else None


def list_decisions(home: Path, generation_id: str | None = None) -> list[RetrievalDecision]:
    """Return decisions, oldest first, of one generation or of all. Writes nothing; a home without state has none."""
    if not (home / STATE_FILE).is_file():
        return []
    with open_state(home, read_only=True, wait_seconds=LOCK_WAIT_SECONDS) as connection:
        known = connection.execute(
            "select count(*) from information_schema.tables where table_name = 'retrieval_decisions'"
        ).fetchone()
        if not known or not known[0]:
            return []
        rows = connection.execute(
            f"select {COLUMNS} from retrieval_decisions where ? is null or generation = ? order by sequence",
            [generation_id, generation_id],
        ).fetchall()
    return [
        RetrievalDecision(
            generation=row[0],
            mode=_checked_mode(row[1]),
            reason=row[2],
            numbers=json.loads(row[3]),
            embedder=row[4],
            golden_hash=row[5],
            num_cases=row[6],
            decided_at=row[7],
            decided_by=row[8],
        )
        for row in rows
    ]


def store_decision(home: Path, decision: RetrievalDecision) -> RetrievalDecision:
    """Append a decision and return it as stored, with its time. Raises StoreError when the file stays locked."""
    _checked_mode(decision.mode)
    if not decision.generation:
        raise BadInputError("A retrieval decision needs the generation it is about.")
    stamped = decision.decided_at or datetime.now(UTC).isoformat(timespec="seconds")
    numbers = json.dumps(decision.numbers, sort_keys=True, allow_nan=False)
    home.mkdir(parents=True, exist_ok=True)
    with _WRITING, open_state(home, read_only=False, wait_seconds=LOCK_WAIT_SECONDS) as connection:
        connection.execute(SCHEMA)
        connection.execute(
            f"insert into retrieval_decisions ({COLUMNS}, sequence) "
            "select ?, ?, ?, ?, ?, ?, ?, ?, ?, coalesce(max(sequence), 0) + 1 from retrieval_decisions",
            [
                decision.generation,
                decision.mode,
                decision.reason,
                numbers,
                decision.embedder,
                decision.golden_hash,
                decision.num_cases,
                stamped,
                decision.decided_by,
            ],
        )
    return RetrievalDecision(**{**decision.__dict__, "decided_at": stamped})


def rollback_decision(home: Path, generation_id: str, *, reason: str = "") -> RetrievalDecision:
    """Serve what was served before: the last earlier mode that differs, or fts_only, the baseline, when none does."""
    history = list_decisions(home, generation_id)
    if not history:
        raise BadInputError(
            f"No retrieval decision is stored for generation {generation_id}.",
            hint="Set RESEARCH_COPILOT_RETRIEVAL__MODE to force a mode.",
        )
    current = history[-1]
    earlier: RetrievalMode = next((d.mode for d in reversed(history[:-1]) if d.mode != current.mode), "fts_only")
    return store_decision(
        home,
        RetrievalDecision(
            generation=generation_id,
            mode=earlier,
            reason=reason or f"Rolled back from {current.mode} (decided {current.decided_at}) to {earlier} by hand.",
            numbers=current.numbers,
            embedder=current.embedder,
            golden_hash=current.golden_hash,
            num_cases=current.num_cases,
            decided_by="rollback",
        ),
    )


def _checked_mode(mode: str) -> RetrievalMode:
    for known in get_args(RetrievalMode):
        if mode == known:
            return cast("RetrievalMode", known)
    raise StoreError(f"Unknown retrieval mode {mode!r} in {STATE_FILE}.", hint="Run the gates again to decide anew.")
