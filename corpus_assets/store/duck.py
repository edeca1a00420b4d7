"""DuckDB connections that never reach for the network or a home directory, and fast row writing."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.errors import StoreError

if TYPE_CHECKING:
    import duckdb

OFFLINE = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}


def connect(path: Path, *, read_only: bool, threads: int = 2) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB file. Raises ``StoreError`` naming the path when it cannot be opened."""
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        **OFFLINE,
        "threads": str(threads),
        "home_directory": str(path.parent),  # DuckDB refuses to start some work when HOME does not exist
        "temp_directory": str(path.parent / f".{path.name}.tmp"),
    }
    try:
        if not read_only:
            path.parent.mkdir(parents=True, exist_ok=True)
        return duckdb.connect(str(path), read_only=read_only, config=config)
    except (duckdb.Error, OSError) as error:
        raise StoreError(f"Could not open {path}: {first_line(error)}") from error


def explain_error(error: duckdb.Error, path: Path) -> StoreError:
    """Return a store error that says which file was being worked on and what to do."""
    text = first_line(error)
    if any(sign in text for sign in ("File too large", "No space left", "Disk quota")):
        hint = "Free space or raise the file size limit, then run again; what was published is untouched."
        return StoreError(f"No space left (or the file would be too large) writing {path}: {text}", hint=hint)
    return StoreError(f"The database {path} failed: {text}", hint="Run again; what was published is untouched.")


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def insert_rows(
    con: duckdb.DuckDBPyConnection, table: str, columns: Mapping[str, str], rows: Iterable[Sequence[Any]], folder: Path
) -> int:
    """Append rows through a JSON-lines file in ``folder``: two orders of magnitude faster than ``executemany``.

    ``columns`` maps names to SQL types; values must be JSON-able (no bytes). Returns the number of rows.
    """
    import tempfile

    names = list(columns)
    num_rows = 0
    with tempfile.NamedTemporaryFile("w", suffix=".part", dir=folder, encoding="utf-8", delete=True) as file:
        for row in rows:
            file.write(json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False))
            file.write("\n")
            num_rows += 1
        file.flush()
        if num_rows:
            spec = ", ".join(f"'{name}': '{kind}'" for name, kind in columns.items())
            quoted = ", ".join(names)
            con.execute(
                f"INSERT INTO {table} ({quoted}) SELECT {quoted} FROM read_json(?, format='newline_delimited', "
                f"maximum_object_size=1073741824, columns={{{spec}}})",
                [file.name],
            )
    return num_rows


def to_json(value: Any) -> str:
    """Return canonical JSON of dataclasses, mappings and tuples."""
    return json.dumps(value, default=_plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"cannot write {type(value).__name__} as JSON")
