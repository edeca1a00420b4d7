"""How DuckDB files are opened here: no network, no home directory needed, the full-text extension from its package."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from corpus_assets.errors import ModelMissingError, StoreError
from corpus_assets.store.duck import OFFLINE

if TYPE_CHECKING:
    import duckdb


def connect_reader(path: Path, *, memory: str = "1GB") -> duckdb.DuckDBPyConnection:
    """Open ``path`` read-only with one thread; raise StoreError if it is missing or damaged."""
    import duckdb

    if not path.is_file():
        raise StoreError(f"The index file {path} is missing.", hint="Run `research-copilot ingest` to rebuild it.")
    config: dict[str, str | bool | int | float | list[str]] = {**OFFLINE, "threads": 1, "memory_limit": memory}
    try:
        return duckdb.connect(str(path), read_only=True, config=config)
    except duckdb.Error as error:
        raise StoreError(
            f"The index file {path} cannot be opened: {error}", hint="Run `research-copilot ingest` to rebuild it."
        ) from error


def connect_writer(path: Path, *, memory: str = "2GB") -> duckdb.DuckDBPyConnection:
    """Create ``path`` (or open it for writing); spills go beside it."""
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        **OFFLINE,
        "memory_limit": memory,
        "temp_directory": f"{path}.spill",
        "home_directory": str(path.parent),
    }
    try:
        return duckdb.connect(str(path), config=config)
    except duckdb.Error as error:
        raise StoreError(f"The index file {path} cannot be written: {error}") from error


def full_text_extension_path() -> Path:
    """Return the extension file that fits the installed DuckDB; raise ModelMissingError naming where it should be."""
    import duckdb

    package = importlib.util.find_spec("duckdb_extension_fts")
    folders = list(package.submodule_search_locations or ()) if package else []
    if not folders:
        raise ModelMissingError(
            "DuckDB's full-text extension is not installed.",
            hint="pip install duckdb-extension-fts (DuckDB's version).",
        )
    path = Path(folders[0]) / "extensions" / f"v{duckdb.__version__}" / "fts.duckdb_extension"
    if not path.is_file():
        raise ModelMissingError(
            f"DuckDB {duckdb.__version__} has no full-text extension at {path}.",
            hint=f"pip install duckdb-extension-fts=={duckdb.__version__}",
        )
    return path


def load_full_text(con: duckdb.DuckDBPyConnection) -> None:
    """Load the full-text extension from its package; nothing is installed and nothing is downloaded."""
    con.execute(f"LOAD '{str(full_text_extension_path()).replace(chr(39), chr(39) * 2)}'")
