"""MCP over stdin and stdout, for clients that start the server. All other output goes to stderr."""

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
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run(server: Server[Any]) -> None:
    """Serve until stdin ends or a signal arrives. A signal cancels running searches and is then raised again."""
    caught: list[int] = []
    try:
        asyncio.run(_serve(server, caught))
    except* BrokenPipeError:
        pass  # the client closed its end
    for number in caught:
        signal.raise_signal(number)


@contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Redirect stdout to stderr, for C libraries too."""
    sys.stdout.flush()
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(stdout, 1)
        os.close(stdout)


async def _serve(server: Server[Any], caught: list[int]) -> None:
    with anyio.CancelScope() as scope, _ending_on_signals(scope.cancel, caught):
        lines = cast(anyio.AsyncFile[str], _Lines(0))  # the SDK only iterates over it
        async with stdio_server(stdin=lines) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())


@contextmanager
def _ending_on_signals(end: Callable[[], None], caught: list[int]) -> Iterator[None]:
    """At the first signal, record it and call ``end``; a second one has its default effect."""
    loop = asyncio.get_running_loop()

    def handle(number: int) -> None:
        caught.append(number)
        release()
        end()

    def release() -> None:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)

    for number in _SIGNALS:
        loop.add_signal_handler(number, handle, number)
    try:
        yield
    finally:
        release()


class _Lines:
    """Lines of a descriptor, read by a daemon thread.

    The SDK (mcp 2.3) reads stdin in a thread that the loop waits for at its end, so Ctrl-C would wait for the next line.
    """

    def __init__(self, descriptor: int) -> None:
        self._reader = asyncio.StreamReader(limit=sys.maxsize // 2)
        loop = asyncio.get_running_loop()
        Thread(target=self._pump, args=(descriptor, loop), daemon=True, name="stdin").start()

    def _pump(self, descriptor: int, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # the loop is closed
            while chunk := _read(descriptor):
                loop.call_soon_threadsafe(self._reader.feed_data, chunk)
            loop.call_soon_threadsafe(self._reader.feed_eof)

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._reader:
            yield line.decode("utf-8", "replace")


def _read(descriptor: int) -> bytes:
    """The next bytes, empty at the end. Unbuffered: a thread that holds a buffer's lock at exit aborts the interpreter."""
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:
        return b""
