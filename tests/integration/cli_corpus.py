"""A tiny corpus for the command-line tests, and two ways to run the program: in this process, and as one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from dagster_project.cli.main import main

PROGRAM = Path(sys.executable).parent / "research-copilot"

PAPERS = {
    "lichen.txt": """Lichen growth on basalt

Abstract

Lichen cover on basalt increased by 12 mm in 40 plots over ten years. Growth was fastest on north-facing slopes.

Results

The median growth rate was 1.2 mm per year in the wet plots.
""",
    "osimertinib.txt": """Osimertinib after T790M

Abstract

Osimertinib overcomes T790M resistance in patients with cancer. The median progression-free survival was 10.1 months.

Methods

We treated 419 patients.
""",
    "moths.md": """# Vernal moth eggs

## Abstract

Moth eggs hatch earlier in warm springs. Nocturnal insects avoid cold light.

## Results

Eggs hatched nine days earlier after 1990.
""",
    "hostile.txt": """Safe harbour rules

Abstract

Safe harbour rules protect ports \x1b[2Jfrom storms and \x1b]8;;http://x\x07links\x1b]8;;\x07 in winter.
The clause was \x9b31m coloured in twelve ports.
""",
}


def write_papers(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in PAPERS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    @property
    def document(self):
        """The one JSON document on stdout."""
        return json.loads(self.out)


class InProcess:
    """Runs the program's ``main`` here and captures what it prints."""

    def __init__(self, home: Path, capsys) -> None:
        self.home, self.capsys = home, capsys

    def __call__(self, *arguments: str, home: Path | None = None) -> Outcome:
        self.capsys.readouterr()
        code = main([*arguments, "--home", str(home or self.home)])
        out, err = self.capsys.readouterr()
        return Outcome(code, out, err)


def run_on_terminal(*arguments: str) -> bytes:
    """Run the installed program on a terminal of its own and return all that it wrote there."""
    import pty

    parent, child = pty.openpty()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TERM": "xterm"}
    process = subprocess.Popen([str(PROGRAM), *arguments], stdin=child, stdout=child, stderr=child, env=environment)
    os.close(child)
    shown = b""
    try:
        while piece := os.read(parent, 65536):
            shown += piece
    except OSError:  # the terminal's other side is closed: the program has ended
        pass
    os.close(parent)
    assert process.wait(timeout=60) == 0, shown
    return shown


def run_program(*arguments: str, env: dict[str, str] | None = None, text: bool = True, timeout: int = 240, **options):
    """Run the installed program in a process of its own, offline and with one thread."""
    full = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"} if env is None else env
    return subprocess.run(
        [str(PROGRAM), *arguments], capture_output=True, text=text, env=full, timeout=timeout, check=False, **options
    )
