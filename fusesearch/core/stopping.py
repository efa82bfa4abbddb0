"""Work in a thread that ends soon after its caller is cancelled: by Ctrl-C, a client, a time limit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar, copy_context
from typing import TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_LEFT: ContextVar[threading.Event | None] = ContextVar("left", default=None)


class Stopped(Exception):
    """Raised by :func:`check`."""


async def in_thread(work: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """As :func:`asyncio.to_thread`. Once the caller is cancelled, the next :func:`check` ends the work."""
    import asyncio  # here, because the processes that analyse files start without it

    left, context = threading.Event(), copy_context()
    context.run(_LEFT.set, left)
    try:
        return await asyncio.get_running_loop().run_in_executor(None, context.run, work, *arguments)
    finally:
        left.set()


def check() -> None:
    """Raise :class:`Stopped` in work of :func:`in_thread` that nobody waits for any more. Takes a microsecond at most."""
    left = _LEFT.get()
    if left is not None and left.is_set():
        raise Stopped


def checked(items: Iterable[T]) -> Iterator[T]:
    """The items, with a :func:`check` before each."""
    for item in items:
        check()
        yield item
