"""The whole ingest in one process, step after step: what the Dagster assets do, for a library or a test."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from corpus_assets.cores import num_cores
from corpus_assets.corpus_gates import corpus_gates
from corpus_assets.embedding.protocol import Embedder
from corpus_assets.gates import Gate
from corpus_assets.settings import Settings
from corpus_assets.steps.report import Problem, Progress, StepReport, no_progress
from corpus_assets.store.lock import home_lock
from corpus_assets.store.publish import published_id
from corpus_assets.store.working import WorkingStore


@dataclass(frozen=True)
class IngestReport:
    """What an ingest did, in numbers; the fields are the JSON of `research-copilot ingest`."""

    num_files: int
    num_papers: int
    num_new: int
    num_changed: int
    num_removed: int
    num_renamed: int
    num_unchanged: int
    num_failed: int
    num_partial: int
    num_pages: int
    num_chunks: int
    num_parsed: int
    num_embedded: int
    num_built: int
    generation: str
    published: bool
    seconds: float
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON-able data."""
        return asdict(self)


def load_settings_embedder(settings: Settings) -> Embedder:
    """Return the embedder the settings name, loaded once a process; its files are cached in the home."""
    threads = settings.run.threads or num_cores()
    return _load_embedder(settings.embedding.model, settings.models_path, threads, settings.embedding.batch_size)


@lru_cache(maxsize=2)
def _load_embedder(name: str, cache_dir: Path, threads: int, batch_size: int) -> Embedder:
    from corpus_assets.embedding.registry import load_embedder

    return load_embedder(name, cache_dir, threads=threads, batch_size=batch_size)


def ingest(
    settings: Settings,
    folder: Path,
    *,
    full: bool = False,
    only_papers: Collection[str] = (),
    gates: Sequence[Gate] | None = None,
    progress: Progress = no_progress,
) -> IngestReport:
    """Run every step on a folder and publish the result when its gates pass.

    Effects: the home's working store, a new generation, the published pointer. Nothing is written to ``folder``.
    Raises ``BadInputError`` (folder), ``HomeLockedError`` (another ingest), ``GateFailedError`` (the old generation
    stays published), ``StoreError`` (disk).
    """
    from corpus_assets.steps.cards import build_cards
    from corpus_assets.steps.chunks import chunk_papers
    from corpus_assets.steps.clusters import build_clusters
    from corpus_assets.steps.embeddings import embed_chunks
    from corpus_assets.steps.indexes import build_full_text_index, build_vector_index
    from corpus_assets.steps.publish import publish_candidate
    from corpus_assets.steps.raw_text import read_folder

    started = time.monotonic()
    embedder = load_settings_embedder(settings)
    with home_lock(settings.home), WorkingStore(settings.home) as store:
        reports = [
            read_folder(store, settings, folder, full=full, only_papers=only_papers, progress=progress),
            chunk_papers(store, settings, embedder, progress=progress),
            embed_chunks(store, settings, embedder, progress=progress),
            build_vector_index(store, settings, embedder),
            build_full_text_index(store, settings, embedder),
            build_clusters(store, settings, embedder),
            build_cards(store, settings, embedder, progress=progress),
            publish_candidate(store, settings, embedder, corpus_gates() if gates is None else gates),
        ]
    return summarise(settings.home, {report.name: report for report in reports}, time.monotonic() - started)


def summarise(home: Path, reports: Mapping[str, StepReport], seconds: float) -> IngestReport:
    """Return the ingest's report from those of its steps."""
    folder = reports["raw_text"].counts
    built = [report.counts.get("num_built", 0) for report in reports.values()]
    generation = reports["published_corpus"].data_version
    return IngestReport(
        **{name: int(folder[name]) for name in _FOLDER_COUNTS},
        num_chunks=int(reports["chunks"].counts["num_chunks"]),
        num_embedded=int(reports["embeddings"].counts["num_embedded"]),
        num_built=int(sum(built)),
        generation=generation,
        published=published_id(home) == generation,
        seconds=round(seconds, 3),
        problems=reports["raw_text"].problems,
        notes=tuple(note for report in reports.values() for note in report.notes),
    )


_FOLDER_COUNTS = (
    "num_files",
    "num_papers",
    "num_new",
    "num_changed",
    "num_removed",
    "num_renamed",
    "num_unchanged",
    "num_failed",
    "num_partial",
    "num_pages",
    "num_parsed",
)
