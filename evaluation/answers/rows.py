"""One line of the table of results: a value, what bounds it, and on how many cases it stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Bound = Literal["at least", "at most", "report"]


@dataclass(frozen=True)
class Row:
    """A measured value. ``bound`` "report" is printed and never judged; ``value`` None was not measured, ``note`` why.

    A bounded row on fewer than ``min_cases`` cases does not pass: too few were found to say anything.
    """

    suite: str
    name: str
    value: float | None
    num_cases: int
    bound: Bound = "report"
    limit: float | None = None
    min_cases: int = 1
    note: str = ""
    misses: tuple[dict[str, Any], ...] = field(default=(), repr=False)

    @property
    def passed(self) -> bool | None:
        """Tell whether the bound holds; None for what is only reported or could not be measured here."""
        if self.bound == "report" or self.value is None or self.limit is None:
            return None
        if self.num_cases < self.min_cases:
            return False
        return self.value >= self.limit if self.bound == "at least" else self.value <= self.limit

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON-able data; at most twenty misses are kept."""
        return {
            "suite": self.suite,
            "name": self.name,
            "value": None if self.value is None else round(self.value, 4),
            "bound": self.bound if self.limit is None else f"{self.bound} {self.limit:g}",
            "num_cases": self.num_cases,
            "passed": self.passed,
            "note": self.note,
            "misses": list(self.misses[:20]),
        }


def share_row(suite: str, name: str, num_good: int, num_cases: int, **more: Any) -> Row:
    """Return a row whose value is a share of cases; not measured when there are none."""
    return Row(suite, name, num_good / num_cases if num_cases else None, num_cases, **more)
