"""The head of a function whose lines are known: read from its text alone, without a parser."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fusesearch.core.text import printable

MAX_HEADER = 12  # lines
LINE_CHARS = 300
_MARK = re.compile(r"@[\w.:]+|#?\[")
_COMMENT = re.compile(r"//|/?\*|#(?!\[)")
_STRING = re.compile(r"'[^']*'|\"[^\"]*\"")
_HASH = re.compile(r"(?:^|\s)#")
_DEF = re.compile(r"\s*(?:@\w+\s+)*(?:[a-z_]+(?:\[\w*\])?\s+){0,5}def\b")
"""Of Ruby, where nothing ends a head but its brackets, of Python and of Scala."""
_MORE = re.compile(r"\s*\((?:implicit|using)\b|\s*:\s")
"""How a line of Scala goes on with a head."""


def printable_lines(source: str) -> list[str]:
    """Lines of a source without what could steer a terminal; long ones end with ``…``."""
    lines = [line.removesuffix("\r") for line in source.removesuffix("\n").split("\n")] if source.removesuffix("\n") else []
    cut = (line if len(line) <= LINE_CHARS else f"{line[:LINE_CHARS]}…" for line in lines)
    return [line if line.isprintable() else "\t".join(map(printable, line.split("\t"))) for line in cut]


def signature(lines: Sequence[str], start: int, end: int) -> str:
    """The head of the function on lines ``start`` to ``end`` (from 1) on one line, without decorators, comments and its body."""
    first, last = head(lines, start, end)
    texts = [line.strip() for line in lines[first - 1 : last]]
    kept = [text for number, text in enumerate(texts) if text and not (number and _COMMENT.match(text))]
    return " ".join(kept)[:LINE_CHARS].rstrip("{ ")


def head(lines: Sequence[str], start: int, end: int) -> tuple[int, int]:
    """First and last line of the head of the function on lines ``start`` to ``end`` (from 1), without decorators."""
    limit = min(end, len(lines))
    first = start
    while first <= limit and (after := _after_mark(lines, first, limit)):
        first = after
    first = first if first <= limit else start
    last = limit = min(first + MAX_HEADER - 1, limit)
    depth, is_def = 0, _DEF.match(lines[first - 1]) if first <= len(lines) else None
    for number in range(first, limit + 1):
        line = lines[number - 1]
        code = _HASH.split(_STRING.sub("", line))[0] if is_def else line
        assigned = is_def and _has_body(code, depth)
        depth += sum(code.count(mark) for mark in "([{") - sum(code.count(mark) for mark in ")]}")
        going_on = code.rstrip().endswith(("\\", ",")) or (number < limit and _MORE.match(lines[number]))
        if is_def and (assigned or (depth <= 0 and not going_on)):
            last = number
            break
        if is_def and depth > 0:  # in Ruby, `limit:` is a parameter
            continue
        if line.rstrip().endswith(("{", ":", ";", "=>")) or " {" in line or line.count(")") > line.count("("):
            last = number
            break
    return first, last


def _has_body(code: str, depth: int) -> bool:
    """Whether an ``=`` or brace outside brackets begins a body, as in Scala. ``depth``: brackets open before it."""
    for place, character in enumerate(code):
        if depth == 0 and (character == "{" or (character == "=" and code[place - 1 : place + 2].strip() == "=")):
            return True
        depth += (character in "([{") - (character in ")]}")
    return False


def _after_mark(lines: Sequence[str], number: int, limit: int) -> int:
    """The line after a comment, decorator, annotation or attribute that begins on a line; 0 where the function itself does.

    One that goes over several lines ends with its brackets; what stands behind it on its last line is the function.
    """
    text = lines[number - 1].lstrip()
    if text.startswith("//") or (text.startswith("#") and not text.startswith("#[")):
        return number + 1
    mark = _MARK.match(text)
    if mark is None:
        return 0
    depth, text = 0, text[mark.end() :] if text.startswith("@") else text.removeprefix("#")
    for last in range(number, limit + 1):
        filled = len(text.rstrip(")] \r"))
        for place, character in enumerate(text):
            depth += (character in "([") - (character in ")]")
            if depth <= 0 and place < filled:
                return 0 if last == number else last
        if depth <= 0:
            return last + 1
        text = lines[last] if last < limit else ""
    return 0
