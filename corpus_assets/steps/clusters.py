"""Group the papers; the map is written into the candidate."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

from corpus_assets.clustering import CLUSTERING_VERSION, cluster_papers, draw_map, mean_unit_vector
from corpus_assets.embedding.protocol import Embedder
from corpus_assets.settings import Settings, fingerprint
from corpus_assets.steps.candidate import open_candidate
from corpus_assets.steps.report import StepReport
from corpus_assets.store.duck import to_json
from corpus_assets.store.generation import CLUSTERS_FILE, read_clusters
from corpus_assets.store.working import WorkingStore


def build_clusters(store: WorkingStore, settings: Settings, embedder: Embedder) -> StepReport:
    """Cluster papers by the mean of their chunk vectors; skipped when the candidate has the map already."""
    started = time.monotonic()
    candidate = open_candidate(store, settings, embedder)
    rows = [row for row in store.chunk_digest_rows() if row.is_retrievable]
    titles = {record.paper_id: record.metadata.title for record in store.papers().values() if record.is_served}
    inputs = fingerprint(
        [
            CLUSTERING_VERSION,
            embedder.fingerprint,
            settings.clusters.model_dump(mode="json"),
            [[row.chunk_id, row.embed_sha256] for row in rows],
            titles,
        ]
    )

    def build(folder: Path) -> tuple[list[str], dict[str, float]]:
        import numpy as np

        of_chunks = store.embeddings(embedder.fingerprint, [row.embed_sha256 for row in rows], embedder.dimension)
        rows_of: dict[str, list[int]] = {}
        for number, row in enumerate(rows):
            rows_of.setdefault(row.chunk_id.split(":", 1)[0], []).append(number)
        paper_ids = sorted(rows_of)
        vectors = np.zeros((len(paper_ids), embedder.dimension), dtype=np.float32)
        texts = {}
        for i, paper_id in enumerate(paper_ids):
            vectors[i] = mean_unit_vector(of_chunks[rows_of[paper_id]])
            first = [chunk.text for chunk, _ in store.chunks(paper_id) if chunk.is_retrievable][:3]
            texts[paper_id] = " ".join([titles[paper_id]] * 3 + first)
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
