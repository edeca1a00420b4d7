"""What is needed to cite a paper, read from its first pages, its own metadata and the manifest. No look-ups online.

The manifest wins over everything. Else a title is what page 1 prints largest (the file's own title when it says the
same); identifiers and dates count only where they are printed as this paper's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from corpus_assets import front_authors, front_ids, front_title
from corpus_assets.identifiers import normalise_arxiv_id
from corpus_assets.manifest import Manifest, ManifestProblem, ManifestRow, read_manifest
from corpus_assets.model import PaperMetadata
from corpus_assets.pdf.front import FrontMatter

__all__ = ["Manifest", "ManifestProblem", "ManifestRow", "apply_manifest", "extract_metadata", "read_manifest"]

_ARXIV_DOI = re.compile(r"10\.48550/arxiv\.(.+)")


def extract_metadata(front: FrontMatter, manifest_row: ManifestRow | None = None) -> PaperMetadata:
    """Return title, authors, year, DOI and arXiv id with the source of each; what is not found stays empty."""
    sources: dict[str, str] = {}
    title, sources["title"], title_lines = front_title.find_title(front)
    authors, sources["authors"] = front_authors.find_authors(front, title_lines)
    doi, sources["doi"] = front_ids.find_doi(front)
    (arxiv_id, arxiv_version), sources["arxiv_id"] = front_ids.find_arxiv_id(front)
    if not arxiv_id and (match := _ARXIV_DOI.match(doi)):
        (arxiv_id, arxiv_version), sources["arxiv_id"] = normalise_arxiv_id(match[1]), sources["doi"]
    year, sources["year"] = front_ids.find_year(front)
    if sources["year"] in ("", "pdf_metadata") and (dated := front_ids.year_of_arxiv_id(arxiv_id)):
        year, sources["year"] = dated, sources["arxiv_id"]
    found = PaperMetadata(
        title=title,
        authors=authors,
        year=year,
        doi=doi,
        arxiv_id=arxiv_id,
        arxiv_version=arxiv_version,
        sources={name: source for name, source in sorted(sources.items()) if source},
    )
    return apply_manifest(found, manifest_row)


def apply_manifest(metadata: PaperMetadata, row: ManifestRow | None) -> PaperMetadata:
    """Return the metadata with every field the manifest's row fills taken from there."""
    if row is None:
        return metadata
    stated: Mapping[str, object] = {
        name: value for name in ("title", "authors", "year", "doi", "arxiv_id") if (value := getattr(row, name))
    }
    sources = dict(sorted({**metadata.sources, **dict.fromkeys(stated, "manifest")}.items()))
    changes: dict[str, object] = {**stated, "sources": sources}
    if row.arxiv_id:
        changes["arxiv_version"] = row.arxiv_version
    return replace(metadata, **changes)  # type: ignore[arg-type]
