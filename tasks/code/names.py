"""Files and locations as models name them in fenced lines, and what they are in the repository.

The format is that of Agentless and CoSIL: a line with a path, then lines ``class: Name``, ``function: Name.name``,
``variable: name`` or ``line: 12`` about that file; ``path::Name`` on one line is taken too. Text is hostile: it is read in
one pass, at most so many lines and characters of each, and nothing in it is trusted to exist.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Literal

from tasks.agents.parsing import ROOT, visible
from tasks.code.outline import Outline
from tasks.code.spans import function_at
from tasks.core.schema import Location

Kind = Literal["class", "function", "variable", "line", "any"]

MAX_LINES = 400
MAX_LINE_CHARS = 500
MAX_TEXT_CHARS = 200_000
MAX_CANDIDATES = 20_000
CLOSE = 0.8

_FENCE = "```"
_PATH = re.compile(r"[^\s:*?\"<>|`',;()\[\]{}]{1,400}")
_BULLET = re.compile(r"(?:[-*+•>]|\d{1,3}[.):]|[Tt]op_?\d{1,2} ?:)\s+")
_KIND = re.compile(r"(class|function|method|variable|line)s? ?: ?(.*)", re.IGNORECASE)
_NAME = re.compile(r"\w[\w.]{0,200}")
_SPAN = re.compile(r"(\d{1,7})(?: ?- ?(\d{1,7}))?")


@dataclass(frozen=True)
class Named:
    """One location as a model wrote it: about the file ``path``, of a kind; ``name`` is a dotted name or ``12`` or ``12-30``."""

    path: str
    kind: Kind
    name: str


def fenced_lines(text: str) -> list[str]:
    """Lines inside all fences; without a fence, all lines. Bullets, backticks and bold marks around them are taken off."""
    parts = visible(text)[:MAX_TEXT_CHARS].split(_FENCE)
    inside = parts[1::2]
    lines = (line for block in (inside or parts[:1]) for line in block.split("\n"))
    return list(islice(filter(None, map(_plain, lines)), MAX_LINES))


def read_paths(text: str, most: int) -> list[str]:
    """Distinct lines that look like a path, in order; folders end in ``/``."""
    paths = (line.split()[0].rstrip(",;:") for line in fenced_lines(text))
    return list(islice(dict.fromkeys(path for path in paths if _is_path(path)), most))


def read_named(text: str, most: int) -> list[Named]:
    """Distinct locations in the order they are named; lines without a file before them are none."""
    return list(islice(dict.fromkeys(_named(fenced_lines(text))), most))


def match_path(name: str, files: Sequence[str], known: Collection[str]) -> str | None:
    """The file of ``files`` (``known`` as a set) that ``name`` means.

    That is the file itself; else the only one whose path ends with it, or that, with its folder, ends it.
    """
    path = name.removeprefix(ROOT).strip("/").removeprefix("./")
    if path in known:
        return path
    if not path or ".." in path.split("/"):
        return None
    tails = list(islice((file for file in files if file.endswith(f"/{path}") or ("/" in file and path.endswith(f"/{file}"))), 2))
    return tails[0] if len(tails) == 1 else None


def close_path(name: str, files: Sequence[str]) -> str | None:
    """The file of ``files`` whose path is most like ``name``, if one is at all."""
    close = get_close_matches(name[:MAX_LINE_CHARS], files[:MAX_CANDIDATES], 1, CLOSE)
    return close[0] if close else None


def locate(named: Named, outline: Outline) -> Location | None:
    """What a name means in the file it is about; None where nothing there is called so.

    A line is the function that holds it. A name that is not qualified, or qualified in part, counts where one thing alone in
    the file ends with it. Classes, variables and lines outside of functions are the file with the span of lines.
    """
    if named.kind == "line":
        return _line(named, outline)
    if named.kind != "variable":
        found = qualified(named.name, [span.name for span in outline.functions])
        function = outline.function(found) if found else None
        holder = qualified(named.name, [span.name for span in outline.classes])
        if function and not (named.kind == "class" and holder):
            return Location(path=outline.path, function=function.name, lines=(function.start, function.end))
        if holder and (span := outline.class_(holder)):
            return Location(path=outline.path, lines=(span.start, span.end))
    variable = next((span for span in outline.variables if span.name == named.name), None)
    return Location(path=outline.path, lines=(variable.start, variable.end)) if variable else None


def spans_of(named: Named, outline: Outline) -> tuple[int, int] | None:
    """Lines of what a name means; a line is itself."""
    location = locate(named, outline)
    if location is None:
        return None
    return _numbers(named.name) if named.kind == "line" else location.lines


def ranked(locations: Iterable[Location], files: Iterable[str] = ()) -> list[Location]:
    """Distinct locations in order, then the files among ``files`` that none of them is in."""
    first: dict[str, Location] = {}
    for location in locations:
        first.setdefault(location.entity, location)
    paths = {location.path for location in first.values()}
    return [*first.values(), *(Location(path=path) for path in dict.fromkeys(files) if path not in paths)]


def _plain(line: str) -> str:
    line = line[:MAX_LINE_CHARS].strip()
    bullet = _BULLET.match(line)
    line = line[bullet.end() :] if bullet else line
    return line.replace("**", "").strip("` \t#*")


def _is_path(text: str) -> bool:
    return bool(_PATH.fullmatch(text)) and ("/" in text or "." in text.strip("."))


def _named(lines: Iterable[str]) -> Iterator[Named]:
    path = ""
    for line in lines:
        kind = _KIND.fullmatch(line)
        head, mark, name = line.partition("::")
        if kind and path:
            yield from _of_kind(path, kind[1].lower(), kind[2])
        elif mark and _is_path(head.strip()) and (match := _NAME.match(name.strip())):
            yield Named(head.strip(), "any", match[0].rstrip("."))
        elif not kind:
            word = line.removeprefix("### ").removeprefix("File:").strip().rstrip(",;:")
            path = word if _is_path(word) else path


def _of_kind(path: str, kind: str, rest: str) -> Iterator[Named]:
    for item in rest.split(",")[:20]:
        if kind == "line":
            if match := _SPAN.match(item.strip()):
                yield Named(path, "line", match[0].replace(" ", ""))
        elif match := _NAME.match(item.strip().replace("::", ".")):
            known: Kind = "class" if kind == "class" else "variable" if kind == "variable" else "function"
            yield Named(path, known, match[0].rstrip("."))


def _line(named: Named, outline: Outline) -> Location | None:
    lines = _numbers(named.name)
    if lines is None or lines[1] > len(outline.lines):
        return None
    holder = function_at(list(outline.functions), lines[0])
    return Location(path=outline.path, function=holder.name if holder else None, lines=lines)


def _numbers(text: str) -> tuple[int, int] | None:
    match = _SPAN.fullmatch(text)
    if not match:
        return None
    first, last = int(match[1]), int(match[2] or match[1])
    return (min(first, last), max(first, last)) if min(first, last) > 0 else None


def qualified(name: str, names: Sequence[str]) -> str | None:
    """Which of ``names`` is meant: ``name`` if it is there, else the only one that ends with it after a dot."""
    if name in names:
        return name
    tails = {full for full in names if full.endswith(f".{name}")}
    return tails.pop() if len(tails) == 1 else None
