"""Episodes that run together ask a local model together, so that its batches do not depend on how long tools take.

A row of a batch comes out a little different, in the last bits of its probabilities, with other rows beside it. That changes
a sampled token now and then, and with it all that follows. So a batch is made when each running episode waits for a message.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


class Lockstep:
    """Jobs that run together, each with one episode or tree. For one event loop."""

    def __init__(self) -> None:
        self._running: dict[asyncio.Future[Any], _Place] = {}
        self._changed = asyncio.Event()

    def start(self, job: Callable[[], Awaitable[T]]) -> asyncio.Future[T]:
        """Start ``job``. It counts as running until :meth:`end`."""
        place = _Place(self, _PLACE.get())

        def begin() -> asyncio.Future[T]:
            _PLACE.set(place)
            return asyncio.ensure_future(job())

        task = copy_context().run(begin)
        self._running[task] = place
        return task

    def end(self, task: asyncio.Future[Any]) -> None:
        """The job of ``task`` no longer counts."""
        del self._running[task]
        self._changed.set()

    def close(self) -> None:
        """No job counts any more."""
        self._running.clear()
        self._changed.set()

    async def all_wait(self) -> None:
        """Returns when each job that runs has a request at a model."""
        await asyncio.sleep(0)  # those that have just got their messages go on first
        while not all(place.requests for place in self._running.values()):
            self._changed.clear()
            await self._changed.wait()


class _Place:
    """A job in its lockstep. A request of jobs that it runs itself counts as its own."""

    def __init__(self, lockstep: Lockstep, outer: _Place | None) -> None:
        self.lockstep, self._outer, self.requests = lockstep, outer, 0

    def count(self, change: int) -> None:
        self.requests += change
        self.lockstep._changed.set()
        if self._outer:
            self._outer.count(change)


_PLACE: ContextVar[_Place | None] = ContextVar("place", default=None)


@contextmanager
def waiting() -> Iterator[Lockstep | None]:
    """Within it, the job that the caller belongs to waits for a message. Gives its lockstep; None outside of jobs."""
    place = _PLACE.get()
    if place is None:
        yield None
        return
    place.count(1)
    try:
        yield place.lockstep
    finally:
        place.count(-1)
