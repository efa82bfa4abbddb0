"""MCP over stdin and stdout: what a coding agent starts. Everything but the protocol goes to stderr."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any, cast

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server

_CHUNK = 1 << 16
_ENDING = (signal.SIGINT, signal.SIGTERM)


def run(server: Server[Any]) -> None:
    """Serve until stdin ends. A signal ends it too: searches under way are cancelled, then the signal takes its course."""
    caught: list[int] = []
    try:
        asyncio.run(_serve(server, caught))
    except* BrokenPipeError:
        pass  # the client closed its end and reads no more
    for number in caught:
        signal.raise_signal(number)


@contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """What a library writes to stdout meanwhile goes to stderr, also from below Python."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


async def _serve(server: Server[Any], caught: list[int]) -> None:
    with anyio.CancelScope() as scope, _ending_on_signals(scope.cancel, caught):
        lines = cast(anyio.AsyncFile[str], _Lines(0))  # the SDK only iterates over it
        async with stdio_server(stdin=lines) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())


@contextmanager
def _ending_on_signals(end: Callable[[], None], caught: list[int]) -> Iterator[None]:
    """Call ``end`` at the first signal and note it; a second one does what it does by default."""
    loop = asyncio.get_running_loop()

    def handle(number: int) -> None:
        caught.append(number)
        release()
        end()

    def release() -> None:
        for number in _ENDING:
            loop.remove_signal_handler(number)

    for number in _ENDING:
        loop.add_signal_handler(number, handle, number)
    try:
        yield
    finally:
        release()


class _Lines:
    """Lines of a descriptor, read by a thread that nothing waits for.

    The SDK (mcp 2.3) reads stdin in a thread that must come back before the loop can end, so that Ctrl-C would wait for
    a line or the end of stdin.
    """

    def __init__(self, descriptor: int) -> None:
        self._reader = asyncio.StreamReader(limit=sys.maxsize // 2)
        loop = asyncio.get_running_loop()
        Thread(target=self._pump, args=(descriptor, loop), daemon=True, name="stdin").start()

    def _pump(self, descriptor: int, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits for more
            while chunk := _read(descriptor):
                loop.call_soon_threadsafe(self._reader.feed_data, chunk)
            loop.call_soon_threadsafe(self._reader.feed_eof)

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._reader:
            yield line.decode("utf-8", "replace")


def _read(descriptor: int) -> bytes:
    """Some bytes, or none at the end. No buffered file: a thread that holds one's lock at exit aborts the interpreter."""
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:
        return b""
