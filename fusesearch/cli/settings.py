"""Edits of settings in JSON, written as agents write them themselves. Values and their order stay; comments would not."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from fusesearch.core.errors import DataError

Keys = tuple[str | int, ...]
"""The way to a value: names of members and, in a list, places. A value is put at the place 0 of a list, before the others."""


def put(text: str, keys: Keys, value: Any) -> str:
    """``text`` with the value at ``keys``, in objects and lists that are made where they lack.

    Raises :class:`DataError` for a text that is not an object in plain JSON, or has something else on the way.
    """
    known = parsed(text)
    inside: Any = known
    for key, after in pairwise(keys):
        if not isinstance(inside, dict):
            raise DataError("not an object of settings")
        inside = inside.setdefault(key, [] if isinstance(after, int) else {})
    if not isinstance(inside, list if isinstance(keys[-1], int) else dict):
        raise DataError("not an object of settings")
    if isinstance(inside, list):
        inside.insert(0, value)
    else:
        inside[keys[-1]] = value
    return _written(known)


def take(text: str, keys: Keys) -> str:
    """``text`` without the object at ``keys``, and without an object or list around it that has nothing else."""
    known = parsed(text)
    while len(keys) > 1 and len(at(known, keys[:-1])) == 1:
        keys = keys[:-1]
    del at(known, keys[:-1])[keys[-1]]
    return _written(known)


def parsed(text: str) -> dict[str, Any]:
    """The object of plain JSON. Raises :class:`DataError` for anything else, such as JSON with comments."""
    try:
        value = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"not plain JSON ({error}), so it is not edited") from None
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


def _written(known: dict[str, Any]) -> str:
    return json.dumps(known, indent=2, ensure_ascii=False) + "\n"
