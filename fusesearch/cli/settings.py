"""Edits of settings in JSON with comments. All else stays as it is, byte for byte, also after an edit is taken back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from fusesearch.core.errors import DataError

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|[{}\[\],:]|[^\s{}\[\],:"/]+|\S', re.DOTALL)

Keys = tuple[str | int, ...]
"""The way to a value: names of members and, in a list, places. A value is put at the place 0 of a list, before the others."""


def put(text: str, keys: Keys, value: Any) -> str:
    """``text`` with the value at ``keys``, in objects and lists that are made where they lack.

    Raises :class:`DataError` for a text that is not an object in such JSON, or has something else on the way.
    """
    wanted, spans = parsed(text), _spans(text)
    depth = max(number for number in range(len(keys)) if keys[:number] in spans)
    for key in reversed(keys[depth + 1 :]):
        value = [value] if isinstance(key, int) else {key: value}
    key, inside = keys[depth], at(wanted, keys[:depth])
    start, comma = spans[keys[:depth]][1] + 1, ", " if inside else ""
    if isinstance(inside, list) != isinstance(key, int):
        raise DataError("not an object of settings")
    if isinstance(inside, list):
        inside.insert(0, value)
    else:
        inside[key] = value
    member = json.dumps(value) if isinstance(inside, list) else f"{json.dumps(key)}: {json.dumps(value)}"
    return _checked(f"{text[:start]}{member}{comma}{text[start:]}", wanted)


def take(text: str, keys: Keys) -> str:
    """``text`` without the object at ``keys``, and without an object or list around it that has nothing else."""
    wanted, spans = parsed(text), _spans(text)
    while len(keys) > 1 and len(at(wanted, keys[:-1])) == 1:
        keys = keys[:-1]
    del at(wanted, keys[:-1])[keys[-1]]
    (_, inside, _), (start, _, end) = spans[keys[:-1]], spans[keys]
    if after := re.compile(r"\s*, ?").match(text, end):
        end = after.end()
    elif before := re.search(r",\s*$", text[inside + 1 : start]):
        start = inside + 1 + before.start()
    return _checked(text[:start] + text[end:], wanted)


def parsed(text: str) -> dict[str, Any]:
    """The object of JSON with comments and trailing commas. Raises :class:`DataError` for anything else."""
    words = [token[0] for token in _tokens(text)]
    pairs = zip(words, [*words[1:], ""], strict=True)
    try:
        value = json.loads(" ".join(word for word, after in pairs if word != "," or after not in ("}", "]")))
    except (ValueError, RecursionError) as error:
        raise DataError(f"not valid JSON ({error})") from None
    if not isinstance(value, dict):
        raise DataError("not an object of settings")
    return value


def at(known: Any, keys: Keys) -> Any:
    """The value at ``keys``; None if there is none."""
    for key in keys:
        try:
            known = known[key]
        except (KeyError, IndexError, TypeError):
            return None
    return known


def _tokens(text: str) -> Iterator[re.Match[str]]:
    start = int(text.startswith("\ufeff"))
    return (token for token in _TOKEN.finditer(text, start) if token[0][:2] not in ("//", "/*"))


def _spans(text: str) -> dict[Keys, tuple[int, int, int]]:
    """Of each object and list: where its member begins, where its bracket opens, and the end."""
    spans: dict[Keys, tuple[int, int, int]] = {}
    around: list[tuple[Keys, int, int]] = []
    places: list[int] = []  # in each list; -1 for an object
    last, key, member = None, "", 0
    for token in _tokens(text):
        word = token[0]
        if word == ":" and last is not None:
            key, member = json.loads(last[0]), last.start()
        elif word in ("{", "["):
            inner = () if not around else (*around[-1][0], key if places[-1] < 0 else places[-1])
            around.append((inner, member if places and places[-1] < 0 else token.start(), token.start()))
            places.append(-1 if word == "{" else 0)
        elif word in ("}", "]"):
            places.pop()
            inner, begin, opened = around.pop()
            spans[inner] = (begin, opened, token.end())
        elif word == "," and places[-1] >= 0:
            places[-1] += 1
        last = token
    return spans


def _checked(text: str, wanted: dict[str, Any]) -> str:
    """``text`` if it says what is ``wanted``: the edit was by characters."""
    if parsed(text) != wanted:
        raise DataError("it is written in a way that this program cannot edit")
    return text
