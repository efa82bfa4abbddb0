"""What a terminal shows while ``fusesearch localize`` searches: each call as it happens."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status
    from rich.text import Text

    from fusesearch.agents.recording import OnEvent
    from fusesearch.core.schema import Observation, ToolCall, Turn
    from fusesearch.localizers.ranker.building import Progress


@contextmanager
def progress(*, quiet: bool) -> Iterator[OnEvent]:
    """Yield a listener for the loop's events. It prints only if stderr is a terminal and ``quiet`` is off."""
    if quiet or not sys.stderr.isatty():
        yield lambda kind, payload: None
        return
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    with console.status("searching") as status:
        yield View(console, status)


@contextmanager
def indexing(*, quiet: bool) -> Iterator[Progress]:
    """Yield a listener for the files of an index, which loads what shows them once there are some to read."""
    from fusesearch.localizers.ranker.building import Progress

    with ExitStack() as stack:
        shown: list[OnEvent] = []

        def on_progress(done: int, total: int) -> None:
            if not shown:
                shown.append(stack.enter_context(progress(quiet=quiet)))
            shown[0]("index", {"done": done, "total": total})

        yield Progress(on_progress)


class View:
    """Prints a line per call with its gain, and a spinner with what runs now."""

    def __init__(self, console: Console, status: Status) -> None:
        self._console = console
        self._status = status

    def __call__(self, kind: str, payload: dict[str, Any]) -> None:
        """Take one event of :func:`fusesearch.agents.loop.run_episode`."""
        if kind == "turn" and payload["turn"].calls:
            self._status.update(f"turn {payload['number']}: {len(payload['turn'].calls)} calls are running")
        elif kind == "index":
            self._status.update(f"indexing: {payload['done']:,} of {payload['total']:,} files")
        elif kind == "observations":
            self._show(payload["number"], payload["turn"])
            self._status.update(f"turn {payload['number'] + 1}: the model is thinking")

    def _show(self, number: int, turn: Turn) -> None:
        self._console.print(f"[bold]turn {number}[/bold]  [dim]{len(turn.calls)} calls in {turn.seconds_tools:.2f} s[/dim]")
        for call, observation in zip(turn.calls, turn.observations, strict=True):
            self._console.print(_call_line(call, observation, self._console.width), overflow="ellipsis", no_wrap=True)


def _call_line(call: ToolCall, observation: Observation, width: int) -> Text:
    from rich.text import Text

    from fusesearch.search.tool import describe

    failed, gain = observation.error is not None, observation.gain_turn
    result = "error" if failed else f"{len(observation.entities):>4} found  gain {gain:4.0%}"
    text = f"{call.name:<9} {describe(call.arguments)}"
    room = max(20, width - 26)
    style = "red" if failed else "green" if gain >= 0.5 else "yellow"
    return Text.assemble("  ", f"{text[: room - 1] + '…' if len(text) > room else text:<{room}} ", (result, style))
