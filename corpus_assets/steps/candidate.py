"""Which generation the working store amounts to, and its manifest."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from corpus_assets.cards import CARDS_VERSION
from corpus_assets.chunking import CHUNKER_VERSION
from corpus_assets.clustering import CLUSTERING_VERSION
from corpus_assets.embedding.protocol import Embedder
from corpus_assets.fts_query import FORMAT_VERSION as FTS_VERSION
from corpus_assets.model import PaperRecord
from corpus_assets.settings import Settings, fingerprint
from corpus_assets.steps.card_plan import plan_cards
from corpus_assets.store.atomic import write_atomic
from corpus_assets.store.candidate import PLAN_FILE, Candidate
from corpus_assets.store.generation import PAPERS_FILE
from corpus_assets.store.manifest import EmbedderEntry, Manifest, SegmentEntry, read_manifest
from corpus_assets.store.papers_file import BODIES_VERSION, write_papers
from corpus_assets.store.segments import (
    BODIES_FILE,
    FTS_FILE,
    MEMBERS_FILE,
    VECTORS_FILE,
    Member,
    Plan,
    SegmentPlan,
    choose_plan,
    members_from,
    members_json,
    read_segments,
)
from corpus_assets.store.working import WorkingStore
from corpus_assets.vectors import VECTORS_VERSION

SEGMENT_ARTIFACTS = ("fts", "vectors", "bodies")  # each built and shared by itself

_LIBRARIES = ("dagster", "pymupdf", "duckdb", "faiss-cpu", "numpy", "scikit-learn", "onnxruntime", "tokenizers")


def open_candidate(store: WorkingStore, settings: Settings, embedder: Embedder) -> Candidate:
    """Return the candidate of the store's present content: same content, settings and model, same id."""
    return Candidate(store.home, candidate_id(store, settings, embedder))


def candidate_id(store: WorkingStore, settings: Settings, embedder: Embedder) -> str:
    """Return the generation id: a digest of records, chunks, shaping settings, model and component versions."""
    return fingerprint(
        {
            "papers": store.records_digest(),
            "chunks": chunks_digest(store),
            "settings": settings.corpus_fingerprint(),
            "embedder": embedder.fingerprint,
            "versions": component_versions(),
            **({"cards": cards} if (cards := plan_cards(store, settings)) else {}),
        }
    )


def component_versions() -> dict[str, str]:
    """Return the versions of the project's own parts whose change makes another generation."""
    from corpus_assets.pdf.reader import PARSER_VERSION

    return {
        "parser": PARSER_VERSION,
        "chunker": CHUNKER_VERSION,
        "fts": FTS_VERSION,
        "vectors": VECTORS_VERSION,
        "clustering": CLUSTERING_VERSION,
        "cards": CARDS_VERSION,
    }


def chunks_digest(store: WorkingStore) -> str:
    """Return the digest of every paper's chunks, their ids and content."""
    contents = store.paper_contents()
    return fingerprint([[paper_id, content.chunks_digest] for paper_id, content in contents.items()])


def served_papers(store: WorkingStore) -> dict[str, PaperRecord]:
    """Return the records that have chunks."""
    return {paper_id: record for paper_id, record in store.papers().items() if record.is_served}


def ensure_papers(store: WorkingStore, candidate: Candidate) -> None:
    """Write the candidate's records of all papers unless they are there; their texts are in the segments."""

    def build(folder: Path) -> tuple[list[str], dict[str, int]]:
        pairs = ((record, None) for record in store.papers().values())
        return [PAPERS_FILE], {"num_records": write_papers(folder / PAPERS_FILE, pairs)}

    candidate.ensure("papers", store.records_digest(), build)


