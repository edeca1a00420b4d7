"""How many processors this process may use."""

from __future__ import annotations

import os


def num_cores() -> int:
    """Return the cores this process may run on, which in a container can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
