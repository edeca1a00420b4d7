"""Which papers stand together: seeded k-means over paper vectors, k chosen by silhouette."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from corpus_assets.model import ClusterMap
from corpus_assets.settings import ClusterSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CLUSTERING_VERSION = "2"
SAMPLE_SIZE = 1000  # papers that k, the centres and the labels are found on; the others go to the nearest centre
_LABEL_TERMS = 4
_LABEL_CANDIDATES = 500
_SILHOUETTE_SAMPLE = 2000  # papers; silhouette is quadratic


def mean_unit_vector(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the unit vector along the mean of ``(n, d)`` unit vectors; n >= 1."""
    import numpy as np

    mean = vectors.mean(axis=0)
    norm = float(np.linalg.norm(mean))
    unit: NDArray[np.float32] = (mean / norm if norm > 0 else vectors[0]).astype(np.float32)
    return unit


def cluster_papers(
    paper_ids: Sequence[str], vectors: NDArray[np.float32], texts: Mapping[str, str], settings: ClusterSettings
) -> ClusterMap:
    """Group papers by their vectors, ``(len(paper_ids), d)``; ``texts`` (title and summary) give the labels.

    Of more than ``SAMPLE_SIZE`` papers those whose ids have the smallest digests decide, so that the cost hardly grows
    with the corpus and one paper more or less rarely changes the map.
    k runs from ``min_k`` to ``max_k``, never past a third of the papers; the k of the highest mean silhouette wins, the
    smaller one on a tie. Fewer than 3 papers are one cluster with no silhouette. Clusters are numbered by size.
    """
    import numpy as np

    num_papers = len(paper_ids)
    sample = _sample(paper_ids)
    if num_papers < 3:
        labels, silhouette = np.zeros(num_papers, dtype=np.intp), math.nan
    else:
        of_sample, silhouette = _best_labels(vectors[sample], settings)
        labels = of_sample if len(sample) == num_papers else _nearest(vectors, vectors[sample], of_sample)
    order = _by_size(labels)
    assignments = {paper_id: order[int(label)] for paper_id, label in zip(paper_ids, labels, strict=True)}
    sizes = [list(assignments.values()).count(cluster) for cluster in sorted(set(assignments.values()))]
    return ClusterMap(
        assignments=assignments,
        labels=label_clusters(assignments, {paper_ids[i]: texts.get(paper_ids[i], "") for i in sample.tolist()}),
        silhouette=silhouette,
        largest_share=max(sizes) / num_papers if sizes else math.nan,
        k=len(sizes),
        coordinates=_plane(paper_ids, vectors),
    )


def _sample(paper_ids: Sequence[str]) -> NDArray[np.intp]:
    """Return the rows of the papers that decide, in order."""
    import numpy as np

    if len(paper_ids) <= SAMPLE_SIZE:
        return np.arange(len(paper_ids))
    digests = [hashlib.sha256(paper_id.encode("utf-8", "surrogatepass")).digest() for paper_id in paper_ids]
    chosen = sorted(range(len(paper_ids)), key=digests.__getitem__)[:SAMPLE_SIZE]
    return np.array(sorted(chosen), dtype=np.intp)


