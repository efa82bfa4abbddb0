"""Progress of a search for the client: a step per model message and a step per tool result."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.server.session import ServerSession

from fusesearch.agents.recording import OnEvent
from fusesearch.core.schema import Observation, ToolCall, Turn
from fusesearch.core.text import printable
from fusesearch.search.results import shorten
from fusesearch.search.tool import describe

Step = tuple[float, str]
"""Turns done so far (may be a fraction), and a line of text."""

_MESSAGE_CHARS = 200


@contextmanager
def listening() -> Iterator[tuple[OnEvent, MemoryObjectReceiveStream[Step]]]:
    """Yield a listener for :func:`fusesearch.agents.loop.run_episode`, and the stream of steps it produces."""
    outgoing, incoming = anyio.create_memory_object_stream[Step](math.inf)

    def on_event(kind: str, payload: dict[str, Any]) -> None:
        for step in steps(kind, payload):
            outgoing.send_nowait(step)
        if kind == "end":
            outgoing.close()

    with outgoing, incoming:
        yield on_event, incoming


async def forward(incoming: MemoryObjectReceiveStream[Step], session: ServerSession, turns: int) -> None:
    """Send every step to the client, with ``turns`` as the total."""
    async for done, message in incoming:
        await session.report_progress(done, turns, message)


def steps(kind: str, payload: dict[str, Any]) -> Iterator[Step]:
    """Steps of one event of the loop. Their numbers increase within a turn and stay below the next turn's."""
    if kind not in ("turn", "observations"):
        return
    number: int = payload["number"]
    turn: Turn = payload["turn"]
    share = 1 / (len(turn.calls) + 2)
    if kind == "turn":
        count = len(turn.calls)
        plan = "the answer" if count == 0 else f"{count} call{'s' if count > 1 else ''}"
        yield number - 1 + share, f"turn {number}: {plan}"
        return
    for index, (call, observation) in enumerate(zip(turn.calls, turn.observations, strict=True), 2):
        yield number - 1 + index * share, shorten(f"turn {number}: {_result(call, observation)}", _MESSAGE_CHARS)


def _result(call: ToolCall, observation: Observation) -> str:
    found = f"{len(observation.entities)} found, gain {observation.gain_turn:.0%}"
    return f"{found if observation.error is None else 'error'}: {shorten(printable(call.name), 20)} {describe(call.arguments)}"