def seal_candidate(store: WorkingStore, settings: Settings, embedder: Embedder, candidate: Candidate) -> None:
    """Write the candidate's manifest; every artifact must be there."""
    served = served_papers(store)
    contents = store.paper_contents()
    plan = plan_candidate(store, settings, embedder, candidate)
    entries = tuple(_entry(segment) for segment in plan.segments)
    names = {artifact_name(segment.name, kind) for segment in plan.segments for kind in SEGMENT_ARTIFACTS}
    artifacts = {name: artifact for name, artifact in candidate.artifacts().items() if "/" not in name or name in names}
    shaping = {
        name: getattr(settings, name).model_dump(mode="json")
        for name in ("parse", "chunks", "embedding", "index", "clusters", "cards")
    }
    manifest = Manifest(
        id=candidate.id,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        papers_dir=store.get_meta("papers_dir") or "",
        num_papers=len(served),
        num_pages=sum(record.num_pages for record in served.values()),
        num_chunks=sum(content.num_chunks for content in contents.values()),
        num_vectors=sum(content.num_retrievable for content in contents.values()),
        embedder=EmbedderEntry(name=embedder.name, fingerprint=embedder.fingerprint, dimension=embedder.dimension),
        settings=shaping,
        settings_fingerprint=settings.corpus_fingerprint(),
        versions={**component_versions(), **_library_versions()},
        segments=entries,
        artifacts=artifacts,
    )
    candidate.seal(manifest)


def _library_versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in _LIBRARIES:
        versions[name] = importlib.metadata.version(name)
    return versions


def artifact_name(segment: str, kind: str) -> str:
    """Return the name a segment's files of one kind (see ``SEGMENT_ARTIFACTS``) have in the manifest."""
    return f"{segment}/{kind}"


def _entry(segment: SegmentPlan) -> SegmentEntry:
    return SegmentEntry(
        name=segment.name,
        fts=f"{segment.name}/{FTS_FILE}",
        vectors=f"{segment.name}/{VECTORS_FILE}",
        bodies=f"{segment.name}/{BODIES_FILE}",
        members=f"{segment.name}/{MEMBERS_FILE}",
        removed=tuple(sorted(segment.removed)),
    )


def plan_candidate(store: WorkingStore, settings: Settings, embedder: Embedder, candidate: Candidate) -> Plan:
    """Return the candidate's segments. Decided once: the steps that write them, in any order and run, must agree."""
    if candidate.is_finished:
        return Plan(tuple(read_segments(candidate.path, read_manifest(candidate.path))), 0)
    wanted = wanted_members(store)
    path = candidate.staging_path / PLAN_FILE
    if path.exists():
        rows = json.loads(path.read_text("utf-8"))
        segments = tuple(
            SegmentPlan(row["name"], members_from(row["members"]), frozenset(row["removed"])) for row in rows
        )
        ready = candidate.artifacts()
        if all(
            _is_writable(segment, candidate) or artifact_name(segment.name, "bodies") in ready for segment in segments
        ):
            return Plan(segments, 0)

    def name(members: Mapping[str, Member]) -> str:
        return segment_name(members, settings, embedder)

    bases = []
    for generation, manifest in candidate.earlier():
        found = [segment for segment in read_segments(generation, manifest) if segment.name == name(segment.members)]
        bases.append([segment for segment in found if _is_whole(segment, candidate)])
    plan = choose_plan(wanted, bases, name)
    saved = [{"name": s.name, "members": members_json(s.members), "removed": sorted(s.removed)} for s in plan.segments]
    write_atomic(path, json.dumps(saved, ensure_ascii=False))
    return plan


def wanted_members(store: WorkingStore) -> dict[str, Member]:
    """Return what each served paper's part of a segment is made of, by paper id."""
    contents = store.paper_contents()
    members = {}
    for paper_id, record in served_papers(store).items():
        known, content = record.metadata, contents[paper_id]
        found_by = [known.title, known.authors, known.year, known.doi, known.arxiv_id, record.path]
        key = fingerprint([found_by, content.chunks_digest, content.body_digest])
        members[paper_id] = Member(key, content.num_chunks)
    return members


def segment_name(members: Mapping[str, Member], settings: Settings, embedder: Embedder) -> str:
    """Return a segment's name: the digest of its papers' content and of all that shapes its files."""
    shaping = settings.index.model_dump(mode="json")
    versions = [FTS_VERSION, VECTORS_VERSION, BODIES_VERSION, embedder.fingerprint]
    rows = sorted([paper_id, member.key] for paper_id, member in members.items())
    return f"segment-{fingerprint([versions, shaping, rows])}"


def _is_whole(segment: SegmentPlan, candidate: Candidate) -> bool:
    return all(candidate.can_share(artifact_name(segment.name, kind), segment.name) for kind in SEGMENT_ARTIFACTS)


def _is_writable(segment: SegmentPlan, candidate: Candidate) -> bool:
    """Tell whether a segment can be had: written from the store, or shared where it holds papers the store has not."""
    return not segment.removed or _is_whole(segment, candidate)