def _nearest(vectors: NDArray[np.float32], sample: NDArray[np.float32], labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return for each vector the cluster whose centre (mean of its sampled papers) is nearest."""
    import numpy as np

    known = np.unique(labels)
    centres = np.stack([sample[labels == label].mean(axis=0) for label in known])
    distances = (centres**2).sum(axis=1) - 2 * vectors @ centres.T
    nearest: NDArray[np.intp] = known[distances.argmin(axis=1)]
    return nearest


def _best_labels(vectors: NDArray[np.float32], settings: ClusterSettings) -> tuple[NDArray[np.intp], float]:
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    num_papers = len(vectors)
    highest = max(min(settings.max_k, num_papers // 3, num_papers - 1), 2)
    lowest = min(max(settings.min_k, 2), highest)
    best: tuple[NDArray[np.intp], float] | None = None
    for k in range(lowest, highest + 1):
        labels = KMeans(n_clusters=k, n_init=10, random_state=settings.seed).fit_predict(vectors)
        if len(set(labels.tolist())) < 2:
            continue  # identical vectors: nothing to tell apart
        sample = min(_SILHOUETTE_SAMPLE, num_papers)
        score = float(silhouette_score(vectors, labels, sample_size=sample, random_state=settings.seed))
        if best is None or score > best[1] + 1e-9:
            best = (labels, score)
    if best is None:
        import numpy as np

        return np.zeros(num_papers, dtype=np.intp), math.nan
    return best


def _by_size(labels: Sequence[int] | NDArray[np.intp]) -> dict[int, int]:
    values = [int(label) for label in labels]
    counts = Counter(values)  # in order of first appearance
    ranked = sorted(counts, key=lambda label: -counts[label])
    return {label: number for number, label in enumerate(ranked)}


def label_clusters(assignments: Mapping[str, int], texts: Mapping[str, str]) -> dict[int, str]:
    """Name each cluster by the terms that set it apart (class-based tf-idf over its papers' texts)."""
    import numpy as np
    from sklearn.feature_extraction.text import CountVectorizer

    clusters = sorted(set(assignments.values()))
    joined = [" ".join(texts.get(p, "") for p, c in assignments.items() if c == cluster) for cluster in clusters]
    vectorizer = CountVectorizer(stop_words="english", ngram_range=(1, 2), token_pattern=r"(?u)\b[^\W\d_][\w-]{2,}\b")
    try:
        counts = vectorizer.fit_transform(joined).toarray().astype(float)
    except ValueError:  # no word at all in any text
        return {cluster: f"cluster {cluster}" for cluster in clusters}
    terms = vectorizer.get_feature_names_out()
    frequency = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    weight = frequency * np.log(1 + counts.sum() / len(clusters) / np.maximum(counts.sum(axis=0), 1))
    labels = {}
    for row, cluster in enumerate(clusters):
        present = np.flatnonzero(counts[row])
        if len(present) > _LABEL_CANDIDATES:  # enough of the heaviest, all that weigh the same as the last included
            least = np.partition(weight[row, present], -_LABEL_CANDIDATES)[-_LABEL_CANDIDATES]
            present = present[weight[row, present] >= least]
        ranked = sorted(present.tolist(), key=lambda i: (-weight[row, i], terms[i]))
        labels[cluster] = ", ".join(_distinct([terms[i] for i in ranked])) or f"cluster {cluster}"
    return labels


def _distinct(terms: Sequence[str]) -> list[str]:
    kept: list[str] = []
    for term in terms:
        words = set(term.split())
        if not any(words & set(other.split()) for other in kept):
            kept.append(term)
        if len(kept) == _LABEL_TERMS:
            break
    return kept


def _plane(paper_ids: Sequence[str], vectors: NDArray[np.float32]) -> dict[str, tuple[float, float]]:
    """Return the first two principal components, each signed so that its largest loading is positive."""
    import numpy as np

    if len(paper_ids) < 2:
        return dict.fromkeys(paper_ids, (0.0, 0.0))
    centred = vectors.astype(np.float64) - vectors.mean(axis=0)
    if len(centred) > centred.shape[1]:  # the same axes from the small side
        axes = np.linalg.eigh(centred.T @ centred)[1].T[::-1]
    else:
        axes = np.linalg.svd(centred, full_matrices=False)[2]
    axes = axes[:2] * np.sign(axes[:2][np.arange(len(axes[:2])), np.abs(axes[:2]).argmax(axis=1)])[:, None]
    points = centred @ axes.T
    if points.shape[1] == 1:
        points = np.hstack([points, np.zeros_like(points)])
    return {p: (round(float(x), 4), round(float(y), 4)) for p, (x, y) in zip(paper_ids, points, strict=True)}


def draw_map(clusters: ClusterMap) -> bytes:
    """Return a small PNG of the 2-D map, papers coloured by cluster."""
    import io
    import warnings

    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5.2, 3.6), dpi=80)
    for cluster, label in sorted(clusters.labels.items()):
        points = [clusters.coordinates[p] for p, c in clusters.assignments.items() if c == cluster]
        axes.scatter([x for x, _ in points], [y for _, y in points], s=18, label=f"{cluster}: {label[:40]}")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_title("Papers by their mean chunk vector (first two principal components)", fontsize=8)
    axes.legend(fontsize=6, loc="best", frameon=False)
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # a label in a script the font lacks
        figure.savefig(buffer, format="png", bbox_inches="tight")
    pyplot.close(figure)
    return buffer.getvalue()
