"""Build the candidate's segments: vectors, full text, and the papers' texts, each only where no generation has it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from corpus_assets.embedding.protocol import Embedder
from corpus_assets.errors import StoreError
from corpus_assets.fts import build_fts
from corpus_assets.settings import Settings, fingerprint
from corpus_assets.steps.candidate import artifact_name, open_candidate, plan_candidate, served_papers
from corpus_assets.steps.report import StepReport
from corpus_assets.store.candidate import Candidate
from corpus_assets.store.manifest import Artifact
from corpus_assets.store.papers_file import write_papers
from corpus_assets.store.segments import (
    BODIES_FILE,
    FTS_FILE,
    MEMBERS_FILE,
    VECTORS_FILE,
    Plan,
    SegmentPlan,
    members_json,
)
from corpus_assets.store.working import WorkingStore
from corpus_assets.vectors import build_vectors_streamed, vector_id


def build_vector_index(store: WorkingStore, settings: Settings, embedder: Embedder) -> StepReport:
    """Build the FAISS files of the segments that no generation has yet, over their retrievable chunks."""
    started = time.monotonic()
    candidate = open_candidate(store, settings, embedder)
    plan = plan_candidate(store, settings, embedder, candidate)
    contents = store.paper_contents()
    artifacts, num_built = [], 0
    for segment in plan.segments:

        def build(folder: Path, segment: SegmentPlan = segment) -> tuple[list[str], dict[str, object]]:
            _check_writable(segment)
            path = folder / segment.name / VECTORS_FILE
            names = store.retrievable_ids(segment.members.keys())
            batches = (
                ([vector_id(chunk_id) for chunk_id, _ in found], vectors)
                for found, vectors in store.chunk_vectors(
                    embedder.fingerprint, segment.members.keys(), embedder.dimension
                )
            )
            stats = build_vectors_streamed(map(vector_id, names), batches, embedder.dimension, path, settings.index)
            return [f"{segment.name}/{VECTORS_FILE}"], asdict(stats)

        artifact, origin = candidate.ensure(artifact_name(segment.name, "vectors"), segment.name, build)
        artifacts.append(artifact)
        num_built += origin == "built"
    kinds = [f"{artifact.stats['kind']} of {artifact.stats['num_vectors']}" for artifact in artifacts]
    counts: dict[str, int | float] = {
        "num_vectors": sum(content.num_retrievable for content in contents.values()),
        "num_segments": len(plan.segments),
        "num_built": num_built,
        "recall_at_10": min(float(artifact.stats["recall_at_10"]) for artifact in artifacts),
        "megabytes": _megabytes(artifacts),
        "seconds": round(time.monotonic() - started, 3),
    }
    version = fingerprint([segment_rows(plan), "vectors"])
    return StepReport("faiss_index", counts, version, {"index": ", ".join(kinds)}, notes=_notes(candidate))


def build_full_text_index(store: WorkingStore, settings: Settings, embedder: Embedder) -> StepReport:
    """Build the full-text index, and the file of papers' texts, of each segment that no generation has yet."""
    started = time.monotonic()
    candidate = open_candidate(store, settings, embedder)
    plan = plan_candidate(store, settings, embedder, candidate)
    papers = served_papers(store)
    artifacts, num_built = [], 0
    for segment in plan.segments:

        def build(folder: Path, segment: SegmentPlan = segment) -> tuple[list[str], dict[str, object]]:
            _check_writable(segment)
            path = folder / segment.name / FTS_FILE
            path.parent.mkdir(parents=True, exist_ok=True)
            chunks = (chunk for chunk, _ in store.chunks_of(list(segment.members)))
            stats = build_fts(chunks, papers, path, settings.index)
            return [f"{segment.name}/{FTS_FILE}"], asdict(stats)

        def write_bodies(folder: Path, segment: SegmentPlan = segment) -> tuple[list[str], dict[str, object]]:
            _check_writable(segment)
            (folder / segment.name).mkdir(parents=True, exist_ok=True)
            records = (papers[paper_id] for paper_id in segment.members)
            write_papers(
                folder / segment.name / BODIES_FILE, ((record, store.parsed(record.doc_sha256)) for record in records)
            )
            members = json.dumps(members_json(segment.members), ensure_ascii=False)
            (folder / segment.name / MEMBERS_FILE).write_text(members, "utf-8")
            return [f"{segment.name}/{name}" for name in (BODIES_FILE, MEMBERS_FILE)], {}

        artifact, origin = candidate.ensure(artifact_name(segment.name, "fts"), segment.name, build)
        candidate.ensure(artifact_name(segment.name, "bodies"), segment.name, write_bodies)
        artifacts.append(artifact)
        num_built += origin == "built"
    counts: dict[str, int | float] = {
        "num_chunks": sum(member.num_chunks for segment in plan.segments for member in segment.live.values()),
        "num_papers": sum(len(segment.live) for segment in plan.segments),
        "num_terms": max(int(artifact.stats["num_terms"]) for artifact in artifacts),
        "num_postings": sum(int(artifact.stats["num_postings"]) for artifact in artifacts),
        "num_segments": len(plan.segments),
        "num_removed_papers": sum(len(segment.removed) for segment in plan.segments),
        "num_built": num_built,
        "megabytes": _megabytes(artifacts),
        "seconds": round(time.monotonic() - started, 3),
    }
    return StepReport("fts_index", counts, fingerprint([segment_rows(plan), "fts"]), notes=_notes(candidate))


def segment_rows(plan: Plan) -> list[list[str | list[str]]]:
    """Return what the plan's segments are, JSON-able."""
    return [[segment.name, sorted(segment.removed)] for segment in plan.segments]


def _check_writable(segment: SegmentPlan) -> None:
    if segment.removed:  # it was to be shared; the store no longer has all of its papers
        raise StoreError(
            f"The segment {segment.name} cannot be shared: the generation that held it is gone or damaged.",
            hint="Run ingest again: it is planned anew.",
            retryable=True,
        )


def _megabytes(artifacts: Sequence[Artifact]) -> float:
    return round(sum(entry.size for artifact in artifacts for entry in artifact.files.values()) / 1e6, 3)


def _notes(candidate: Candidate) -> tuple[str, ...]:
    if not candidate.num_copied:
        return ()
    return (
        f"{candidate.num_copied} files of earlier generations were copied: the file system of "
        f"{candidate.home} has no hard links",
    )
