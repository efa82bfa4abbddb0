"""What the observations of an episode showed: files, lines, and the functions that can be made out in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from tasks.code.functions import function_spans, is_python
from tasks.core.schema import Observation, ToolCall, Trajectory
from tasks.search.gain import file_of
from tasks.search.repository import VIRTUAL_ROOT

Span = tuple[int, int]


@dataclass(frozen=True)
class Row:
    """One line of an observation, and what of the repository it shows: nothing, a file, or a line of a file.

    ``text`` is the text of that line; of a result that lists files, the count beside the path; else all there is.
    """

    text: str
    path: str | None = None
    line: int | None = None


class Seen(NamedTuple):
    """A call that was answered. ``turn`` and ``call`` count from 1, ``call`` within its turn."""

    turn: int
    call: int
    request: ToolCall
    observation: Observation


def answered_calls(trajectory: Trajectory) -> Iterator[Seen]:
    """All calls that have an observation, in order."""
    for number, turn in enumerate(trajectory.turns, 1):
        for index, (call, observation) in enumerate(zip(turn.calls, turn.observations, strict=False), 1):
            yield Seen(number, index, call, observation)


def place(entity: str) -> tuple[str, int | None]:
    """File and line of an entity; a file without one has no line."""
    path = file_of(entity)
    return path, int(entity[len(path) + 1 :]) if path != entity else None


def rows(observation: Observation) -> list[Row]:
    """The lines of an observation in order. Entities stand in the order of the lines that show them."""
    waiting = iter(observation.entities)
    entity = next(waiting, None)
    found = []
    for text in observation.output.split("\n"):
        row = None if entity is None else _row(text, entity)
        if row is not None:
            entity = next(waiting, None)
        found.append(row or Row(text))
    return found


def defines(text: str, function: str) -> bool:
    """Whether a line of code begins the definition of ``function``, by its last name."""
    name = re.escape(function.rpartition(".")[2])
    return re.match(rf"\s*(?:[\w()]+\s+){{0,4}}(?:def|class|func|function|fn|fun)\s+(?:\([^()]*\)\s*)?{name}\b", text) is not None


class Sources:
    """Lines of files, as far as an episode showed them."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.lines: dict[str, dict[int, str]] = {}
        for seen in answered_calls(trajectory):
            for row in rows(seen.observation):
                if row.path is not None and row.line is not None:
                    self.lines.setdefault(row.path, {})[row.line] = row.text

    def spans(self, path: str, function: str) -> list[Span]:
        """Shown lines of a function: from its definition on, as far as they were shown without a gap.

        Where the class around a definition was not shown, the name alone decides. Files that are not Python give the
        lines of definitions alone.
        """
        shown = self.lines.get(path, {})
        found = [(line, line) for line, text in shown.items() if defines(text, function) and _nests_as(text, function)]
        if is_python(path):
            found += [span for run in _runs(shown) for span in _spans_in(run, shown, function)]
        return sorted(set(found))


def _row(text: str, entity: str) -> Row | None:
    """``text`` as the row that shows ``entity``, or None when it does not."""
    path, line = place(entity)
    if line is not None:
        named = f"{VIRTUAL_ROOT}/{path}"
        for prefix in (f"{named}:{line}:", f"{named}-{line}-", f"{line}\t"):
            if text.startswith(prefix):
                return Row(text[len(prefix) :], path, line)
    named = f"{VIRTUAL_ROOT}/{entity}"
    if text == named:
        return Row("", entity)
    return Row(text[len(named) + 1 :], entity) if text.startswith(f"{named}:") else None


def _runs(numbers: Iterable[int]) -> list[list[int]]:
    """Numbers in order, apart where one is missing."""
    ordered = enumerate(sorted(numbers))
    return [[number for _, number in run] for _, run in groupby(ordered, key=lambda pair: pair[1] - pair[0])]


def _spans_in(run: list[int], shown: dict[int, str], function: str) -> Iterator[Span]:
    source = "\n".join(shown[number] for number in run)
    for span in function_spans(source, by_indentation=True):
        first = run[span.start - 1]
        if span.name == function or ("." not in span.name and _is_method(span.name, shown[first], function)):
            yield first, run[min(span.end, len(run)) - 1]


def _is_method(name: str, text: str, function: str) -> bool:
    return function.rpartition(".")[2] == name and _nests_as(text, function)


def _nests_as(text: str, function: str) -> bool:
    """A method is indented, a function of a module is not."""
    return text[:1].isspace() == ("." in function)
