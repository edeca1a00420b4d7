"""SHA-256 of model files, remembered by size and time so that start-up does not read 90 MB each time."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable
from pathlib import Path

from corpus_assets.errors import StoreError
from corpus_assets.store.atomic import file_sha256 as hash_file
from corpus_assets.store.atomic import write_atomic

logger = logging.getLogger(__name__)

_FILE_NAME = "checksums.json"


class Checksums:
    """The remembered checksums of one cache directory; without one, or write access, they are computed each time."""

    def __init__(self, cache_dir: Path | None = None) -> None:
        self.path = cache_dir / _FILE_NAME if cache_dir is not None else None
        self._known = _read(self.path) if self.path is not None else {}

    def sha256(self, path: Path) -> str:
        """Return the file's checksum in hex, read again only when its size or modification time changed."""
        path = path.resolve()
        stat = path.stat()
        entry = self._known.get(str(path))
        if entry is not None and entry[:2] == [stat.st_size, stat.st_mtime_ns]:
            return str(entry[2])
        digest = hash_file(path)
        self._known[str(path)] = [stat.st_size, stat.st_mtime_ns, digest]
        if self.path is not None:
            self._write(self.path)
        return digest

    def _write(self, path: Path) -> None:
        try:
            write_atomic(path, json.dumps(self._known, indent=1, sort_keys=True))
        except StoreError as error:
            logger.debug("checksums are not remembered in %s: %s", path, error)


def digest_of(parts: Iterable[str]) -> str:
    """Return 16 hex digits of sha256 over the parts in order."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _read(path: Path) -> dict[str, list[int | str]]:
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # nothing remembered: everything is read once more
    return known if isinstance(known, dict) else {}
