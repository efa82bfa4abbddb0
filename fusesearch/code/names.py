"""The one resolver of names that models write: which file of a repository, and which function, class or lines of it.

It has two interfaces, each following the systems that use it:

- :func:`match_path` and :func:`locate`: names read line by line (Agentless, CoSIL), for locations with lines.
- :class:`Namer`: entities of graph systems (LocAgent, OrcaLoca), for function entities as the metrics count them.

:mod:`fusesearch.code.naming` has the grammar of names. Outside Python a text is looked up as it is among the names of its file.

Both follow the same rules. A path is tried as it is, then without a prefix before the repository's root, then as the end of
exactly one file's path. A name is tried as it is, then as a function nested in another, which stands for the outer one, then
as the end of exactly one function's name *in that file*. Names are never searched in other files.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import islice
from typing import Literal

from fusesearch.code.functions import function_spans
from fusesearch.code.modules import Outlines
from fusesearch.code.naming import spelled, written_paths
from fusesearch.code.outline import Outline
from fusesearch.code.spans import FunctionSpan, function_at, is_python
from fusesearch.core.errors import RepositoryError
from fusesearch.core.schema import Location
from fusesearch.search.repository import VIRTUAL_ROOT, Repository

Kind = Literal["class", "function", "variable", "line", "any"]

MAX_TEXT = 500
"""Characters to keep of one name or path; longer than any real one."""

MAX_CANDIDATES = 20_000
CLOSE = 0.8
MAX_FILES = 50
"""Most files in which a :class:`Namer` looks up functions for one answer; names in further files are not found."""

SPAN = re.compile(r"(\d{1,7})(?: ?- ?(\d{1,7}))?")
_MAX_PARTS = 20


@dataclass(frozen=True)
class Named:
    """One location as a model wrote it: a dotted name, ``12`` or ``12-30`` for lines. ``written`` is the text from there on."""

    path: str
    kind: Kind
    name: str
    written: str = field(default="", compare=False)

    def among(self, names: Collection[str], path: str) -> str:
        """The name as ``names`` spell it, which are those of the file."""
        found = spelled(self.written or self.name, names, path)
        return found if ending(found, names) else spelled(self.name, names, path)


def ending(name: str, names: Collection[str]) -> list[str]:
    """``name`` alone if it is one of ``names``, else those that end with it after a dot."""
    return [name] if name in names else [full for full in names if full.endswith(f".{name}")]


def qualified(name: str, names: Collection[str]) -> str | None:
    """``name`` if it is one of ``names``, else the only one that ends with it after a dot."""
    found = set(ending(name, names))
    return found.pop() if len(found) == 1 else None


def outermost(name: str, functions: Collection[str], depth: int) -> str | None:
    """The function that ``outer.inner`` names or is nested in: the longest prefix that is a function."""
    parts = name.split(".")[:depth]
    return next((outer for count in range(len(parts), 0, -1) if (outer := ".".join(parts[:count])) in functions), None)


# Lines of answers


def match_path(name: str, files: Sequence[str], known: Collection[str]) -> str | None:
    """The file of ``files`` (``known`` as a set) that ``name`` refers to.

    Either that file itself, or the only one whose path ends with ``name``, or the only one in a folder that ``name`` ends with.
    """
    path = name.removeprefix(VIRTUAL_ROOT).strip("/").removeprefix("./")
    if path in known:
        return path
    if not path or ".." in path.split("/"):
        return None
    tails = list(islice((file for file in files if file.endswith(f"/{path}") or ("/" in file and path.endswith(f"/{file}"))), 2))
    return tails[0] if len(tails) == 1 else None


def close_path(name: str, files: Sequence[str]) -> str | None:
    """The file of ``files`` whose path is most similar to ``name``, if any is similar enough."""
    close = get_close_matches(name[:MAX_TEXT], files[:MAX_CANDIDATES], 1, CLOSE)
    return close[0] if close else None


def locate(named: Named, outline: Outline) -> Location | None:
    """The location of a name in its file; None if the file has no such name.

    A line stands for the function around it. A name that is not fully qualified counts if exactly one name in the file ends with
    it. Classes, variables and lines outside functions give the file with their lines.
    """
    if named.kind == "line":
        return _line(named, outline)
    if named.kind != "variable":
        functions, classes = ([span.name for span in spans] for spans in (outline.functions, outline.classes))
        found = qualified(named.among(functions, outline.path), functions)
        function = outline.function(found) if found else None
        holder = qualified(named.among(classes, outline.path), classes)
        if function and not (named.kind == "class" and holder):
            return Location(path=outline.path, function=function.name, lines=(function.start, function.end))
        if holder and (span := outline.class_(holder)):
            return Location(path=outline.path, lines=(span.start, span.end))
    variable = next((span for span in outline.variables if span.name == named.name), None)
    return Location(path=outline.path, lines=(variable.start, variable.end)) if variable else None


def placed(
    named: Iterable[Named], files: Sequence[str], known: Collection[str], outlines: Outlines
) -> Iterator[tuple[Named, Location]]:
    """The names that exist, each with its file of ``files`` (``known`` as a set), and their locations."""
    for item in named:
        path = match_path(item.path, files, known)
        outline = outlines.get(path) if path else None
        if path and outline and (location := locate(item, outline)):
            yield replace(item, path=path), location


def spans_of(named: Named, outline: Outline) -> tuple[int, int] | None:
    """The lines of a name; a line stands for itself."""
    location = locate(named, outline)
    if location is None:
        return None
    return _numbers(named.name) if named.kind == "line" else location.lines


def ranked(locations: Iterable[Location], files: Iterable[str] = ()) -> list[Location]:
    """Distinct locations in order, then those ``files`` that contain none of them."""
    first: dict[str, Location] = {}
    for location in locations:
        first.setdefault(location.entity, location)
    paths = {location.path for location in first.values()}
    return [*first.values(), *(Location(path=path) for path in dict.fromkeys(files) if path not in paths)]


def _line(named: Named, outline: Outline) -> Location | None:
    lines = _numbers(named.name)
    if lines is None or lines[1] > len(outline.lines):
        return None
    holder = function_at(list(outline.functions), lines[0])
    return Location(path=outline.path, function=holder.name if holder else None, lines=lines)


def _numbers(text: str) -> tuple[int, int] | None:
    match = SPAN.fullmatch(text)
    if not match:
        return None
    first, last = int(match[1]), int(match[2] or match[1])
    return (min(first, last), max(first, last)) if min(first, last) > 0 else None


# Entities of graphs


class Namer:
    """Looks up names in the files of one snapshot. Each file is read once."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._spans: dict[str, list[FunctionSpan]] = {}

    def file(self, text: str) -> str | None:
        """The file of a path below ``/repo``, of a relative one, or of one with extra folders in front."""
        if exact := self._exact(text):
            return exact
        path = text.strip().strip("`'\"*").removeprefix("/repo/").strip("/").removeprefix("./")
        parts = path.split("/")
        for count in range(min(len(parts), _MAX_PARTS)):
            candidate = "/".join(parts[count:])
            if self._repository.is_visible(candidate):
                return candidate
        return None

    def path_at_start(self, line: str) -> tuple[str, str] | None:
        """The file whose whole path a line begins with, and the text after it; None if there is none."""
        for written in written_paths(line):
            if path := self._exact(written):
                return path, line.partition(written)[2]
        return None

    def _exact(self, text: str) -> str | None:
        path = text.strip().removeprefix("/repo/").removeprefix("./")
        return path if path and self._repository.is_visible(path) else None

    def function(self, path: str, name: str, holder: str = "") -> Location | None:
        """The function ``name`` of a file, first as a member of the class ``holder``; ``None`` if it does not exist.

        A last name is enough if only one function has it.
        """
        spans = {span.name: span for span in self._functions(path)}

        if is_python(path):
            name = ".".join(filter(None, name.strip().strip("`").partition("(")[0].replace("::", ".").split(".")))
        if not name:
            return None
        for full in (f"{holder}.{name}", name) if holder else (name,):
            if outer := outermost(spelled(full, spans, path), spans, _MAX_PARTS):
                return _location(path, spans[outer])
        found = qualified(spelled(name, spans, path), spans)
        return _location(path, spans[found]) if found else None

    def at(self, path: str, line: int) -> Location | None:
        """The function around a line."""
        span = function_at(self._functions(path), line)
        return _location(path, span) if span else None

    def _functions(self, path: str) -> list[FunctionSpan]:
        if path not in self._spans:
            if len(self._spans) >= MAX_FILES:
                return []
            try:
                self._spans[path] = function_spans(self._repository.read_text(path), path)
            except RepositoryError:
                self._spans[path] = []
        return self._spans[path]


def _location(path: str, span: FunctionSpan) -> Location:
    return Location(path=path, function=span.name, lines=(span.start, span.end))


def distinct(locations: list[Location]) -> list[Location]:
    """The first location of each entity, in order; a whole file only if none of its functions is named."""
    named = {location.path for location in locations if location.function}
    first: dict[str, Location] = {}
    for location in locations:
        if location.function or location.path not in named:
            first.setdefault(location.entity, location)
    return list(first.values())
