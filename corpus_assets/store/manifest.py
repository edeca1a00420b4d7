"""A generation's manifest: what is in it, under which settings and models, and every file's checksum."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from corpus_assets.errors import StoreError

MANIFEST_FILE = "manifest.json"
FORMAT_VERSION = 2


class OldFormatError(StoreError):
    """A generation that another version of this program wrote."""


class FileEntry(BaseModel):
    """One file of a generation."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sha256: str
    size: int


class Artifact(BaseModel):
    """A group of files built together from the same inputs. Same ``inputs`` digest, same content: files are shared."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    inputs: str
    files: Mapping[str, FileEntry]
    stats: Mapping[str, Any] = Field(default_factory=dict)


class SegmentEntry(BaseModel):
    """Where one segment's files are, relative to the generation, and which of its papers count no more."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    fts: str
    vectors: str | None
    bodies: str = Field(description="Texts, pages and sections of its papers.")
    members: str = Field(description="Paper ids with the digest of their content.")
    removed: tuple[str, ...] = Field((), description="Papers that were edited or removed since it was written.")


class EmbedderEntry(BaseModel):
    """The model whose vectors are in the generation; questions must be embedded by the same one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    fingerprint: str
    dimension: int


class Manifest(BaseModel):
    """The content of ``manifest.json``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format_version: int = FORMAT_VERSION
    id: str
    created: str = Field(description="UTC, ISO 8601.")
    papers_dir: str
    num_papers: int
    num_pages: int
    num_chunks: int
    num_vectors: int
    embedder: EmbedderEntry
    settings: Mapping[str, Any] = Field(description="The settings that shaped the generation.")
    settings_fingerprint: str
    versions: Mapping[str, str] = Field(description="Parser, chunker, libraries.")
    segments: tuple[SegmentEntry, ...]
    artifacts: Mapping[str, Artifact]

    def files(self) -> dict[str, FileEntry]:
        """Return every file of the generation by relative path."""
        return {name: entry for artifact in self.artifacts.values() for name, entry in artifact.files.items()}


def read_manifest(generation_dir: Path) -> Manifest:
    """Read a generation's manifest. Raises ``StoreError`` naming the file when it is missing or damaged."""
    path = generation_dir / MANIFEST_FILE
    try:
        data = json.loads(path.read_text("utf-8"))
        found = data.get("format_version") if isinstance(data, dict) else None
        if isinstance(found, int) and found != FORMAT_VERSION:
            raise OldFormatError(
                f"{path} has format {found}; this program reads {FORMAT_VERSION}.",
                hint="Run ingest: the generation is built anew, in full, from what was read already.",
            )
        return Manifest.model_validate(data)
    except FileNotFoundError:
        raise StoreError(f"{path} is missing.", hint="Run ingest to rebuild the generation.") from None
    except ValueError as error:
        raise StoreError(f"{path} is damaged: {error}", hint="Run ingest to rebuild the generation.") from error


def read_head(generation_dir: Path) -> dict[str, Any]:
    """Return a manifest's content whatever its format; empty when it cannot be read."""
    try:
        data = json.loads((generation_dir / MANIFEST_FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def find_damage(generation_dir: Path, manifest: Manifest, *, is_deep: bool = True) -> list[str]:
    """Return a line for each file that is missing or not what the manifest says; sizes only unless ``is_deep``."""
    from corpus_assets.store.atomic import file_sha256

    problems = []
    for name, entry in sorted(manifest.files().items()):
        path = generation_dir / name
        if not path.exists():
            problems.append(f"{path} is missing")
        elif path.stat().st_size != entry.size:
            problems.append(f"{path} has {path.stat().st_size} bytes, {entry.size} were written")
        elif is_deep and file_sha256(path) != entry.sha256:
            problems.append(f"{path} does not match its checksum")
    return problems
