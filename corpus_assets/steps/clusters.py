"""Group the papers; the map is written into the candidate."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from corpus_assets.clustering import CLUSTERING_VERSION, cluster_papers, draw_map, mean_unit_vector
from corpus_assets.embedding.protocol import Embedder
from corpus_assets.settings import Settings, fingerprint
from corpus_assets.steps.candidate import open_candidate
from corpus_assets.steps.report import StepReport
from corpus_assets.store.duck import to_json
from corpus_assets.store.generation import CLUSTERS_FILE, read_clusters
from corpus_assets.store.working import WorkingStore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corpus_assets.store.working import PaperContent

_PAPERS_AT_ONCE = 256
_FIRST_CHUNKS = 3  # of a paper, whose words name its cluster


def build_clusters(store: WorkingStore, settings: Settings, embedder: Embedder) -> StepReport:
    """Cluster papers by the mean of their chunk vectors; skipped when the candidate has the map already."""
    started = time.monotonic()
    candidate = open_candidate(store, settings, embedder)
    contents = store.paper_contents()
    titles = {record.paper_id: record.metadata.title for record in store.papers().values() if record.is_served}
    inputs = fingerprint(
        [
            CLUSTERING_VERSION,
            embedder.fingerprint,
            settings.clusters.model_dump(mode="json"),
            [[paper_id, content.chunks_digest] for paper_id, content in contents.items()],
            titles,
        ]
    )

    def build(folder: Path) -> tuple[list[str], dict[str, float]]:
        paper_ids = [paper_id for paper_id, content in contents.items() if content.num_retrievable]
        vectors, first_texts = _paper_vectors(store, embedder, {name: contents[name] for name in paper_ids})
        texts = {paper_id: " ".join([titles[paper_id]] * 3 + [first_texts[paper_id]]) for paper_id in paper_ids}
        clusters = cluster_papers(paper_ids, vectors, texts, settings.clusters)
        data = json.loads(to_json(clusters))
        data["silhouette"] = None if math.isnan(clusters.silhouette) else clusters.silhouette
        data["largest_share"] = None if math.isnan(clusters.largest_share) else clusters.largest_share
        (folder / CLUSTERS_FILE).write_text(json.dumps(data, indent=1, ensure_ascii=False), "utf-8")
        return [CLUSTERS_FILE], {"k": clusters.k}

    _, origin = candidate.ensure("clusters", inputs, build)
    clusters = read_clusters(candidate.path / CLUSTERS_FILE)
    counts: dict[str, int | float] = {
        "num_papers": len(clusters.assignments),
        "num_clusters": clusters.k,
        "num_built": int(origin == "built"),
        "seconds": round(time.monotonic() - started, 3),
    }
    if not math.isnan(clusters.silhouette):
        counts["silhouette"] = round(clusters.silhouette, 4)
    if clusters.assignments:
        counts["largest_share"] = round(clusters.largest_share, 4)
    lines = [
        f"| {number} | {label} | {sum(c == number for c in clusters.assignments.values())} |"
        for number, label in sorted(clusters.labels.items())
    ]
    table = "\n".join(["| cluster | terms that set it apart | papers |", "|---|---|---|", *lines])
    images = {"map": draw_map(clusters)} if clusters.assignments else {}
    return StepReport("clusters", counts, inputs, {"labels": table}, images=images)


def _paper_vectors(
    store: WorkingStore, embedder: Embedder, contents: Mapping[str, PaperContent]
) -> tuple[NDArray[np.float32], dict[str, str]]:
    """Return each paper's mean unit vector, in the order of ``contents``, and its first passages.

    Both are kept in the working store, so that only papers that changed are computed anew.
    """
    import numpy as np

    keys = {name: fingerprint([embedder.fingerprint, content.chunks_digest]) for name, content in contents.items()}
    known = store.paper_vectors()
    stale = [name for name in contents if name not in known or known[name][0] != keys[name]]
    for start in range(0, len(stale), _PAPERS_AT_ONCE):
        some = stale[start : start + _PAPERS_AT_ONCE]
        texts: dict[str, list[str]] = {name: [] for name in some}
        for chunk, _ in store.chunks_of(some):
            if chunk.is_retrievable and len(texts[chunk.paper_id]) < _FIRST_CHUNKS:
                texts[chunk.paper_id].append(chunk.text)
        parts: dict[str, list[tuple[str, NDArray[np.float32]]]] = {name: [] for name in some}
        for names, vectors in store.chunk_vectors(embedder.fingerprint, some, embedder.dimension):
            for (chunk_id, paper_id), vector in zip(names, vectors, strict=True):
                parts[paper_id].append((chunk_id, vector))
        means = {
            name: mean_unit_vector(np.stack([vector for _, vector in sorted(rows, key=lambda row: row[0])]))
            for name, rows in parts.items()
        }
        fresh = [(name, keys[name], means[name].tobytes(), " ".join(texts[name])) for name in some]
        store.put_paper_vectors(fresh)
        known |= {name: (key, vector, text) for name, key, vector, text in fresh}
    matrix = np.zeros((len(contents), embedder.dimension), dtype=np.float32)
    for row, name in enumerate(contents):
        matrix[row] = np.frombuffer(known[name][1], dtype=np.float32)
    return matrix, {name: known[name][2] for name in contents}
