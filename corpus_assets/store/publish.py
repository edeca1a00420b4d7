"""The pointer readers follow, and moving it: publish, roll back, prune."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from corpus_assets.errors import BadInputError, NothingPublishedError, StoreError
from corpus_assets.store.atomic import remove_tree, write_atomic
from corpus_assets.store.manifest import MANIFEST_FILE, find_damage, read_head, read_manifest

POINTER_FILE = "published"


def generations_dir(home: Path) -> Path:
    """Return the folder of generations."""
    return home / "generations"


def read_pointer(home: Path) -> dict[str, Any]:
    """Return the pointer's content: ``id``, ``previous`` ids (newest first) and ``held`` (rolled back) ids."""
    path = home / POINTER_FILE
    try:
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {"id": None, "previous": [], "held": []}
    except ValueError as error:
        raise StoreError(
            f"{path} is damaged: {error}.", hint="Run `research-copilot rollback GENERATION` to point it somewhere."
        ) from error
    if not isinstance(data, dict) or "id" not in data:
        raise StoreError(f"{path} names no generation.", hint="Run `research-copilot rollback GENERATION`.")
    return {"previous": [], "held": [], **data}


def published_id(home: Path) -> str | None:
    """Return the id of the published generation, or ``None``."""
    value = read_pointer(home)["id"]
    return str(value) if value is not None else None


def is_held(home: Path, generation_id: str) -> bool:
    """Tell whether a person rolled this generation back; ingest does not publish it again by itself."""
    return generation_id in read_pointer(home)["held"]


def point_to(home: Path, generation_id: str) -> None:
    """Make a complete generation the published one: verify every checksum, then swap the pointer atomically."""
    check_complete(home, generation_id)
    pointer = read_pointer(home)
    if pointer["id"] == generation_id:
        return
    previous = [old for old in [pointer["id"], *pointer["previous"]] if old and old != generation_id]
    _write_pointer(home, generation_id, previous, [held for held in pointer["held"] if held != generation_id])


def rollback(home: Path, generation_id: str | None = None) -> str:
    """Publish an earlier generation (the one before, or the one named) and hold back the present one; return its id."""
    pointer = _pointer_or_empty(home)
    current = pointer["id"]
    if generation_id is None:
        candidates = [old for old in pointer["previous"] if (generations_dir(home) / old / MANIFEST_FILE).exists()]
        if not candidates:
            if current is None:
                raise NothingPublishedError(f"No corpus is published in {home}.", hint="Run ingest first.")
            raise BadInputError(f"No earlier generation is left in {home}.", hint="See `research-copilot generations`.")
        generation_id = candidates[0]
    check_complete(home, generation_id)
    if generation_id != current:
        previous = [old for old in pointer["previous"] if old != generation_id]
        held = [old for old in pointer["held"] if old != generation_id]
        held += [current] if current else []
        _write_pointer(home, generation_id, previous, held)
    return generation_id


def check_complete(home: Path, generation_id: str) -> None:
    """Raise unless the generation exists and every file of it matches its checksum."""
    folder = generations_dir(home) / generation_id
    if not generation_id or "/" in generation_id or not (folder / MANIFEST_FILE).exists():
        raise BadInputError(f"No generation {generation_id} in {home}.", hint="See `research-copilot generations`.")
    damage = find_damage(folder, read_manifest(folder))
    if damage:
        raise StoreError(f"Generation {generation_id} is damaged: {damage[0]}.", hint="Run ingest to rebuild it.")


def prune(home: Path, keep: int) -> list[str]:
    """Delete all but the published and the newest ``keep`` generations; return the ids deleted."""
    folder = generations_dir(home)
    complete = [path for path in folder.iterdir() if not path.name.startswith(".") and (path / MANIFEST_FILE).exists()]
    newest = sorted(complete, key=lambda path: (str(read_head(path).get("created", "")), path.name), reverse=True)
    current = published_id(home)
    gone = []
    for path in newest[keep:]:
        if path.name != current:
            remove_tree(path)
            gone.append(path.name)
    return gone


def _pointer_or_empty(home: Path) -> dict[str, Any]:
    try:
        return read_pointer(home)
    except StoreError:
        return {"id": None, "previous": [], "held": []}  # a person is mending a damaged pointer by rolling back


def _write_pointer(home: Path, generation_id: str, previous: list[str], held: list[str]) -> None:
    content = {"id": generation_id, "since": datetime.now(UTC).isoformat(), "previous": previous[:20], "held": held}
    write_atomic(home / POINTER_FILE, json.dumps(content, indent=1) + "\n")
