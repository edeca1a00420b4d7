"""What a step hands back to whoever runs it: numbers for charts, a version, and a sample to look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

PROBLEMS_NAME = "problems.tsv"  # in the home: every problem, also those the asset's page has no room for
Progress = Callable[[str, int, int, str], None]  # stage, done, total, what was just done


def no_progress(stage: str, done: int, total: int, detail: str) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class StepReport:
    """``counts`` are numbers with stable names, ``samples`` Markdown by title; ``data_version`` names the output."""

    name: str
    counts: Mapping[str, int | float]
    data_version: str
    samples: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    images: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """Return one line of counts."""
        numbers = ", ".join(f"{key}={value:g}" for key, value in self.counts.items())
        return f"{self.name}: {numbers}"


@dataclass(frozen=True)
class Problem:
    """A file that did not become a paper (or a row that could not be used), with the reason."""

    path: str
    status: str
    reason: str
