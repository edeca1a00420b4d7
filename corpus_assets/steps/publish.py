"""Judge the sealed candidate by its gates and make it the published generation, or leave the old one serving."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from corpus_assets.embedding.protocol import Embedder
from corpus_assets.errors import GateFailedError, StoreError
from corpus_assets.gates import Gate, GateContext, GateResult, run_gates
from corpus_assets.settings import Settings
from corpus_assets.steps.candidate import open_candidate
from corpus_assets.steps.report import StepReport
from corpus_assets.store.candidate import Candidate
from corpus_assets.store.generation import Generation, open_generation
from corpus_assets.store.manifest import FORMAT_VERSION, read_head
from corpus_assets.store.publish import generations_dir, is_held, point_to, prune, published_id
from corpus_assets.store.working import WorkingStore


def judge_candidate(
    store: WorkingStore, settings: Settings, embedder: Embedder, gates: Sequence[Gate]
) -> list[GateResult]:
    """Run the gates that have not judged this very candidate yet; verdicts are stored with it."""
    candidate = open_candidate(store, settings, embedder)
    return _judge(candidate, settings, gates)


def publish_candidate(store: WorkingStore, settings: Settings, embedder: Embedder, gates: Sequence[Gate]) -> StepReport:
    """Publish the candidate when every ERROR gate passed on it; gates without a verdict on it are run now.

    Raises ``GateFailedError`` naming the gates that failed; what was published stays published. A generation that a
    person rolled back is not published again.
    """
    started = time.monotonic()
    candidate = open_candidate(store, settings, embedder)
    if not candidate.is_sealed:
        raise StoreError(
            f"The candidate {candidate.id} is not complete.", hint="Materialise every asset (or run ingest) first."
        )
    before = published_id(store.home)
    notes = _old_format_note(store.home, before)
    results = _judge(candidate, settings, gates)
    failed = [result for result in results if result.severity == "ERROR" and not result.passed]
    if failed:
        named = "; ".join(
            f"{result.name}: {result.detail or f'{result.value:g} < {result.floor:g}'}" for result in failed
        )
        serving = f"generation {before} stays published" if before else "nothing is published"
        raise GateFailedError(
            f"Not published, {len(failed)} gate{'s' if len(failed) > 1 else ''} failed: {named}.",
            hint=f"{serving[0].upper()}{serving[1:]}. Mend the cause and run ingest again.",
        )
    candidate.finish()
    held = is_held(store.home, candidate.id)
    if held:
        notes += (
            f"generation {candidate.id} was rolled back earlier and is not published again by itself; "
            f"`research-copilot rollback {candidate.id}` serves it",
        )
    else:
        point_to(store.home, candidate.id)
    candidate.drop_other_candidates()
    pruned = prune(store.home, settings.run.keep_generations)
    if store.get_meta("needs_compacting"):
        store.compact()
        store.set_meta("needs_compacting", False)
    counts: dict[str, int | float] = {
        "num_gates": len(results),
        "num_gates_failed": sum(not result.passed for result in results),
        "is_new": int(not held and before != candidate.id),
        "num_pruned": len(pruned),
        "seconds": round(time.monotonic() - started, 3),
    }
    table = ["| gate | value | floor | passed | |", "|---|---|---|---|---|"]
    table += [f"| {r.name} | {r.value:g} | {r.floor:g} | {'yes' if r.passed else 'NO'} | {r.detail} |" for r in results]
    samples = {"generation": candidate.id, "gates": "\n".join(table)}
    return StepReport("published_corpus", counts, candidate.id, samples, notes=notes)


def _old_format_note(home: Path, published: str | None) -> tuple[str, ...]:
    head = read_head(generations_dir(home) / published) if published is not None else {}
    found = head.get("format_version", FORMAT_VERSION)
    if found == FORMAT_VERSION:
        return ()
    return (
        f"generation {published} has format {found}, this program writes {FORMAT_VERSION}: nothing of it could be "
        "shared, and the new generation was built in full",
    )


def _judge(candidate: Candidate, settings: Settings, gates: Sequence[Gate]) -> list[GateResult]:
    before = published_id(candidate.home)
    published = None
    if before is not None and before != candidate.id:
        try:
            published = open_generation(candidate.home, before)
        except StoreError:
            published = None  # a damaged old generation cannot be compared with; the new one mends it
    with Generation(candidate.path) as opened:
        try:
            return run_gates(gates, GateContext(candidate.home, settings, opened, published))
        finally:
            if published is not None:
                published.close()
