"""Reads the JSON that models write, also with what Python, JavaScript or a regular expression puts into it. Never executes it."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

MAX_DEPTH = 8
"""Deepest nesting of arguments."""

_TOKEN = re.compile(
    r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|//[^\n]*|/\*.*?\*/|[\[\]{}]|\b(?:true|false|null)\b|,(?=\s*[\]}])", re.DOTALL
)
_LITERALS = {"true": "True", "false": "False", "null": "None", ",": ""}
_ESCAPE = re.compile(r"\\(.)|\n", re.DOTALL)


def read_value(text: str) -> tuple[Any, int]:
    """The JSON value at the start of a text, and its length.

    An object or a list may have quotes and words of Python, comments, commas at its ends, and the backslashes of regular
    expressions. Raises :class:`ValueError` or :class:`RecursionError`.
    """
    try:
        return DECODER.raw_decode(text)
    except ValueError:
        if (found := _loose(text)) is None:
            raise
        return found


def _loose(text: str) -> tuple[Any, int] | None:
    parts: list[str] = []
    depth = position = 0
    for token in _TOKEN.finditer(text if text[:1] in ("{", "[") else ""):
        parts += [text[position : token.start()], _as_python(token[0])]
        position, depth = token.end(), depth + (token[0] in "{[") - (token[0] in "}]")
        if depth > 2 * MAX_DEPTH:
            return None
        if depth == 0:
            try:
                return DECODER.decode(json.dumps(ast.literal_eval("".join(parts)))), position
            except (SyntaxError, TypeError, ValueError, MemoryError):
                return None
    return None


def _as_python(token: str) -> str:
    """A part of JSON as Python reads it, without comments and last commas. In strings other backslashes than JSON's stay."""
    if token[0] in "\"'":
        return _ESCAPE.sub(lambda part: part[0] if (part[1] or "") in tuple("\\\"'bfnrtu") else repr(part[0])[1:-1], token)
    return "" if token[0] == "/" else _LITERALS.get(token, token)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


DECODER = json.JSONDecoder(strict=False, parse_constant=_no_constant)
