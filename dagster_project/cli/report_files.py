"""Reports that commands write to a file a person names."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from corpus_assets.errors import BadInputError
from dagster_project.cli.terminal import print_note, to_plain_data


def require_writable(path: Path) -> None:
    """Raise BadInputError when a report could not be written there; said before the work and not after it."""
    folder = path.absolute().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInputError(f"The report's folder {folder} cannot be made: {error.strerror}.") from error
    if path.is_dir() or not os.access(folder, os.W_OK):
        problem = "is a folder" if path.is_dir() else "cannot be written"
        raise BadInputError(f"The report {path} {problem}.", hint="Name a file in a folder of yours.")


def write_json_report(path: Path, report: dict[str, Any]) -> None:
    """Write a report as JSON and say where."""
    from corpus_assets.store.atomic import write_atomic

    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path.absolute(), json.dumps(to_plain_data(report), indent=1) + "\n")
    print_note(f"Report written to {path}")
