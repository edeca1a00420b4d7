"""Write the sample papers: ``python -m sample_corpus.generate [FOLDER]``. Same bytes on every run."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from sample_corpus.layout import compose_paper
from sample_corpus.render import render_pdf
from sample_corpus.source import read_sources

HERE = Path(__file__).resolve().parent
SOURCES_DIR = HERE / "papers_src"
PAPERS_DIR = HERE / "papers"


def generate_papers(folder: Path, only: Sequence[str] = ()) -> list[Path]:
    """Write one PDF for each source (or for those named in ``only``) into ``folder`` and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for source in read_sources(SOURCES_DIR):
        if only and source.key not in only:
            continue
        path = folder / f"{source.key}.pdf"
        path.write_bytes(render_pdf(source, compose_paper(source)))
        written.append(path)
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=PAPERS_DIR, help="where to write the PDFs")
    parser.add_argument("--only", nargs="*", default=(), metavar="KEY", help="write only these papers")
    arguments = parser.parse_args()
    paths = generate_papers(arguments.folder, arguments.only)
    print(f"{len(paths)} papers, {sum(path.stat().st_size for path in paths) / 1e6:.2f} MB in {arguments.folder}")


if __name__ == "__main__":
    main()
