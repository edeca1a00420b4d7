import numpy as np
import pytest

from corpus_assets.embedding.hashing import HashEmbedder
from corpus_assets.model import ClusterMap
from corpus_assets.settings import RetrievalSettings
from retrieval.shortlist import shortlist_papers
from tests.retrieval.fakes import FakeGeneration, paper

SETTINGS = RetrievalSettings.model_validate({"shortlist_min_papers": 4, "shortlist_size": 3, "min_silhouette": 0.1})


def generation(silhouette: float, retraction: str = "") -> FakeGeneration:
    topics = ["zinc root growth"] * 4 + ["glacier melt rate"] * 4
    built = FakeGeneration(
        [
            paper(f"p{n}", f"{topic} {n}.", title=topic, retraction=retraction if n == 0 else "")
            for n, topic in enumerate(topics)
        ]
    )
    vectors = HashEmbedder().embed_documents([f"{topic} {n}" for n, topic in enumerate(topics)])
    built.card_vectors = lambda: (list(built.papers), np.asarray(vectors))
    built.clusters = ClusterMap({f"p{n}": n // 4 for n in range(8)}, {}, silhouette, 0.5, 2)
    return built


def test_a_small_corpus_is_searched_whole() -> None:
    found = shortlist_papers(["zinc"], FakeGeneration([paper("a", "Zinc.")]), HashEmbedder(), SETTINGS)
    assert found.is_skipped and "1 papers" in found.reason


def test_papers_are_picked_by_their_cards_and_widened_to_a_second_cluster() -> None:
    found = shortlist_papers(["zinc root growth"], generation(0.4), HashEmbedder(), SETTINGS)
    assert not found.is_skipped and len(found.paper_ids) == 3 and found.num_widened >= 1
    assert {int(key[1:]) // 4 for key in found.paper_ids} == {0, 1}


@pytest.mark.parametrize("silhouette", [0.02, float("nan")])
def test_a_cluster_map_that_means_nothing_does_not_widen(silhouette: float) -> None:
    found = shortlist_papers(["zinc root growth"], generation(silhouette), HashEmbedder(), SETTINGS)
    assert found.num_widened == 0 and "not widened" in found.reason


def test_retracted_papers_are_not_picked() -> None:
    found = shortlist_papers(["zinc root growth"], generation(0.02, "retraction"), HashEmbedder(), SETTINGS)
    assert "p0" not in found.paper_ids


def test_without_a_model_it_says_so() -> None:
    found = shortlist_papers(["zinc"], generation(0.4), None, SETTINGS)
    assert found.is_skipped and found.degraded
