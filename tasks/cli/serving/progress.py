"""Progress of a search as a client sees it: one step per message of the model and one per result of a call."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.server.session import ServerSession

from tasks.agents.loop import OnEvent
from tasks.core.schema import Observation, ToolCall, Turn
from tasks.core.text import printable
from tasks.search.results import shorten
from tasks.search.tool import describe

Step = tuple[float, str]
"""Turns done so far, fractions included, and a line of text."""

_MESSAGE_CHARS = 200


@contextmanager
def listening() -> Iterator[tuple[OnEvent, MemoryObjectReceiveStream[Step]]]:
    """A listener for :func:`tasks.agents.loop.run_episode`, and the steps it makes of what it hears, until the end."""
    outgoing, incoming = anyio.create_memory_object_stream[Step](math.inf)

    def listen(kind: str, payload: dict[str, Any]) -> None:
        for step in steps(kind, payload):
            outgoing.send_nowait(step)
        if kind == "end":
            outgoing.close()

    with outgoing, incoming:
        yield listen, incoming


async def forward(incoming: MemoryObjectReceiveStream[Step], session: ServerSession, turns: int) -> None:
    """Send every step to the client that asked for progress, of ``turns`` at most."""
    async for done, message in incoming:
        await session.report_progress(done, turns, message)


def steps(kind: str, payload: dict[str, Any]) -> Iterator[Step]:
    """Steps of one event of the loop. They rise within a turn and from turn to turn, and stay below the next turn's."""
    if kind not in ("turn", "observations"):
        return
    number: int = payload["number"]
    turn: Turn = payload["turn"]
    share = 1 / (len(turn.calls) + 2)
    if kind == "turn":
        yield number - 1 + share, f"turn {number}: {_plan(turn)}"
        return
    for index, (call, seen) in enumerate(zip(turn.calls, turn.observations, strict=True), 2):
        yield number - 1 + index * share, shorten(f"turn {number}: {_result(call, seen)}", _MESSAGE_CHARS)


def _plan(turn: Turn) -> str:
    count = len(turn.calls)
    return "the answer" if count == 0 else f"{count} call{'s' if count > 1 else ''}"


def _result(call: ToolCall, seen: Observation) -> str:
    result = f"{len(seen.entities)} found, gain {seen.gain_turn:.0%}" if seen.error is None else "error"
    return f"{result}: {shorten(printable(call.name), 20)} {describe(call.arguments)}"
