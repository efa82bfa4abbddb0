"""What a published name means in a snapshot: a file, or functions of it, or a reason why it is none.

Paths: as they are; without what stands before the repository's root (``/testbed/``, ``a/``); completed where one file alone
ends so; a dotted module as its file. Names: qualified as the snapshot's own (``Class.method``); without signature, ``def`` or
their module; completed where one function of *that file* alone ends so, one in the class named just before first. A function
nested in another counts as the outer one, a range of lines as the functions it touches (DESIGN.md section 2). No name is
looked for in another file.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from tasks.evaluation.published.claims import MAX_TEXT, Claim
from tasks.evaluation.published.snapshot import Entities, Snapshot

_WRAPPING = " \t\r\n`'\"*,;<>[]{}"
_NAME = re.compile(r"(?:async\s+)?(?:def\s+|class\s+)?(?P<name>[\w.]*\w)(?P<rest>.*)", re.DOTALL)
_PARTS = re.compile(r"::|[#/]|->")
_MAX_DEPTH = 40


class Reason(StrEnum):
    """Why a name has no place among the snapshot's files or functions."""

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
"""Reasons of names that are there, but of another kind than functions."""


class Place(NamedTuple):
    """Where a name leads: ``path`` is the file's (or the text, where there is none), ``functions`` are qualified names in it.

    ``how`` says what was done to find it, ``reason`` why nothing was.
    """

    path: str
    functions: tuple[str, ...] = ()
    how: str = "as written"
    reason: Reason | None = None


def file_named(text: str, snapshot: Snapshot) -> Place:
    """The file a path means."""
    path = _cleaned_path(text)
    if not path:
        return Place(text.strip(), reason=Reason.NO_PATH)
    if path in snapshot:
        return Place(path)
    if inner := _without_prefix(path, snapshot):
        return Place(inner, how="path shortened")
    found = snapshot.ending(path)
    if len(found) == 1:
        return Place(found[0], how="path completed")
    if module := _module_file(path, snapshot):
        return Place(module, how="module")
    return Place(path, reason=Reason.FILES if found else Reason.NO_FILE)


def functions_named(claim: Claim, snapshot: Snapshot, *, class_as_init: bool = False) -> Place:
    """The functions a claim means. With ``class_as_init`` a class that defines ``__init__`` means that."""
    file = file_named(claim.path, snapshot)
    if file.reason:
        return file
    entities = snapshot.entities(file.path)
    if claim.lines:
        return _at_lines(file.path, claim.lines, entities)
    name = _cleaned_name(claim.name, file.path)
    if not name:
        return Place(file.path, reason=Reason.NOTHING)
    found = _function(name, claim, file.path, entities)
    if found.reason is Reason.CLASS and class_as_init:
        inits = [f"{full}.__init__" for full in entities.classes_called(name)]
        if len(inits) == 1 and inits[0] in entities.functions:
            return Place(file.path, (inits[0],), "class for its __init__")
    if not found.reason and found.how == "as written" and name != claim.name:
        return found._replace(how="name cleaned")
    return found


def _function(name: str, claim: Claim, path: str, entities: Entities) -> Place:
    if claim.kind == "class" and name in entities.classes:
        return Place(path, reason=Reason.CLASS)
    if name in entities.functions:
        return Place(path, (name,))
    if f"{claim.within}.{name}" in entities.functions:
        return Place(path, (f"{claim.within}.{name}",), "class named before")
    if name in entities.classes:
        return Place(path, reason=Reason.CLASS)
    if holder := _holder(name, entities):
        return Place(path, (holder,), "nested function")
    return _completed(name, path, entities)


def _completed(name: str, path: str, entities: Entities) -> Place:
    """A name that is qualified in part or not at all."""
    found = entities.called(name)
    if len(found) == 1:
        return Place(path, (found[0],), "name completed")
    if entities.classes_called(name):
        return Place(path, reason=Reason.CLASS)
    if found:
        return Place(path, reason=Reason.NAMES)
    holders = entities.nested.get(name, [])
    if holders:
        return Place(path, (holders[0],), "nested function") if len(holders) == 1 else Place(path, reason=Reason.NAMES)
    if name in entities.variables:
        return Place(path, reason=Reason.VARIABLE)
    owner = name.rpartition(".")[0]
    return Place(path, reason=Reason.NO_MEMBER if owner and entities.classes_called(owner) else Reason.NO_NAME)


def _holder(name: str, entities: Entities) -> str | None:
    """The outermost function that holds what ``outer.inner`` names, if it does."""
    parts = name.split(".")[:_MAX_DEPTH]
    for count in range(len(parts) - 1, 0, -1):
        outer = ".".join(parts[:count])
        if outer in entities.functions:
            return outer if outer in entities.nested.get(parts[-1], []) else None
    return None


def _at_lines(path: str, lines: tuple[int, int], entities: Entities) -> Place:
    first, last = lines
    if first > len(entities.lines):
        return Place(path, reason=Reason.NO_LINES)
    touched = dict.fromkeys(span.name for span in entities.spans if span.start <= last and first <= span.end)
    return Place(path, tuple(touched), "lines") if touched else Place(path, reason=Reason.OUTSIDE)


def _cleaned_path(text: str) -> str:
    path = text[:MAX_TEXT].strip(_WRAPPING).replace("\\", "/").removeprefix("./").strip("/")
    return "" if "\0" in path or "\n" in path else path


def _without_prefix(path: str, snapshot: Snapshot) -> str | None:
    """The longest tail of a path, a folder at least in it, that is a file."""
    parts = path.split("/")[:_MAX_DEPTH]
    tails = ("/".join(parts[start:]) for start in range(1, len(parts) - 1))
    return next((tail for tail in tails if tail in snapshot), None)


def _module_file(path: str, snapshot: Snapshot) -> str | None:
    if "/" in path or not re.fullmatch(r"\w+(?:\.\w+)+", path):
        return None
    stem = path.replace(".", "/")
    for tail in (f"{stem}.py", f"{stem}/__init__.py"):
        found = snapshot.ending(tail)
        if tail in found or len(found) == 1:
            return tail if tail in found else found[0]
    return None


def _cleaned_name(text: str, path: str) -> str:
    """``Class.method`` of what was written: without path, module, signature, ``def`` and what is said about it."""
    text = text[:MAX_TEXT].strip(_WRAPPING)
    for prefix in (path, path.rpartition("/")[2]):
        text = text.removeprefix(f"{prefix}::").removeprefix(f"{prefix}:")
    match = _NAME.match(_PARTS.sub(".", text).lstrip("."))
    if match is None:
        return ""
    name = re.sub(r"\.{2,}", ".", match["name"]).strip(".")
    return _without_module(name, path)


def _without_module(name: str, path: str) -> str:
    """``f`` of ``package.module.f`` where the file is that module."""
    module = re.sub(r"(?:/__init__)?\.\w+$", "", path).split("/")
    parts = name.split(".")
    for count in range(min(len(parts) - 1, len(module)), 0, -1):
        if parts[:count] == module[-count:] and (count > 1 or parts[0].islower()):
            return ".".join(parts[count:])
    return name
