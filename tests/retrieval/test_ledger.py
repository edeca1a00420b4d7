"""A loss is seeded at each stage of real questions to a real corpus; the ledger names the stage."""

import pytest

from corpus_assets.build import ingest
from corpus_assets.embedding.hashing import HashEmbedder
from corpus_assets.errors import BadInputError
from corpus_assets.settings import EmbeddingSettings, RunSettings, Settings
from corpus_assets.store.generation import open_published
from retrieval.copilot import make_context, start
from retrieval.ledger import STAGES, find_loss
from retrieval.pipeline import run_stages
from tests.retrieval.fakes import FakeGeneration, fake_context, paper

QUESTION = "How much did zinc increase root growth in maize?"
CLAIM = "Does zinc increase root growth in maize?"
FINDING = "Zinc increased root growth in maize by 12 % in the greenhouse."
REFERENCE = "[1] Okonkwo A. Boron and root growth in maize. J Imag Bot. 2018;1:1-4."
FILLER = " ".join(f"Plots were weeded by hand in week {n} and the weather was mild throughout." for n in range(12))
FIELDS = [
    f"In field {n}, zinc changed root growth in maize by {n} % against the control. {FILLER}" for n in (10, 11, 12)
]


class Misled(HashEmbedder):
    """Reads every question as ``heard``."""

    def __init__(self, heard: str) -> None:
        self.heard = heard
        self.fingerprint = f"misled by {heard}"  # vectors of questions are remembered by it

    def embed_queries(self, texts):
        return self.embed_documents([self.heard] * len(texts))


@pytest.fixture(scope="module")
def generation(tmp_path_factory):
    root = tmp_path_factory.mktemp("ledger")
    folder = root / "papers"
    folder.mkdir()
    papers = {
        "finding.md": ("Zinc and maize roots", [FINDING], REFERENCE),
        "fields.md": ("A long field report on maize", FIELDS, ""),
        "spelter.md": ("Spelter and corn", ["Spelter lengthened underground organs of corn: three trials agreed."], ""),
        "copper.md": (
            "Copper and wheat",
            ["Copper left the growth of wheat as it was in two seasons."],
            "",
        ),
    }
    for name, (title, paragraphs, references) in papers.items():
        body = "\n\n".join(paragraphs)
        end = f"\n\n## References\n\n{references}\n" if references else "\n"
        (folder / name).write_text(f"# {title}\n\n## Results\n\n{body}{end}", encoding="utf-8")
    (folder / "paywall.pdf").write_text("<!doctype html><html><body>Zinc and roots: buy access</body></html>")
    settings = Settings(
        home=root / "home", papers_dir=folder, embedding=EmbeddingSettings(model="hash"), run=RunSettings(workers=1)
    )
    ingest(settings, folder)
    with open_published(settings.home) as opened:
        yield opened, settings


@pytest.fixture
def lose(generation):
    """Ask with changed settings and return the loss of a paper, or of its ``nth`` passage."""
    opened, settings = generation
    ids = {record.path: paper_id for paper_id, record in opened.papers.items()}

    def run(name, question=QUESTION, *, nth=None, quote="", embedder=None, mode="standard", top_k=None, **changes):
        retrieval = settings.retrieval.model_copy(update=changes)
        ctx = make_context(settings.model_copy(update={"retrieval": retrieval}), opened, use_cache=False)
        if embedder is not None:
            ctx.load_embedder = lambda: embedder
        state = run_stages(start(question, mode=mode, top_k=top_k), ctx)
        chunk_id = "" if nth is None else opened.chunks_of(ids[name])[nth].chunk_id
        return find_loss(state, ctx, paper_id=ids[name], chunk_id=chunk_id, quote=quote)

    return run


SEEDS = {
    "parse": {"name": "paywall.pdf"},
    "chunk": {"name": "finding.md", "quote": "Boron and root growth in maize."},
    "shortlist": {"name": "fields.md", "shortlist_min_papers": 2, "shortlist_size": 1},
    "full_text": {"name": "spelter.md", "embedder": Misled("zinc corn trials"), "k_retrieve": 1},
    "dense": {"name": "fields.md", "embedder": Misled("glacier"), "k_retrieve": 1},
    "fusion": {"name": "fields.md", "k_retrieve": 1},
    "cap": {"name": "fields.md", "nth": 2, "pool_per_paper": 1, "k_retrieve": 3},
    "rerank": {"name": "fields.md", "top_k": 1},
    "writer": {"name": "copper.md", "question": CLAIM},
}


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_a_loss_seeded_at_a_stage_is_named(lose, stage) -> None:
    loss = lose(**SEEDS[stage])
    assert (loss.stage, loss.is_lost) == (stage, True), loss.reason
    assert loss.reason


@pytest.mark.slow
def test_what_was_not_seeded_is_not_lost(lose) -> None:
    assert not lose("finding.md").is_lost
    assert not lose("finding.md", quote="root growth\nin maize by  12 %").is_lost  # white space aside


@pytest.mark.slow
def test_text_that_no_page_gave_is_lost_in_parsing(lose) -> None:
    assert lose("finding.md", quote="Zinc decreased root growth").stage == "parse"
    assert "HTML page" in lose("paywall.pdf").reason


@pytest.mark.slow
def test_the_cap_on_evidence_is_told_from_a_low_rank(lose) -> None:
    ranks = [lose("fields.md", nth=nth, max_per_paper=1).stage for nth in range(3)]
    assert ranks.count("cap") >= 1
    assert [lose("fields.md", nth=nth, max_per_paper=1, top_k=1).stage for nth in range(3)] == ["rerank"] * 3


def test_a_question_that_was_asked_back_has_no_losses(tmp_path) -> None:
    ctx = fake_context(tmp_path, FakeGeneration([paper("z", FINDING)]), use_cache=False)
    state = run_stages(start("What about its side effects?"), ctx)
    with pytest.raises(BadInputError, match="No stage searched"):
        find_loss(state, ctx, paper_id="z")


def test_a_paper_taken_out_of_the_corpus_is_named(tmp_path) -> None:
    ctx = fake_context(tmp_path, FakeGeneration([paper("z", FINDING)]), use_cache=False)
    ctx.generation.chunks_of = lambda paper_id: ctx.generation.all_chunks()
    state = run_stages(start(CLAIM), ctx)
    assert not find_loss(state, ctx, paper_id="z").is_lost
    assert find_loss(state, ctx, paper_id="absent").stage == "parse"
