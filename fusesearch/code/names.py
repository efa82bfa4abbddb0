"""The one resolver of names that models write: which file of a repository, and which function, class or lines of it.

It has three interfaces, each following the systems that use it and their published evaluations:

- :func:`match_path` and :func:`locate`: names read line by line (Agentless, CoSIL), for locations with lines.
- :class:`Namer`: entities of graph systems (LocAgent, OrcaLoca), for function entities as the metrics count them.
- :func:`file_named` and :func:`functions_named`: published answers, with a reason for every name that is not found.

:mod:`fusesearch.code.naming` has the grammar of names. Outside Python a text is looked up as it is among the names of its file.

All follow the same rules. A path is tried as it is, then without a prefix before the repository's root, then as the end of
exactly one file's path. A name is tried as it is, then as a function nested in another, which stands for the outer one, then
as the end of exactly one function's name *in that file*. Names are never searched in other files.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from enum import StrEnum
from itertools import islice
from typing import Literal, NamedTuple, Protocol

from fusesearch.code.entities import Entities, ending
from fusesearch.code.functions import function_spans
from fusesearch.code.modules import Outlines
from fusesearch.code.naming import spelled, unwrapped, written_paths
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
_MAX_DEPTH = 40
_WRAPPING = " \t\r\n`'\"*,;<>[]{}"
_QUOTES = " \t\r\n'\",;"
_NAME = re.compile(r"(?:async\s+)?(?:def\s+|class\s+)?(?P<name>[\w.]*\w)(?P<rest>.*)", re.DOTALL)
_PARTS = re.compile(r"::|[#/]|->")


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


@dataclass(frozen=True)
class Claim:
    """One place in an answer. ``name`` is empty for a whole file or for ``lines``.

    ``kind`` is what the answer calls it (``function``, ``class``, ``variable``, ``line``, or nothing), ``within`` the class
    named just before.
    """

    path: str
    name: str = ""
    kind: str = ""
    lines: tuple[int, int] | None = None
    within: str = ""

    @property
    def text(self) -> str:
        """The claim as text."""
        what = f"lines {self.lines[0]}-{self.lines[1]}" if self.lines else self.name
        return " ".join(part for part in (f"{self.path}::{what}", f"({self.kind})" if self.kind else "") if part)


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


# Published answers


class Reason(StrEnum):
    """Why a name was not found among the snapshot's files or functions."""

    NO_PATH = "no path given"
    NO_FILE = "no such file"
    FILES = "several files end so"
    NO_NAME = "no such name in the file"
    NO_MEMBER = "not defined in that class"
    NAMES = "several functions of the file end so"
    CLASS = "a class, no function"
    VARIABLE = "a variable, no function"
    OUTSIDE = "lines in no function"
    NO_LINES = "lines behind the end of the file"
    NOTHING = "names nothing"


REAL = frozenset({Reason.CLASS, Reason.VARIABLE, Reason.OUTSIDE})
"""Reasons for names that exist but are not functions."""


class Place(NamedTuple):
    """Where a name leads: ``path`` of the file (or the text, if no file was found) and qualified ``functions`` in it.

    ``reason`` says why it was not found.
    """

    path: str
    functions: tuple[str, ...] = ()
    reason: Reason | None = None


class Files(Protocol):
    """The files of a commit and their entities."""

    def __contains__(self, path: str) -> bool: ...

    def ending(self, tail: str) -> list[str]:
        """Files whose path is ``tail`` or ends with it after a slash."""

    def entities(self, path: str) -> Entities:
        """The entities of a file."""


def file_named(text: str, snapshot: Files) -> Place:
    """The file that a path refers to."""
    for written in dict.fromkeys((text[:MAX_TEXT].strip(), unwrapped(text[:MAX_TEXT]))):
        if (whole := written.removeprefix("/repo/").removeprefix("./")) and "\0" not in whole and whole in snapshot:
            return Place(whole)
    path = _bare(text[:MAX_TEXT]).replace("\\", "/").removeprefix("./").strip("/")
    if not path or "\0" in path or "\n" in path:
        return Place(text.strip(), reason=Reason.NO_PATH)
    if path in snapshot:
        return Place(path)
    if inner := _without_prefix(path, snapshot):
        return Place(inner)
    found = snapshot.ending(path)
    if len(found) == 1:
        return Place(found[0])
    if module := _module_file(path, snapshot):
        return Place(module)
    return Place(path, reason=Reason.FILES if found else Reason.NO_FILE)


def _bare(path: str) -> str:
    """A path without what encloses it; brackets that are its own stay: ``[id].tsx``."""
    inner = path.strip(_WRAPPING)
    if any(inner.count(left) != inner.count(right) for left, right in ("[]", "{}")):
        return path.strip(_QUOTES + "`*")
    return inner


