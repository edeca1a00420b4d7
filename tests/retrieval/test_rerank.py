from itertools import permutations

import pytest

from corpus_assets.settings import RetrievalSettings
from retrieval.passages import Candidate
from retrieval.plan import plan_by_rules
from retrieval.rerank import fuse_ranks, rerank, score_passages, select_evidence, sigmoid
from tests.retrieval.fakes import FakeGeneration, paper

CHUNKS = FakeGeneration([paper(f"p{n}", f"Zinc statement number {n} stands here.") for n in range(4)]).all_chunks()


class Scripted:
    name = "scripted"

    def __init__(self, scores) -> None:
        self.scores = scores
        self.pairs: list[tuple[str, str]] = []

    def predict(self, pairs):
        self.pairs.extend(pairs)
        return [self.scores.get(passage, 0.0) for _, passage in pairs]


def candidates() -> list[Candidate]:
    return [Candidate(chunk=chunk, score=1.0, rank=rank) for rank, chunk in enumerate(CHUNKS, start=1)]


def test_ties_have_one_order() -> None:
    orders = {tuple(key for key, _ in fuse_ranks(list(legs), k=60)) for legs in permutations([["A", "B"], ["C", "D"]])}
    assert orders == {("A", "C", "B", "D")}
    assert [key for key, _ in fuse_ranks([["A", "B"], ["B", "A"]], k=60)] == ["A", "B"]


def test_the_scorer_does_not_replace_the_first_stage() -> None:
    items = candidates()
    ranked = rerank(
        items,
        {},
        scores={item.chunk_id: 0.1 * index for index, item in enumerate(items)},
        scorer="given",
        has_embedder=False,
        settings=RetrievalSettings(reranker="sentences"),
    )
    order = [item.chunk_id for item in ranked.candidates]
    assert order[0] in {items[0].chunk_id, items[-1].chunk_id} and len(order) == 4
    assert [item.relevance for item in ranked.candidates if item.chunk_id == items[3].chunk_id] == [pytest.approx(0.3)]


def test_scores_are_mapped_to_0_1_and_parts_are_scored_apart() -> None:
    assert sigmoid(-800) == pytest.approx(0.0) and sigmoid(800) == 1.0 and sigmoid(0) == 0.5
    plan = plan_by_rules("What is zinc in maize, and how can copper be found early?")
    items = [Candidate(chunk=CHUNKS[0], score=1.0, sub_queries=(0, 1))]
    scorer = Scripted({})
    (scored,) = score_passages(plan, items, scorer)
    assert set(scored.part_scores) == {0, 1} and len(scorer.pairs) == 2 and 0 <= scored.relevance <= 1


def test_one_paper_brings_at_most_its_share() -> None:
    same = [
        Candidate(chunk=CHUNKS[0].__class__(**{**CHUNKS[0].__dict__, "chunk_id": f"p0:r:{n}"}), score=1.0, rank=n)
        for n in range(5)
    ]
    plan = plan_by_rules("What is zinc?")
    kept = select_evidence(plan, [*same, *candidates()[1:]], {}, k=8, max_per_paper=3)
    assert sum(item.paper_id == "p0" for item in kept) == 3 and len(kept) == 6


def test_reranking_off_keeps_the_first_stages_order_and_the_report_says_why() -> None:
    from evaluation.bench import describe_rerank

    settings = RetrievalSettings()
    assert settings.reranker == "off"
    row = {"a": "hybrid_rerank", "b": "hybrid", "metric": "ndcg@10", "diff": 0.006, "ci95": (-0.01, 0.02), "p": 0.43}
    report = {"comparisons": [{**row, "num_cases": 192}]}
    told = describe_rerank(report, settings)
    assert not told["is_better"] and not told["is_served"]
    assert "not significantly better" in told["reason"] and "so `ask` does not rerank" in told["reason"]
    clear = {"comparisons": [{**row, "num_cases": 192, "p": 0.001}]}
    assert "yet `ask` does not rerank" in describe_rerank(clear, settings)["reason"]
    on = settings.model_copy(update={"reranker": "sentences"})
    assert "yet `ask` reranks" in describe_rerank(report, on)["reason"]
    assert "so `ask` reranks" in describe_rerank(clear, on)["reason"]
