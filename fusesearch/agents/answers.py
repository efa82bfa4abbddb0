"""The answer of a question: read from a message, written, and compared with the exact answer.

It is a section ``## Answer`` with one value per line: a Python literal or an entity ``/repo/path::Qualified.name``. For questions
without exact answers the whole section is the answer.

The share that is right is, of a value, all or nothing; of an entity half for the file and half for the name; of a set F1. More
values than were asked for are wrong.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterable, Sequence
from typing import Any

from fusesearch.agents.parsing import BULLET, MAX_ENTRIES, MAX_LINE_CHARS, parse_location, visible
from fusesearch.core.schema import Answer, Expected
from fusesearch.core.text import encodable

MAX_TEXT_CHARS = 20_000
MAX_LITERAL_CHARS = 500


def parse_values(text: str) -> Answer:
    """The last section ``Answer`` of a message; empty without one.

    Its values are its list entries; without a list, the first line that is not blank.
    """
    lines = visible(text).split("\n")
    starts = [(number, match) for number, line in enumerate(lines) if (match := _HEADING.match(line[:MAX_LINE_CHARS]))]
    if not starts:
        return Answer()
    number, heading = starts[-1]
    section = [heading["rest"] or "", *lines[number + 1 :]]
    filled = [line.strip()[:MAX_LINE_CHARS] for line in section if line.strip()]
    entries = [line[match.end() :] for line in filled if (match := BULLET.match(line))] or filled[:1]
    values = dict.fromkeys(filter(None, map(_plain, entries[:MAX_ENTRIES])))
    return Answer(values=list(values), text=encodable("\n".join(section).strip()[:MAX_TEXT_CHARS]))


def format_values(values: Iterable[str]) -> str:
    """The canonical text of an answer, which :func:`parse_values` reads back."""
    return "\n".join(["## Answer", *(f"- {value}" for value in values)]) + "\n"


def share_right(values: Sequence[str], expected: Expected) -> float:
    """How much of the expected answer ``values`` hold, in [0, 1]. Several values where one is asked for are wrong."""
    if expected.kind == "set":
        given, true = _entities(values), _entities(expected.values)
        return 2 * len(given & true) / (len(given) + len(true)) if given else 0.0
    if len(values) != len(expected.values):
        return 0.0
    if expected.kind == "value":
        return float(_literal(values[0]) == _literal(expected.values[0]))
    found, wanted = parse_location(values[0]), parse_location(expected.values[0])
    if found is None or wanted is None or found.path != wanted.path:
        return 0.0
    return 0.5 + 0.5 * (found.function == wanted.function)


def _entities(values: Iterable[str]) -> set[str]:
    return {location.entity if (location := parse_location(value)) else value for value in values}


def _literal(text: str) -> tuple[str, Any]:
    """The type and value of a literal; other text stands for itself, with or without quotes."""
    text = text[:MAX_LITERAL_CHARS].strip()
    with contextlib.suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        value = ast.literal_eval(text)
        if isinstance(value, bool | str):
            return type(value).__name__, value
        return ("number", value) if isinstance(value, int | float) else ("other", repr(value))
    return "str", text


def _plain(entry: str) -> str:
    """An entry without Markdown around it."""
    entry = entry.strip().strip("*").strip()
    code = _CODE.match(entry)
    return encodable(code[1] if code else entry).strip()


_HEADING = re.compile(r"(?:#{1,6}\s*|\*\*|(?=answer\s*:))(?:final\s+)?answer\b[\s*]*(?::[\s*]*(?P<rest>.*))?$", re.IGNORECASE)
_CODE = re.compile(r"`+([^`]+)`+$")
