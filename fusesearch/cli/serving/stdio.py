"""MCP over stdin and stdout, for clients that start the server. All other output goes to stderr."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any, cast

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCNotification, jsonrpc_message_adapter
from pydantic import ValidationError

_CHUNK = 1 << 16
_FIRST_ID = re.compile(r'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,')  # of half a line
_SURROGATE = re.compile("[\ud800-\udfff]")
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
        lines = _Lines(0)
        async with stdio_server(stdin=cast(anyio.AsyncFile[str], lines)) as (reading, writing):  # it only iterates over them
            lines.refuse = writing.send
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

    The SDK (mcp 2.3) reads stdin in a thread that the loop waits for at its end, so Ctrl-C would wait for the next line. It drops
    lines that are not messages, and the client waits for an answer: those go to ``refuse`` instead, as errors.
    """

    refuse: Callable[[SessionMessage], Awaitable[None]]

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
            message, error = readable(line.decode("utf-8", "replace"))
            if error is not None:
                with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                    await self.refuse(SessionMessage(error))
            elif message:
                yield message


class Refusal(JSONRPCError):
    """An error for a line that is not a message, with its id as it was written, if there is one."""

    id: Any


def readable(line: str) -> tuple[str, Refusal | None]:
    """``line`` as a message that the SDK reads, or the error to answer with; neither for an empty line.

    Half an emoji (a lone surrogate), which ``JSON.stringify`` writes where text was cut, becomes U+FFFD.
    """
    if not line.strip():
        return "", None
    found: Any = None
    try:
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError:
            found = json.loads(line)
            line = _SURROGATE.sub("\ufffd", json.dumps(found, ensure_ascii=False))
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        if not isinstance(message, JSONRPCNotification) or "id" not in (found := json.loads(line)):
            return line, None
        problem = "id must be a whole number or text"  # the SDK takes such a request for a notification and never answers
    except ValidationError:
        problem = "the line is JSON, but no message of JSON-RPC 2.0"
    except (ValueError, RecursionError):
        problem = "the line is not one whole JSON value"
    half = _FIRST_ID.match(line) if found is None else None
    number = int(half[1]) if half else found.get("id") if isinstance(found, dict) else None
    number = _SURROGATE.sub("\ufffd", number) if isinstance(number, str) else number if isinstance(number, int | float) else None
    return "", Refusal(jsonrpc="2.0", id=number, error=ErrorData(code=PARSE_ERROR, message=f"Parse error: {problem}"))


def _read(descriptor: int) -> bytes:
    """The next bytes, empty at the end. Unbuffered: a thread that holds a buffer's lock at exit aborts the interpreter."""
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:
        return b""
