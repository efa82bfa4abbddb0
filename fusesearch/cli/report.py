"""What ``fusesearch localize`` prints: each call as it happens, then the answer as text or JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fusesearch.core.errors import InfrastructureError
from fusesearch.core.schema import Answer, Context, Location, Place, Trajectory
from fusesearch.core.text import printable
from fusesearch.localizers.registry import WITHOUT_MODEL
from fusesearch.localizers.searcher import with_lines
from fusesearch.search.repository import Repository

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status
    from rich.text import Text

    from fusesearch.agents.recording import OnEvent
    from fusesearch.core.schema import Observation, ToolCall, Turn
    from fusesearch.reporting.episodes.explain import Explanation


SIGNATURE_CHARS = 110
TOO_LITTLE = "too little to go on, nothing that the issue names is here: name an error, a function or a file"


def raise_on_failure(trajectory: Trajectory) -> None:
    """Raise :class:`InfrastructureError` if the infrastructure failed and the episode has no answer."""
    if trajectory.error is not None:
        raise InfrastructureError(trajectory.error)


@dataclass(frozen=True)
class Report:
    """The answer with line spans where known, and what the search cost.

    ``explanations`` lists the calls that showed each location, those to modify first; None unless requested.
    """

    modify: list[Location]
    related: list[Location]
    cost: dict[str, Any]
    explanations: Sequence[Explanation] | None = None
    confidence: float | None = None
    places: Sequence[Place] = ()

    @classmethod
    def of(cls, trajectory: Trajectory, repository: Repository, *, explained: bool = False) -> Report:
        """Report of a finished episode over ``repository``."""
        answer = trajectory.answer or Answer()
        answer = with_lines(answer, repository)
        modify, related = answer.modify, answer.related
        explanations = None
        if explained:
            from fusesearch.reporting.episodes.explain import Target, explain

            explanations = explain(trajectory, map(Target.of, [*modify, *related]))
        return cls(modify, related, cost(trajectory), explanations, answer.confidence, answer.places)

    def as_json(self) -> dict[str, Any]:
        """``outcome``, ``modify`` and ``related`` (path, function, lines), ``trajectory`` (cost), and ``explain`` if requested.

        ``outcome`` is ``answer``, ``too_little`` (the issue names nothing that is here) or ``no_answer``. The ranker adds
        ``places``: files with their best functions. ``modify`` is the set with the highest expected F1.
        Localizers that can tell add ``confidence`` and, to locations, ``confidence`` and ``reasons``.
        """
        report: dict[str, Any] = {
            "outcome": "answer" if self.modify else "too_little" if self._says_little else "no_answer",
            "places": [place.model_dump(mode="json") for place in self.places],
            "modify": [location.model_dump(mode="json") for location in self.modify],
            "related": [location.model_dump(mode="json") for location in self.related],
            "trajectory": self.cost,
        }
        if self.confidence is not None:
            report["confidence"] = self.confidence
        if self.explanations is not None:
            rows = [explanation.as_json() for explanation in self.explanations]
            report["explain"] = {"modify": rows[: len(self.modify)], "related": rows[len(self.modify) :]}
        return report

    def as_text(self, seconds: float | None = None) -> str:
        """Ranked locations, then related context, then one line of cost. ``seconds`` replace those of the search alone."""
        why = self.explanations or []
        if self.places:
            parts = _by_file(self.places)
        elif self.modify:
            parts = ["Locations to modify", *_rows(self.modify, why[: len(self.modify)], ranked=True)]
        else:
            parts = [f"No answer: {TOO_LITTLE if self._says_little else ended(self.cost)}."]
        if self.related:
            parts += ["", "Related context", *_rows(self.related, why[len(self.modify) :], ranked=False)]
        return "\n".join([*parts, "", _summary(self.cost, seconds)])

    @property
    def _says_little(self) -> bool:
        return self.cost["localizer"] == WITHOUT_MODEL and self.cost["stop"] == "no_answer"


def answer_json(trajectory: Trajectory) -> dict[str, Any]:
    """The answer of a question: its ``outcome``, its ``values``, its whole ``text``, and ``trajectory`` (cost).

    ``outcome`` is ``answer``, ``candidates`` (the code does not settle which), ``passages`` (to read) or ``no_answer``.
    Candidates and passages are in ``related`` (path, function, lines).
    """
    answer = trajectory.answer or Answer()
    return {
        "outcome": answer.outcome or ("answer" if trajectory.stop == "answer" else "no_answer"),
        "values": answer.values,
        "related": [location.model_dump(mode="json") for location in answer.related],
        "text": answer.text,
        "trajectory": cost(trajectory),
    }


def answer_text(trajectory: Trajectory, seconds: float | None = None) -> str:
    """The answer of a question as its model wrote it, then one line of cost; see :meth:`Report.as_text`."""
    known = cost(trajectory)
    none = "the last message has none" if known["stop"] == "no_answer" else ended(known)
    answer = trajectory.answer or Answer()
    text = f"No answer. {answer.text}" if answer.outcome else answer.text or f"No answer: {none}."
    return "\n".join([*map(printable, text.split("\n")), "", _summary(known, seconds)])


def ended(known: dict[str, Any]) -> str:
    """How an episode of this cost ended, in words."""
    from fusesearch.reporting.episodes.page import STOPS

    return STOPS[known["stop"]]


def context_json(found: Context) -> dict[str, Any]:
    """``outcome`` (``answer`` or ``too_little``) and all of a context."""
    return {"outcome": "answer" if found.excerpts else "too_little", **found.model_dump(mode="json")}


def context_text(found: Context) -> str:
    """A context as text, or what would help where the issue says too little."""
    return found.text if found.excerpts else f"No answer: {TOO_LITTLE}."


def cost(trajectory: Trajectory) -> dict[str, Any]:
    """What an episode cost (fields of :class:`fusesearch.core.schema.Score`), and which localizer and model ran it."""
    from fusesearch.evaluation.costs import tool_statistics

    about = {name: getattr(trajectory, name) for name in ("localizer", "model", "mode", "stop")}
    return about | tool_statistics(trajectory)


def _rows(locations: Sequence[Location], why: Sequence[Explanation], *, ranked: bool) -> list[str]:
    """A line per location, followed by its explanation if there is one."""
    spans = (f":{location.lines[0]}-{location.lines[1]}" if location.lines else "" for location in locations)
    places = [printable(f"{location.path}{span}") for location, span in zip(locations, spans, strict=True)]
    width = max(map(len, places), default=0)
    lines: list[str] = []
    for index, (place, location) in enumerate(zip(places, locations, strict=True)):
        rank = f"{index + 1}." if ranked else ""
        lines.append(f"{rank:>4} {place:<{width}}  {printable(location.function or '')}".rstrip())
        if location.reasons:
            lines.append(f"       {printable('; '.join(location.reasons))}")
        elif why:
            lines += [f"       {printable(line)}" for line in why[index].as_text()]
    return lines


def _by_file(places: Sequence[Place]) -> list[str]:
    """Files that are likely enough to act on, then what else to look at: each with its reasons, then its best functions."""
    lines: list[str] = []
    for rank, place in enumerate(places, 1):
        if rank == 1:
            lines.append("Likely enough to act on" if place.likely else "Nothing is likely enough to act on. Look at")
        elif places[rank - 2].likely and not place.likely:
            lines += ["", "What else to look at"]
        lines.append(f"{rank:>3}. {place.confidence:>4.0%}  {printable(place.path)}{_because(place.reasons)}")
        for one in place.functions:
            span = f":{one.lines[0]}-{one.lines[1]}" if one.lines else ""
            lines.append(
                f"     {one.confidence or 0:>4.0%}    {printable(f'{one.path}{span}  {one.function}')}{_because(one.reasons)}"
            )
            if one.signature:
                lines.append(f"{'':13}  {printable(one.signature)[:SIGNATURE_CHARS]}")
    return lines


def _because(reasons: Sequence[str]) -> str:
    return f"  ({printable('; '.join(reasons))})" if reasons else ""


def _summary(cost: dict[str, Any], seconds: float | None) -> str:
    seconds = cost["seconds"] if seconds is None else seconds
    if not cost["calls"] and not cost["tokens_billed"]:  # nobody searched
        return f"{seconds:.1f} s"
    turns, calls = (f"{cost[key]} {key[: -1 if cost[key] == 1 else None]}" for key in ("turns", "calls"))
    model = f" ({cost['model']})" if cost["model"] else ""
    return f"{turns}, {calls}, e {cost['efficiency']:.2f}, {seconds:.1f} s, {cost['tokens_billed']:,} tokens{model}"


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
            self._status.update(f"first look at these files: {payload['done']} of {payload['total']}")
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
