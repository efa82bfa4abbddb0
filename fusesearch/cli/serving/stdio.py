"""MCP over stdin and stdout, for clients that start the server. All other output goes to stderr.

The server ends with stdin, and with its parent: a client that is killed while another process holds its end leaves none behind.

Two faults of the SDK (mcp 2.3) are met here. It reads stdin in a thread that the loop waits for at its end, so Ctrl-C would wait
for the next line. And it drops a line with half an emoji (a lone surrogate), which ``JSON.stringify`` writes where text was cut:
the client would wait for the answer for ever.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, cast

import anyio
from mcp.server import MCPServer
from mcp.server.stdio import stdio_server

_CHUNK = 1 << 16
_WATCH_SECONDS = 1.0
_WAITS = re.compile(rb"(?:[^\0]*/)?(?:\w*sh\0-\w*c|uvx?|uv\0tool)\0")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")


def run(server: MCPServer[Any]) -> None:
    """Serve until stdin ends or Ctrl-C, which cancels running searches."""
    with suppress(BrokenPipeError):  # the client closed its end
        asyncio.run(_serve(server))


async def _serve(server: MCPServer[Any]) -> None:
    lines = cast(anyio.AsyncFile[str], _Lines(0))  # the transport only iterates over them
    inner = server._lowlevel_server  # as MCPServer.run_stdio_async does, which takes no stream
    async with stdio_server(stdin=lines) as (reading, writing):
        await inner.run(reading, writing, inner.create_initialization_options())


class _Lines:
    """Lines of a descriptor, read by a daemon thread."""

    def __init__(self, descriptor: int) -> None:
        self._reader = asyncio.StreamReader(limit=sys.maxsize // 2)
        loop = asyncio.get_running_loop()
        Thread(target=self._pump, args=(descriptor, loop), daemon=True, name="stdin").start()

        self._clients = _clients()
        self._watch()

    def _pump(self, descriptor: int, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # the loop is closed
            while chunk := _read(descriptor):
                loop.call_soon_threadsafe(self._reader.feed_data, chunk)
            loop.call_soon_threadsafe(self._reader.feed_eof)

    def _watch(self) -> None:
        """End with the client, where the system says that it is gone: on Windows a parent's id stays."""
        if _clients() != self._clients:
            self._reader.feed_eof()
        else:
            asyncio.get_running_loop().call_later(_WATCH_SECONDS, self._watch)

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._reader:
            yield whole(line.decode("utf-8", "replace"))


def _clients() -> list[int]:
    """The parent and, as long as that only waits (``sh -c "...; true"``, ``uvx``) and the system tells, the parent's own."""
    found = [os.getppid()]
    with suppress(OSError, IndexError):  # without /proc, or gone
        while _WAITS.match(Path(f"/proc/{found[-1]}/cmdline").read_bytes()):
            found.append(int(Path(f"/proc/{found[-1]}/stat").read_text().rpartition(")")[2].split()[1]))
    return found


def whole(line: str) -> str:
    """``line`` with U+FFFD in place of lone surrogates."""
    if not _ESCAPED.search(line):
        return line
    try:
        return _SURROGATE.sub("\ufffd", json.dumps(json.loads(line), ensure_ascii=False))
    except (ValueError, RecursionError):
        return line


def _read(descriptor: int) -> bytes:
    """The next bytes, empty at the end. Unbuffered: a thread that holds a buffer's lock at exit aborts the interpreter."""
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:
        return b""
