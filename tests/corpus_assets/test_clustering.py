"""Clusters are seeded, numbered by size, labelled by what sets them apart."""

from __future__ import annotations

import math

import numpy as np

from corpus_assets import clustering
from corpus_assets.clustering import cluster_papers, draw_map, mean_unit_vector
from corpus_assets.settings import ClusterSettings


def blobs(sizes, dimension=16, seed=0):
    generator = np.random.default_rng(seed)
    rows, names = [], []
    for number, size in enumerate(sizes):
        centre = np.zeros(dimension)
        centre[number] = 1
        for i in range(size):
            row = centre + generator.normal(0, 0.05, dimension)
            rows.append(row / np.linalg.norm(row))
            names.append(f"p{number}-{i}")
    return names, np.array(rows, dtype=np.float32)


def test_three_topics_are_found_and_numbered_by_size():
    names, vectors = blobs([8, 5, 3])
    words = ["kinase inhibitor", "plasma sequencing", "mouse model"]
    texts = {name: words[int(name[1])] for name in names}
    clusters = cluster_papers(names, vectors, texts, ClusterSettings())
    assert clusters.k == 3
    assert {clusters.assignments[n] for n in names if n.startswith("p0")} == {0}
    assert {clusters.assignments[n] for n in names if n.startswith("p2")} == {2}
    assert clusters.largest_share == 0.5
    assert clusters.silhouette > 0.7
    assert "kinase" in clusters.labels[0]
    assert "mouse" in clusters.labels[2]
    assert clusters == cluster_papers(names, vectors, texts, ClusterSettings())


def test_two_papers_are_one_cluster_without_a_silhouette():
    names, vectors = blobs([1, 1])
    clusters = cluster_papers(names, vectors, {}, ClusterSettings())
    assert clusters.k == 1
    assert math.isnan(clusters.silhouette)
    assert set(clusters.coordinates) == set(names)


def test_identical_papers_do_not_stop_a_build():
    vectors = np.tile(np.eye(1, 8, dtype=np.float32), (5, 1))
    clusters = cluster_papers(list("abcde"), vectors, {}, ClusterSettings())
    assert clusters.k == 1
    assert clusters.largest_share == 1.0


def test_the_picture_is_small_enough_for_metadata():
    names, vectors = blobs([20, 15, 12, 9])
    picture = draw_map(cluster_papers(names, vectors, {n: n for n in names}, ClusterSettings()))
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 60_000


def test_the_mean_is_a_unit_vector_also_where_vectors_cancel():
    assert np.isclose(np.linalg.norm(mean_unit_vector(np.eye(3, dtype=np.float32))), 1)
    opposite = np.array([[1, 0], [-1, 0]], dtype=np.float32)
    assert np.isclose(np.linalg.norm(mean_unit_vector(opposite)), 1)


def test_of_many_papers_a_sample_decides_and_the_others_join_the_nearest(monkeypatch):
    monkeypatch.setattr(clustering, "SAMPLE_SIZE", 60)
    names, vectors = blobs([120, 80, 40])
    texts = {name: ("kinase", "plasma", "mouse")[int(name[1])] for name in names}
    sampled = cluster_papers(names, vectors, texts, ClusterSettings())
    monkeypatch.setattr(clustering, "SAMPLE_SIZE", 1000)
    whole = cluster_papers(names, vectors, texts, ClusterSettings())
    assert sampled.assignments == whole.assignments
    assert sampled.labels == whole.labels