def functions_named(claim: Claim, snapshot: Files) -> Place:
    """The functions that a claim refers to."""
    file = file_named(claim.path, snapshot)
    if file.reason:
        return file
    entities = snapshot.entities(file.path)
    if claim.lines:
        return _at_lines(file.path, claim.lines, entities)
    name = _cleaned_name(claim, file.path, entities)
    if not name:
        return Place(file.path, reason=Reason.NOTHING)
    return _function(name, claim, file.path, entities)


def _function(name: str, claim: Claim, path: str, entities: Entities) -> Place:
    if claim.kind == "class" and name in entities.classes:
        return Place(path, reason=Reason.CLASS)
    if name in entities.functions:
        return Place(path, (name,))
    if f"{claim.within}.{name}" in entities.functions:
        return Place(path, (f"{claim.within}.{name}",))
    if name in entities.classes:
        return Place(path, reason=Reason.CLASS)
    outer = outermost(name, entities.functions, _MAX_DEPTH)
    if outer and outer in entities.nested.get(name.split(".")[:_MAX_DEPTH][-1], []):
        return Place(path, (outer,))
    return _completed(name, path, entities)


def _completed(name: str, path: str, entities: Entities) -> Place:
    """The place of a name that is not fully qualified."""
    found = entities.called(name)
    if len(found) == 1:
        return Place(path, (found[0],))
    if entities.classes_called(name):
        return Place(path, reason=Reason.CLASS)
    if found:
        return Place(path, reason=Reason.NAMES)
    holders = entities.nested.get(name, [])
    if holders:
        return Place(path, (holders[0],)) if len(holders) == 1 else Place(path, reason=Reason.NAMES)
    if name in entities.variables:
        return Place(path, reason=Reason.VARIABLE)
    owner = name.rpartition(".")[0]
    return Place(path, reason=Reason.NO_MEMBER if owner and entities.classes_called(owner) else Reason.NO_NAME)


def _at_lines(path: str, lines: tuple[int, int], entities: Entities) -> Place:
    first, last = lines
    if first > len(entities.lines):
        return Place(path, reason=Reason.NO_LINES)
    touched = dict.fromkeys(span.name for span in entities.spans if span.start <= last and first <= span.end)
    return Place(path, tuple(touched)) if touched else Place(path, reason=Reason.OUTSIDE)


def _without_prefix(path: str, snapshot: Files) -> str | None:
    """The longest tail of a path that is a file; it has at least one folder."""
    parts = path.split("/")[:_MAX_DEPTH]
    tails = ("/".join(parts[start:]) for start in range(1, len(parts) - 1))
    return next((tail for tail in tails if tail in snapshot), None)


def _module_file(path: str, snapshot: Files) -> str | None:
    if "/" in path or not re.fullmatch(r"\w+(?:\.\w+)+", path):
        return None
    stem = path.replace(".", "/")
    for tail in (f"{stem}.py", f"{stem}/__init__.py"):
        found = snapshot.ending(tail)
        if tail in found or len(found) == 1:
            return tail if tail in found else found[0]
    return None


def _cleaned_name(claim: Claim, path: str, entities: Entities) -> str:
    """``Class.method`` without path, module, signature, ``def`` and trailing words."""
    python = is_python(path)
    text = claim.name[:MAX_TEXT].strip(_WRAPPING) if python else unwrapped(claim.name[:MAX_TEXT])
    for prefix in (path, path.rpartition("/")[2]):
        text = text.removeprefix(f"{prefix}::").removeprefix(f"{prefix}:")
    if not python:
        known = {**entities.functions, **entities.classes}
        text = text.lstrip(".")
        if claim.within and text not in known and (member := spelled(f"{claim.within}.{text}", known, path)) in known:
            return member
        found = spelled(text, known, path) if re.search(r"\w|^[^\w\s]{1,3}$", text) else ""
        return found if found in known else _without_module(found, path)
    match = _NAME.match(_PARTS.sub(".", text).lstrip("."))
    if match is None:
        return ""
    name = re.sub(r"\.{2,}", ".", match["name"]).strip(".")
    return _without_module(name, path)


def _without_module(name: str, path: str) -> str:
    """``f`` of ``package.module.f`` if the file is that module."""
    module = re.sub(r"(?:/__init__)?\.\w+$", "", path).split("/")
    parts = name.split(".")
    for count in range(min(len(parts) - 1, len(module)), 0, -1):
        if parts[:count] == module[-count:] and (count > 1 or parts[0].islower()):
            return ".".join(parts[count:])
    return name
