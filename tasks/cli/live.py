"""The live view of ``fusesearch localize``: turns, calls and gain per call as they happen, on stderr of a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tasks.search.tool import describe

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status
    from rich.text import Text

    from tasks.agents.loop import OnEvent
    from tasks.core.schema import Observation, ToolCall, Turn


@contextmanager
def progress(*, quiet: bool) -> Iterator[OnEvent]:
    """Yield a listener for the loop's events. It says nothing when ``quiet`` or when stderr is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda kind, payload: None
        return
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    with console.status("turn 1: the model is thinking") as status:
        yield View(console, status)


class View:
    """Prints a line per call with its gain; a spinner says what is awaited."""

    def __init__(self, console: Console, status: Status) -> None:
        self._console = console
        self._status = status

    def __call__(self, kind: str, payload: dict[str, Any]) -> None:
        """Take one event of :func:`tasks.agents.loop.run_episode`."""
        if kind == "turn" and payload["turn"].calls:
            self._status.update(f"turn {payload['number']}: {len(payload['turn'].calls)} calls are running")
        elif kind == "observations":
            self._show(payload["number"], payload["turn"])
            self._status.update(f"turn {payload['number'] + 1}: the model is thinking")

    def _show(self, number: int, turn: Turn) -> None:
        self._console.print(f"[bold]turn {number}[/bold]  [dim]{len(turn.calls)} calls in {turn.seconds_tools:.2f} s[/dim]")
        for call, seen in zip(turn.calls, turn.observations, strict=True):
            self._console.print(_line(call, seen, self._console.width), overflow="ellipsis", no_wrap=True)


def _line(call: ToolCall, seen: Observation, width: int) -> Text:
    from rich.text import Text

    result = f"{len(seen.entities):>4} found  gain {seen.gain_turn:4.0%}" if seen.error is None else "error"
    text = f"{call.name:<9} {describe(call.arguments)}"
    room = max(20, width - 26)
    style = "red" if seen.error else "green" if seen.gain_turn >= 0.5 else "yellow"
    return Text.assemble("  ", f"{text[: room - 1] + '…' if len(text) > room else text:<{room}} ", (result, style))
