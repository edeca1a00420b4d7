"""A small corpus in memory with the face of a generation, and a search over it, for tests of the question pipeline."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from corpus_assets.fts import tokenize
from corpus_assets.model import (
    Card,
    Chunk,
    ClusterMap,
    Page,
    PageState,
    PaperMetadata,
    PaperRecord,
    PaperStatus,
    Section,
    SectionKind,
)
from corpus_assets.settings import Settings
from retrieval.pipeline import AskContext


@dataclass
class FakePaper:
    """One paper: sections as (title, kind, [paragraphs])."""

    paper_id: str
    title: str
    sections: Sequence[tuple[str, SectionKind, Sequence[str]]]
    year: int | None = 2020
    authors: tuple[str, ...] = ("A. Okonkwo",)
    retraction: str = ""
    chars_per_page: int = 4000


def paper(
    paper_id: str, *paragraphs: str, title: str = "", kind: SectionKind = SectionKind.RESULTS, **more
) -> FakePaper:
    return FakePaper(paper_id, title or f"Paper {paper_id}", [("Results", kind, paragraphs)], **more)


class FakeFts:
    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._tokens = {chunk.chunk_id: set(tokenize(chunk.text)) for chunk in chunks}

    def tokenize(self, query: str) -> list[str]:
        return tokenize(query)

    def term_stats(self, terms: Sequence[str]) -> dict[str, SimpleNamespace]:
        return {
            term: SimpleNamespace(chunk_df=sum(term in tokens for tokens in self._tokens.values()), paper_df=0)
            for term in terms
        }


class FakeGeneration:
    """Holds papers in memory; each section becomes one chunk."""

    def __init__(self, papers: Sequence[FakePaper], generation_id: str = "fake") -> None:
        self.id = generation_id
        self.papers: dict[str, PaperRecord] = {}
        self._texts: dict[str, str] = {}
        self._sections: dict[str, tuple[Section, ...]] = {}
        self._pages: dict[str, tuple[Page, ...]] = {}
        self._chunks: list[Chunk] = []
        for item in papers:
            self._add(item)
        self.num_chunks = len(self._chunks)
        self.segments = [SimpleNamespace(name="main", fts=FakeFts(self._chunks), vectors=None)]
        self.cards: Mapping[str, Card] = {key: Card(key, record.label, "") for key, record in self.papers.items()}
        self.card_rows = np.tile(np.array([[1.0, 0.0]], dtype=np.float32), (len(self.cards), 1))  # of one field
        self.clusters = ClusterMap({}, {}, float("nan"), 1.0, 1)
        self.manifest = SimpleNamespace(embedder=SimpleNamespace(name="hash"))

    def card_vectors(self) -> tuple[list[str], np.ndarray]:
        return list(self.cards), self.card_rows

    def _add(self, item: FakePaper) -> None:
        text = ""
        sections = []
        for title, kind, paragraphs in item.sections:
            start = len(text)
            text += title + "\n\n" + "\n\n".join(paragraphs) + "\n\n"
            sections.append(Section(title, kind, 1, start, len(text)))
            body = text[start:].rstrip("\n")
            slug = title.casefold().replace(" ", "-")
            self._chunks.append(
                Chunk(
                    chunk_id=f"{item.paper_id}:{slug}:0",
                    paper_id=item.paper_id,
                    section=slug,
                    section_title=title,
                    section_kind=kind,
                    index=0,
                    text=body,
                    char_start=start,
                    char_end=start + len(body),
                    page_start=start // item.chars_per_page + 1,
                    page_end=(start + len(body)) // item.chars_per_page + 1,
                    text_sha256=hashlib.sha256(body.encode()).hexdigest(),
                    num_tokens=len(body.split()),
                    is_retrievable=kind is not SectionKind.REFERENCES,
                )
            )
        size = item.chars_per_page
        self._pages[item.paper_id] = tuple(
            Page(number + 1, PageState.TEXT, start, min(start + size, len(text)))
            for number, start in enumerate(range(0, len(text), size))
        )
        self._texts[item.paper_id] = text
        self._sections[item.paper_id] = tuple(sections)
        self.papers[item.paper_id] = PaperRecord(
            item.paper_id,
            PaperStatus.READY,
            f"{item.paper_id}.pdf",
            hashlib.sha256(text.encode()).hexdigest(),
            PaperMetadata(title=item.title, authors=item.authors, year=item.year),
            retraction=item.retraction,
        )

    def text(self, paper_id: str) -> str:
        return self._texts[paper_id]

    def pages(self, paper_id: str) -> tuple[Page, ...]:
        return self._pages[paper_id]

    def sections(self, paper_id: str) -> tuple[Section, ...]:
        return self._sections[paper_id]

    def all_chunks(self) -> list[Chunk]:
        return self._chunks


@dataclass
class FakeSearcher:
    """Ranks chunks by the share of the query's words they hold; keeps a history of queries."""

    queries: list[str] = field(default_factory=list)

    def __call__(self, generation, query, *, mode, k, embedder, filters, settings):
        self.queries.append(query)
        wanted = set(tokenize(query))
        hits = []
        for chunk in generation.all_chunks():
            if not chunk.is_retrievable:
                continue
            if filters is not None and filters.paper_ids and chunk.paper_id not in filters.paper_ids:
                continue
            share = len(wanted & set(tokenize(chunk.text))) / max(len(wanted), 1)
            if share > 0:
                hits.append((share, chunk))
        hits.sort(key=lambda pair: (-pair[0], pair[1].chunk_id))
        ranked = [
            SimpleNamespace(rank=rank, score=share, chunk=chunk, fts_rank=rank, dense_rank=None, cosine=None)
            for rank, (share, chunk) in enumerate(hits[:k], start=1)
        ]
        return SimpleNamespace(hits=ranked, degraded=[], ms=0.0)


def fake_context(home: Path, papers: Sequence[FakePaper], *, embedder=None, retrieval=None, **more) -> AskContext:
    """Return a context over papers in memory; without an embedder, words alone decide."""
    settings = Settings(home=home)
    changes = {"reranker": "lexical" if embedder is None else "off", **(retrieval or {})}
    settings = settings.model_copy(update={"retrieval": settings.retrieval.model_copy(update=changes)})
    generation = papers if isinstance(papers, FakeGeneration) else FakeGeneration(papers)
    return AskContext(
        settings=settings,
        generation=generation,
        retrieval_mode="fts_only" if embedder is None else "hybrid",
        load_embedder=(lambda: embedder) if embedder is not None else None,
        searcher=FakeSearcher(),
        **more,
    )
