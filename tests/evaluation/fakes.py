"""A corpus in memory, and golden sets over it, for tests of evaluation."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from corpus_assets.model import Chunk, PaperMetadata, PaperRecord, PaperStatus, SectionKind


def make_chunk(paper_id: str, index: int, text: str, char_start: int, section: str = "results") -> Chunk:
    return Chunk(
        chunk_id=f"{paper_id}:{section}:{index}",
        paper_id=paper_id,
        section=section,
        section_title=section.title(),
        section_kind=SectionKind.RESULTS,
        index=index,
        text=text,
        char_start=char_start,
        char_end=char_start + len(text),
        page_start=1,
        page_end=1,
        text_sha256=hashlib.sha256(text.encode()).hexdigest(),
        num_tokens=len(text.split()),
    )


class MemoryCorpus:
    """Papers cut at given offsets; stands in for a generation where only texts and chunks are read."""

    def __init__(self, texts: Mapping[str, str], cuts: Mapping[str, list[tuple[int, int]]]) -> None:
        self.texts = dict(texts)
        self.papers: dict[str, PaperRecord] = {
            paper_id: PaperRecord(
                paper_id, PaperStatus.READY, f"{paper_id}.pdf", "0" * 64, PaperMetadata(title=paper_id)
            )
            for paper_id in texts
        }
        self._chunks = {
            paper_id: [
                make_chunk(paper_id, number, texts[paper_id][start:end], start)
                for number, (start, end) in enumerate(spans)
            ]
            for paper_id, spans in cuts.items()
        }

    def chunks_of(self, paper_id: str) -> list[Chunk]:
        return self._chunks[paper_id]

    def text(self, paper_id: str) -> str:
        return self.texts[paper_id]


def make_case(case_id: str = "c1", **changes: Any) -> dict[str, Any]:
    case: dict[str, Any] = {
        "case_id": case_id,
        "query": f"melting point of gallium {case_id}",
        "query_type": "exact",
        "difficulty": "single_hop",
        "top_k": 10,
        "judgments": [
            {
                "paper_id": "p1",
                "chunk_ref": "p1:results:0",
                "relevance": 3,
                "quote": "The melting point of gallium is low.",
            }
        ],
        "expected_paper_ids": ["p1"],
        "expected_chunk_refs": ["p1:results:0"],
    }
    return {**case, **changes}


def make_fixture(*cases: dict[str, Any], papers: tuple[str, ...] = ("p1",)) -> dict[str, Any]:
    return {
        "version": 1,
        "description": "A set for tests.",
        "papers": [{"paper_id": name, "title": f"Paper {name}"} for name in papers],
        "cases": list(cases) or [make_case()],
    }
