"""Places that released answers name: which file of a snapshot, and which functions of it, with a reason for what is not found.

The rules are those of :mod:`fusesearch.code.names`: a path is tried as it is, then without a prefix before the repository's root,
then as the end of exactly one file's path; a name as it is, then as a function nested in another, which stands for the outer one,
then as the end of exactly one function's name *in that file*. Names are never searched in other files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from experiments.evidence.entities import Entities
from fusesearch.code.names import MAX_TEXT, outermost
from fusesearch.code.naming import spelled, unwrapped
from fusesearch.code.spans import is_python

_MAX_DEPTH = 40
_WRAPPING = " \t\r\n`'\"*,;<>[]{}"
_QUOTES = " \t\r\n'\",;"
_NAME = re.compile(r"(?:async\s+)?(?:def\s+|class\s+)?(?P<name>[\w.]*\w)(?P<rest>.*)", re.DOTALL)
_PARTS = re.compile(r"::|[#/]|->")


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
