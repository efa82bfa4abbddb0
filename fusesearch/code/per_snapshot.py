"""Builds something expensive, such as an index, once per snapshot, off the event loop, and shares it among episodes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from fusesearch.search.repository import Repository

T = TypeVar("T")

MEMORY_BYTES = 512 * 2**20
BUILDS_AT_ONCE = 2


@dataclass
class _Entry(Generic[T]):
    lock: threading.Lock = field(default_factory=threading.Lock)
    made: T | None = None
    bytes: int = 0
    used: int = 0


class PerSnapshot(Generic[T]):
    """The result of ``build`` for each :class:`Repository` object. The first caller builds it while others wait.

    ``size`` gives the approximate bytes of a result. If all together exceed ``limit``, the least recently used are dropped and
    built again on demand. A result must not refer to its repository, or neither would ever be freed.
    """

    def __init__(self, build: Callable[[Repository], T], size: Callable[[T], int], limit: int = MEMORY_BYTES) -> None:
        self._build = build
        self._size = size
        self._limit = limit
        self._entries: WeakKeyDictionary[Repository, _Entry[T]] = WeakKeyDictionary()
        self._lock = threading.Lock()
        self._building = threading.BoundedSemaphore(BUILDS_AT_ONCE)
        self._clock = count(1)

    async def of(self, repository: Repository) -> T:
        """As :meth:`get`, in a thread."""
        return await asyncio.to_thread(self.get, repository)

    def get(self, repository: Repository) -> T:
        """The result for ``repository``. If ``build`` raises, so does this, and the next caller tries again."""
        with self._lock:
            entry = self._entries.setdefault(repository, _Entry())
        with entry.lock:
            made = entry.made
            if made is None:
                with self._building:
                    made = self._build(repository)
                entry.made, entry.bytes = made, self._size(made)
            entry.used = next(self._clock)
        self._shrink(entry)
        return made

    def _shrink(self, keep: _Entry[T]) -> None:
        with self._lock:
            made = sorted((entry for entry in self._entries.values() if entry.bytes), key=lambda entry: entry.used)
            total = sum(entry.bytes for entry in made)
            for entry in made:
                if total > self._limit and entry is not keep:
                    total -= entry.bytes
                    entry.made, entry.bytes = None, 0
