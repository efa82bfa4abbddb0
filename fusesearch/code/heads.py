"""The head of a function whose lines are known: read from its text alone, without a parser."""

from __future__ import annotations

from collections.abc import Sequence

MAX_HEADER = 12  # lines
LINE_CHARS = 300


def signature(lines: Sequence[str], start: int, end: int) -> str:
    """The head of the function on lines ``start`` to ``end`` (from 1) on one line, without decorators and its body."""
    first, last = head(lines, start, end)
    return " ".join(filter(None, (line.strip() for line in lines[first - 1 : last])))[:LINE_CHARS].rstrip("{ ")


def head(lines: Sequence[str], start: int, end: int) -> tuple[int, int]:
    """First and last line of the head of the function on lines ``start`` to ``end`` (from 1), without decorators."""
    first = next(
        (
            number
            for number in range(start, min(end, len(lines)) + 1)
            if not lines[number - 1].lstrip().startswith(("@", "#", "//"))
        ),
        start,
    )
    last = limit = min(end, first + MAX_HEADER - 1, len(lines))
    for number in range(first, limit + 1):
        line = lines[number - 1]
        if line.rstrip().endswith(("{", ":", ";", "=>")) or " {" in line or line.count(")") > line.count("("):
            last = number
            break
    return first, last
