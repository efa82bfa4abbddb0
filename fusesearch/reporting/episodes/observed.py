"""The files, lines and recognizable functions in the observations of an episode, and what of the truth they show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from fusesearch.code.functions import function_spans
from fusesearch.code.spans import is_python
from fusesearch.core.schema import Observation, Trajectory, Truth
from fusesearch.search.gain import file_of
from fusesearch.search.repository import VIRTUAL_ROOT

Span = tuple[int, int]
Mark = Literal["", "file", "function", "change", "said"]


@dataclass(frozen=True)
class Line:
    """One line of an observation, which shows nothing of the repository, a file, or a line of a file.

    ``text`` is the text of the file's line, or the count beside a listed path, or else the whole line.
    """

    text: str
    path: str | None = None
    line: int | None = None


def place(entity: str) -> tuple[str, int | None]:
    """File and line of an entity; a whole file has no line."""
    path = file_of(entity)
    return path, int(entity[len(path) + 1 :]) if path != entity else None


def rows(observation: Observation) -> list[Line]:
    """The lines of an observation in order. Entities are in the order of the lines that show them."""
    waiting = iter(observation.entities)
    entity = next(waiting, None)
    found = []
    for text in observation.output.split("\n"):
        row = None if entity is None else _row(text, entity)
        if row is not None:
            entity = next(waiting, None)
        found.append(row or Line(text))
    return found


def defines(text: str, function: str) -> bool:
    """Whether a line of code starts the definition of ``function``, by its last name."""
    name = re.escape(function.rpartition(".")[2])
    header = r"\s*(?:[\w()]+\s+){0,4}(?:def|class|func|function|fn|fun)\s+(?:\([^()]*\)\s*|self\.)?`?"
    return re.match(rf"{header}{name}(?:(?<!\w)|\b)(?![?!])", text) is not None


class Sources:
    """The lines of files that an episode showed."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.lines: dict[str, dict[int, str]] = {}
        for observation in (seen for turn in trajectory.turns for seen in turn.observations):
            for row in rows(observation):
                if row.path is not None and row.line is not None:
                    self.lines.setdefault(row.path, {})[row.line] = row.text

    def spans(self, path: str, function: str) -> list[Span]:
        """The observed lines of a function, from its definition to the first gap.

        If the class around a definition was not observed, the name alone decides. In files other than Python only the lines of
        definitions count.
        """
        lines = self.lines.get(path, {})
        found = [(line, line) for line, text in lines.items() if defines(text, function) and _nests_as(text, function)]
        if is_python(path):
            found += [span for run in _runs(lines) for span in _spans_in(run, lines, function)]
        return sorted(set(found))


class Hits:
    """Marks rows that show truth: a line the patch changes, a line of a function it changes, or a file it changes.

    Functions are found in the observed lines alone (:meth:`Sources.spans`), because
    only the episode is available. Without a truth nothing is marked.
    """

    def __init__(self, truth: Truth | None, sources: Sources) -> None:
        self._truth = truth or Truth()
        self._files = frozenset(self._truth.files)
        self._spans: dict[str, list[tuple[Span, str]]] = {}
        for entity in self._truth.functions:
            path, _, function = entity.partition("::")
            self._spans.setdefault(path, []).extend((span, entity) for span in sources.spans(path, function))

    def mark(self, row: Line) -> Mark:
        """The strongest mark of a row."""
        if row.path not in self._files or row.path is None:
            return ""
        if row.line is None:
            return "file"
        if any(first <= row.line <= last for first, last in self._truth.lines.get(row.path, [])):
            return "change"
        return "function" if self._functions(row.path, row.line) else "file"

    def entities_in(self, observation: Observation) -> list[str]:
        """Files and functions of the truth that an observation shows, functions first, in the truth's order."""
        places = [place(entity) for entity in observation.entities]
        functions = {name for path, line in places if line is not None for name in self._functions(path, line)}
        files = {path for path, _ in places}
        return [name for name in self._truth.functions if name in functions] + [
            name for name in self._truth.files if name in files
        ]

    def _functions(self, path: str, line: int) -> list[str]:
        return [entity for (first, last), entity in self._spans.get(path, []) if first <= line <= last]


def _row(text: str, entity: str) -> Line | None:
    """``text`` as the row that shows ``entity``, or None when it does not."""
    path, line = place(entity)
    if line is not None:
        named = f"{VIRTUAL_ROOT}/{path}"
        for prefix in (f"{named}:{line}:", f"{named}-{line}-", f"{line}\t"):
            if text.startswith(prefix):
                return Line(text[len(prefix) :], path, line)
    named = f"{VIRTUAL_ROOT}/{entity}"
    if text == named:
        return Line("", entity)
    return Line(text[len(named) + 1 :], entity) if text.startswith(f"{named}:") else None


def _runs(numbers: Iterable[int]) -> list[list[int]]:
    """Runs of consecutive numbers, in order."""
    ordered = enumerate(sorted(numbers))
    return [[number for _, number in run] for _, run in groupby(ordered, key=lambda pair: pair[1] - pair[0])]


def _spans_in(run: list[int], lines: dict[int, str], function: str) -> Iterator[Span]:
    source = "\n".join(lines[number] for number in run)
    for span in function_spans(source, by_indentation=True):
        first = run[span.start - 1]
        is_method = "." not in span.name and function.rpartition(".")[2] == span.name and _nests_as(lines[first], function)
        if span.name == function or is_method:
            yield first, run[min(span.end, len(run)) - 1]


def _nests_as(text: str, function: str) -> bool:
    """Whether the indentation fits: a method is indented, a function of a module is not."""
    return text[:1].isspace() == ("." in function)
