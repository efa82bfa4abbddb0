"""Which calls of an episode led to a location: the earliest that showed it, and the one that showed most of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fusesearch.core.schema import Location, ToolCall, Trajectory
from fusesearch.reporting.episodes.observed import Line, Seen, Span, answered_calls, defines, place, rows
from fusesearch.search.tool import describe

Shows = Literal["file", "lines", "definition"]
_STRENGTH: dict[Shows, int] = {"file": 0, "lines": 1, "definition": 2}
"""Of equally strong sightings, the one that showed more lines wins."""
_ARGUMENT_CHARS = 100


@dataclass(frozen=True)
class Target:
    """A file, or a function with its known lines in ``spans``."""

    path: str
    function: str | None = None
    spans: Sequence[Span] = ()

    @classmethod
    def of(cls, location: Location) -> Target:
        """The target of an answered location, with the lines it has."""
        return cls(location.path, location.function, [location.lines] if location.lines else [])

    def holds(self, line: int) -> bool:
        """Whether a line of the file belongs to it. Without spans, a file has every line and a function has no line."""
        if not self.spans:
            return self.function is None
        return any(first <= line <= last for first, last in self.spans)


@dataclass(frozen=True)
class Sighting:
    """A call that showed a target. ``turn`` and ``call`` count from 1.

    ``shows`` is ``definition`` (the line where the function starts), ``lines`` (other lines of it) or ``file``. ``line`` is the
    line of the definition, or the first line shown; None if the file was only listed. ``lines`` is the number of the target's
    lines that were shown.
    """

    turn: int
    call: int
    request: ToolCall
    shows: Shows
    line: int | None
    lines: int

    def as_json(self) -> dict[str, Any]:
        """Turn, call, tool, arguments, and the lines shown."""
        return {
            "turn": self.turn, "call": self.call, "tool": self.request.name, "arguments": self.request.arguments,
            "shows": self.shows, "line": self.line, "lines_shown": self.lines,
        }  # fmt: skip

    def what(self, target: Target) -> str:
        """What was shown, in words: ``its definition, line 6, and 14 of its lines``."""
        if self.line is None:
            return "the name of the file"
        if self.shows == "definition":
            more = f", {self.lines} of its lines" if self.lines > 1 else ""
            return f"its definition, line {self.line}{more}"
        if self.shows == "lines":
            return f"{_count(self.lines)} of it, from line {self.line}"
        return f"other lines of the file, from line {self.line}" if target.function else f"{_count(self.lines)}, from {self.line}"


@dataclass(frozen=True)
class Explanation:
    """The earliest and the strongest sighting of a target; both None if no observation showed its file."""

    target: Target
    first: Sighting | None
    strongest: Sighting | None

    def as_json(self) -> dict[str, Any]:
        """``path``, ``function``, ``first`` and ``strongest``."""
        found = {"first": self.first, "strongest": self.strongest}
        sightings = {name: sighting and sighting.as_json() for name, sighting in found.items()}
        return {"path": self.target.path, "function": self.target.function, **sightings}

    def as_text(self) -> list[str]:
        """One line, or two if the strongest sighting came after the first."""
        if self.first is None or self.strongest is None:
            return ["no observation showed it"]
        if self.first is self.strongest:
            return [self._line(self.first)]
        return [self._line(self.first, "first in "), self._line(self.strongest, "best in ")]

    def _line(self, sighting: Sighting, lead: str = "") -> str:
        call = f"{sighting.request.name} {describe(sighting.request.arguments)}"
        call = call if len(call) <= _ARGUMENT_CHARS else call[: _ARGUMENT_CHARS - 1] + "…"
        return f"{lead}turn {sighting.turn}, call {sighting.call}: {sighting.what(self.target)} ({call})"


def explain(trajectory: Trajectory, targets: Iterable[Target]) -> list[Explanation]:
    """An explanation per target, in order. Of the calls of one turn, which run in parallel, the first counts as earliest."""
    found = []
    for target in targets:
        sightings = list(_sightings(trajectory, target))
        strongest = max(sightings, key=lambda sighting: (_STRENGTH[sighting.shows], sighting.lines), default=None)
        found.append(Explanation(target, sightings[0] if sightings else None, strongest))
    return found


def _sightings(trajectory: Trajectory, target: Target) -> Iterator[Sighting]:
    for seen in answered_calls(trajectory):
        entities = [place(entity) for entity in seen.observation.entities]
        if any(path == target.path for path, _ in entities):
            yield _sighting(seen, target, [line for path, line in entities if path == target.path and line is not None])


def _sighting(seen: Seen, target: Target, lines: list[int]) -> Sighting:
    """``lines`` are the lines of the target's file that the call showed."""
    own = [line for line in dict.fromkeys(lines) if target.holds(line)]
    defined = _definition(rows(seen.observation), target)
    if defined is not None:
        return Sighting(*seen[:3], "definition", defined, max(len(own), 1))
    if own and target.function is not None:
        return Sighting(*seen[:3], "lines", own[0], len(own))
    visible = own or lines
    return Sighting(*seen[:3], "file", visible[0] if visible else None, len(own))


def _definition(observed: list[Line], target: Target) -> int | None:
    """The line where the target's function starts, if it was shown. Its name decides if its lines are not known."""
    for row in observed:
        if target.function is None or row.path != target.path or row.line is None:
            continue
        if (not target.spans or target.holds(row.line)) and defines(row.text, target.function):
            return row.line
    return None


def _count(lines: int) -> str:
    return f"{lines} line{'' if lines == 1 else 's'}"
