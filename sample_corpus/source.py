"""Paper sources: a few header lines, a line of three dashes, then Markdown-like blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

SYNTHETIC_NOTICE = "SYNTHETIC — written for the Research Copilot sample corpus; not a real publication"


@dataclass(frozen=True)
class Block:
    """One block of a paper's body.

    ``kind`` is one of heading, paragraph, bullet, reference, caption, table, survival_plot. ``rows`` is for tables;
    a heading's ``level`` counts from 1.
    """

    kind: str
    text: str = ""
    level: int = 0
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class PaperSource:
    """One paper: its header fields by name, its abstract's blocks and the blocks of its body."""

    key: str
    fields: dict[str, str]
    abstract: tuple[Block, ...]
    body: tuple[Block, ...]
    abstract_heading: str = "Abstract"
    table_widths: tuple[float, ...] = field(default=())

    def get(self, name: str, default: str = "") -> str:
        return self.fields.get(name, default)

    def is_on(self, name: str) -> bool:
        return self.get(name) == "yes"


def read_source(path: Path) -> PaperSource:
    """Read one source file; raise ``ValueError`` naming the file when its header is malformed."""
    header, separator, body = path.read_text(encoding="utf-8").partition("\n---\n")
    if not separator:
        raise ValueError(f"{path.name}: no line of three dashes between header and body")
    fields = {}
    for line in header.splitlines():
        name, colon, value = line.partition(":")
        if not colon:
            raise ValueError(f"{path.name}: header line without a colon: {line!r}")
        fields[name.strip()] = value.strip()
    missing = {"title", "authors", "venue", "year", "layout"} - fields.keys()
    if missing:
        raise ValueError(f"{path.name}: header lacks {', '.join(sorted(missing))}")
    abstract_heading, abstract, rest = _split_abstract(_parse_blocks(body))
    widths = tuple(float(width) for width in fields.get("table_widths", "").split())
    return PaperSource(path.stem, fields, tuple(abstract), tuple(rest), abstract_heading, widths)


def read_sources(folder: Path) -> list[PaperSource]:
    """Read every ``*.md`` source in ``folder``, sorted by name."""
    return [read_source(path) for path in sorted(folder.glob("*.md"))]


def _split_abstract(blocks: list[Block]) -> tuple[str, list[Block], list[Block]]:
    if not blocks or blocks[0].kind != "heading" or blocks[0].text not in {"Abstract", "Summary"}:
        return "Abstract", [], blocks
    end = next((i for i, block in enumerate(blocks) if i and block.kind == "heading"), len(blocks))
    return blocks[0].text, blocks[1:end], blocks[end:]


def _parse_blocks(body: str) -> list[Block]:
    blocks = []
    for piece in body.strip().split("\n\n"):
        lines = piece.strip().splitlines()
        if not lines:
            continue
        first = lines[0]
        if first.startswith("|"):
            rows = tuple(tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines)
            blocks.append(Block("table", rows=rows))
        elif first.startswith("#"):
            level = len(first) - len(first.lstrip("#"))
            blocks.append(Block("heading", first.lstrip("# "), level))
        elif first.startswith("@survival "):
            blocks.append(Block("survival_plot", first.removeprefix("@survival ")))
        elif first.startswith("@caption "):
            blocks.append(Block("caption", " ".join(lines).removeprefix("@caption ")))
        elif first.startswith("- "):
            blocks.extend(Block("bullet", line.removeprefix("- ")) for line in lines)
        elif first.startswith("["):
            blocks.extend(Block("reference", line) for line in lines)
        else:
            blocks.append(Block("paragraph", " ".join(lines)))
    return blocks
