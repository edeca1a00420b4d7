import pytest

from corpus_assets.embedding.hashing import HashEmbedder
from corpus_assets.settings import Settings
from retrieval.answer_cache import AnswerCache, cache_scope, mean_the_same, normal_form
from retrieval.copilot import finish, start
from retrieval.pipeline import run_stages
from tests.retrieval.fakes import fake_context, paper
from tests.retrieval.question_pairs import adversarial_pairs, paraphrase_pairs

PAPERS = [paper("z", "Zinc increased root growth in maize by 12 %. Copper had no effect on root growth in maize.")]


def test_no_question_of_another_meaning_hits() -> None:
    pairs = adversarial_pairs()
    assert len(pairs) >= 200
    assert [pair for pair in pairs if mean_the_same(pair[1], pair[2]) or mean_the_same(pair[2], pair[1])] == []


def test_at_least_half_of_the_paraphrases_mean_the_same() -> None:
    pairs = paraphrase_pairs()
    hits = [pair for pair in pairs if normal_form(pair[0]) == normal_form(pair[1]) or mean_the_same(*pair)]
    assert len(hits) >= 0.5 * len(pairs)


def test_a_hit_shows_the_question_it_was_written_for(tmp_path) -> None:
    ctx = fake_context(tmp_path, PAPERS)
    first = finish(run_stages(start("Does zinc increase root growth?"), ctx), ctx)
    again = finish(run_stages(start("does zinc increase root growth"), ctx), ctx)
    assert not first.cached and again.cached
    assert again.cached_question == "Does zinc increase root growth?"
    assert again.answer == first.answer and again.question == "does zinc increase root growth"


def test_a_near_duplicate_needs_a_high_cosine_too(tmp_path) -> None:
    ctx = fake_context(tmp_path, PAPERS)
    question = "What is the role of zinc in maize?"
    finish(run_stages(start(question), ctx), ctx)
    scope = run_stages(start(question), ctx).cache_scope
    cache = AnswerCache(ctx.store, scope)
    assert cache.find("What role does zinc have in maize?") is None  # no embedder, no near-duplicates
    assert cache.find("What is the role of zinc in the maize?", HashEmbedder) is not None
    assert cache.find("What is the role of copper in maize?", HashEmbedder) is None


def test_abstentions_and_counter_questions_are_not_cached(tmp_path) -> None:
    ctx = fake_context(tmp_path, PAPERS)
    for question in ("What about its side effects?", "What is the capital of France?"):
        assert finish(run_stages(start(question), ctx), ctx).abstained
        assert not finish(run_stages(start(question), ctx), ctx).cached


def test_no_cache_asks_anew(tmp_path) -> None:
    finish(run_stages(start("Does zinc increase root growth?"), (ctx := fake_context(tmp_path, PAPERS))), ctx)
    ctx = fake_context(tmp_path, PAPERS, use_cache=False)
    assert not finish(run_stages(start("Does zinc increase root growth?"), ctx), ctx).cached


@pytest.mark.parametrize("changed", ["generation", "mode", "filters", "writer", "retrieval", "top_k"])
def test_everything_that_shapes_an_answer_is_in_the_key(changed: str) -> None:
    base = {
        "generation": "g1", "mode": "brief", "filters": None, "settings": Settings(), "writer": "extractive",
        "retrieval": "hybrid", "top_k": 8,
    }  # fmt: skip
    other = {**base, changed: {"generation": "g2", "mode": "detailed", "top_k": 3}.get(changed, "other")}
    assert cache_scope(**base) != cache_scope(**other)
