"""Model objects to and from the JSON they are stored as."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corpus_assets.model import (
    Card,
    Page,
    PageState,
    PaperMetadata,
    PaperRecord,
    PaperStatus,
    ParsedPaper,
    Section,
    SectionKind,
)


def metadata_from(data: Mapping[str, Any]) -> PaperMetadata:
    """Read a paper's metadata."""
    return PaperMetadata(
        **{**data, "authors": tuple(data.get("authors", ())), "sources": dict(data.get("sources", {}))}
    )


def page_from(data: Mapping[str, Any]) -> Page:
    """Read one page."""
    return Page(**{**data, "state": PageState(data["state"]), "flags": tuple(data.get("flags", ()))})


def section_from(data: Mapping[str, Any]) -> Section:
    """Read one section."""
    return Section(**{**data, "kind": SectionKind(data["kind"])})


def parsed_from(data: Mapping[str, Any]) -> ParsedPaper:
    """Read what a parser gave."""
    return ParsedPaper(
        text=data["text"],
        pages=tuple(page_from(page) for page in data["pages"]),
        sections=tuple(section_from(section) for section in data["sections"]),
        metadata=metadata_from(data["metadata"]),
        num_pages_expected=data["num_pages_expected"],
        flags=tuple(data["flags"]),
    )


def record_from(data: Mapping[str, Any]) -> PaperRecord:
    """Read a paper's record."""
    return PaperRecord(
        **{
            **data,
            "status": PaperStatus(data["status"]),
            "metadata": metadata_from(data["metadata"]),
            "flags": tuple(data.get("flags", ())),
            "also_at": tuple(data.get("also_at", ())),
        }
    )


def card_from(data: Mapping[str, Any]) -> Card:
    """Read a card."""
    return Card(**{**data, "findings": tuple(data["findings"]), "limitations": tuple(data["limitations"])})
