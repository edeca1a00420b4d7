"""Corpora made for a suite, ingested and published for real in a folder of their own, and asking them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from corpus_assets.settings import AnswerMode, Settings
from retrieval.filters import Filters
from retrieval.stance import Stance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corpus_assets.embedding.protocol import Embedder
    from corpus_assets.store.generation import Generation
    from evaluation.answers.gold_sets import GoldSet, Label
    from retrieval.answer import AnswerRecord
    from retrieval.asking import AskContext
    from retrieval.stance import StanceModel


class GoldStances:
    """Gives passages the stance they were judged to have, as a perfect judge would."""

    name = "gold labels"

    def __init__(self, gold: GoldSet) -> None:
        self._gold = [(normal_text(passage.text), passage.label) for passage in gold.passages]

    def judge(self, claim: str, passages: Sequence[str]) -> list[Stance]:
        """Return the judged stance of each passage, neutral for a text that was not judged."""
        del claim
        return [self._stance_of(normal_text(passage)) for passage in passages]

    def _stance_of(self, passage: str) -> Stance:
        found = [label for text, label in self._gold if text in passage or passage in text]
        label: Label = found[0] if found else "neutral"
        return Stance(label, "judged by a person", is_verdict=label != "neutral")


def normal_text(text: str) -> str:
    """Return letters and digits only, so that spacing and hyphenation do not tell texts apart."""
    return "".join(ch for ch in text.casefold() if ch.isalnum())


@dataclass
class Asker:
    """Asks one generation without cache; models are loaded once, a language model gets a fresh budget a question."""

    settings: Settings
    generation: Generation
    context: AskContext
    papers_dir: Path

    def ask(
        self,
        question: str,
        *,
        mode: AnswerMode = "standard",
        paper_ids: frozenset[str] = frozenset(),
        stance_model: StanceModel | None = None,
    ) -> AnswerRecord:
        """Return the answer, from some papers only where they are named."""
        from retrieval.copilot import finish, load_model, start
        from retrieval.pipeline import run_stages

        self.context.language_model = load_model(self.settings)
        self.context.stance_model = stance_model
        filters = Filters(paper_ids=paper_ids) if paper_ids else None
        state = run_stages(start(question, mode=mode, filters=filters), self.context)
        return finish(state, self.context, save=False)


@dataclass
class MemoEmbedder:
    """Remembers document vectors: the same sentences come up for many questions."""

    inner: Embedder
    known: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors; only new texts are computed."""
        import numpy as np

        new = sorted({text for text in texts if text not in self.known}, key=lambda text: (len(text), text))
        if new:
            self.known.update(zip(new, self.inner.embed_documents(new), strict=True))
        return np.stack([self.known[text] for text in texts]) if texts else self.inner.embed_documents(texts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def make_asker(settings: Settings, generation: Generation, papers_dir: Path, *, remembers: bool = False) -> Asker:
    """Return an asker of a generation, its reranking model loaded.

    One that ``remembers`` embeds no sentence twice: much faster, and equal up to the last digits of a cosine.
    """
    from retrieval.copilot import make_context
    from retrieval.rerank import load_cross_encoder

    context = make_context(settings, generation, use_cache=False)
    context.cross_encoder_override, _ = load_cross_encoder(settings.retrieval)
    load = context.load_embedder
    if remembers and load is not None:
        context.load_embedder = lambda: cast("Embedder", MemoEmbedder(load()))
    return Asker(settings, generation, context, papers_dir)


@dataclass(frozen=True)
class BuiltCorpus:
    """A published corpus of written papers: file stem -> paper id."""

    asker: Asker
    paper_ids: Mapping[str, str]

    def papers_of(self, gold: GoldSet) -> frozenset[str]:
        """Return the ids of a set's papers that are in the corpus."""
        return frozenset(
            self.paper_ids[f"{gold.set_id}-{number}"]
            for number in range(len(gold.passages))
            if f"{gold.set_id}-{number}" in self.paper_ids
        )


@contextmanager
def built_corpus(settings: Settings, work_dir: Path, papers: Mapping[str, str]) -> Iterator[BuiltCorpus]:
    """Ingest papers given as file stem -> Markdown and hand out the published corpus."""
    from corpus_assets.build import ingest
    from corpus_assets.store.generation import open_published

    folder = work_dir / "papers"
    folder.mkdir(parents=True)
    for stem, text in papers.items():
        (folder / f"{stem}.md").write_text(text, encoding="utf-8")
    made = settings.model_copy(
        update={"home": work_dir / "home", "papers_dir": folder, "models_dir": settings.models_path}
    )
    ingest(made, folder, gates=[])
    with open_published(made.home) as generation:
        ids = {Path(record.path).stem: paper_id for paper_id, record in generation.papers.items() if record.is_served}
        yield BuiltCorpus(make_asker(made, generation, folder, remembers=True), ids)


def paper_text(title: str, body: str) -> str:
    """Return a paper's Markdown."""
    return f"# {title}\n\n## Results\n\n{body}\n"


def papers_of_sets(sets: Sequence[GoldSet]) -> dict[str, str]:
    """Return file stem -> Markdown, one paper a passage."""
    return {
        f"{gold.set_id}-{number}": paper_text(f"Report {number + 1} of {gold.set_id}", passage.text)
        for gold in sets
        for number, passage in enumerate(gold.passages)
    }
