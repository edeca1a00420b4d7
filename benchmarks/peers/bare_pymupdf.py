"""Bare PyMuPDF: the text of every page and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.work import read_pieces

NAME = "PyMuPDF"
WHAT = "page.get_text of every page, no index"
PACKAGES = ("pymupdf",)


def ingest(files: Sequence[Path], scratch: Path) -> int:
    """Read the files and return how many pieces their words make."""
    return len(read_pieces(files))
