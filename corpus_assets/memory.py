"""A bounded memory of what was read last, shared by threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Memory(Generic[K, V]):
    """Keep at most ``size`` values; the ones used longest ago go first."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._lock = threading.Lock()
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, keys: Iterable[K]) -> dict[K, V]:
        """Return what is known of ``keys``."""
        found = {}
        with self._lock:
            for key in keys:
                if key in self._values:
                    self._values.move_to_end(key)
                    found[key] = self._values[key]
        return found

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._values.clear()

    def put(self, values: Mapping[K, V]) -> None:
        """Remember ``values``."""
        with self._lock:
            for key, value in values.items():
                self._values[key] = value
                self._values.move_to_end(key)
            while len(self._values) > self.size:
                self._values.popitem(last=False)
