from dataclasses import replace

import pytest

from corpus_assets.model import PaperStatus
from retrieval.copilot import start
from retrieval.ledger import find_loss
from retrieval.pipeline import run_stages
from retrieval.shortlist import Shortlist
from tests.retrieval.fakes import FakeGeneration, fake_context, paper

QUESTION = "Does zinc increase root growth in maize?"
PAPERS = [
    paper("z", "Zinc increased root growth in maize by 12 %."),
    paper("c", "Copper had no effect on root growth in maize."),
]


@pytest.fixture
def asked(tmp_path):
    ctx = fake_context(tmp_path, FakeGeneration(PAPERS), use_cache=False)
    ctx.generation.chunks_of = lambda paper_id: [c for c in ctx.generation.all_chunks() if c.paper_id == paper_id]
    return run_stages(start(QUESTION), ctx), ctx


def test_a_cited_paper_is_not_lost(asked) -> None:
    assert not find_loss(*asked, paper_id="z").is_lost


def test_each_stage_that_loses_it_is_named(asked) -> None:
    state, ctx = asked
    records = ctx.generation.papers
    assert find_loss(state, ctx, paper_id="absent").stage == "parse"
    assert find_loss(state, ctx, paper_id="z", quote="Iron is red.").stage == "parse"
    assert find_loss(state, ctx, paper_id="z", chunk_id="z:other:0").stage == "chunk"
    picked = replace(state, shortlist=Shortlist(("c",), is_skipped=False))
    assert find_loss(picked, ctx, paper_id="z").stage == "shortlist"
    bare = [stage.model_copy(update={"detail": {}}) for stage in state.stages]
    unsearched = replace(state, candidates=(), stages=tuple(bare))
    assert find_loss(unsearched, ctx, paper_id="z").stage == "fusion"
    ctx.searcher = lambda *args, **kwargs: type("Nothing", (), {"hits": [], "degraded": []})()
    assert find_loss(unsearched, ctx, paper_id="z").stage == "full_text"
    others = tuple(item for item in state.evidence if item.paper_id != "z")
    assert find_loss(replace(state, evidence=others), ctx, paper_id="z").stage == "rerank"
    taken = tuple(replace(state.evidence[0], chunk=replace(item.chunk, chunk_id=f"z:r:{n}", paper_id="z"))
                  for n, item in enumerate([*state.evidence, *state.evidence, *state.evidence]))  # fmt: skip
    assert find_loss(replace(state, evidence=taken), ctx, paper_id="z").stage == "cap"
    assert find_loss(replace(state, layout=None), ctx, paper_id="z").stage == "writer"
    records["z"] = replace(records["z"], status=PaperStatus.REFUSED, reason="it is HTML")
    assert "it is HTML" in find_loss(state, ctx, paper_id="z").reason
