"""Reads what a model writes in OrcaLoca's steps: JSON, of limited size, that may be missing or malformed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from fusesearch.agents.parsing import visible
from fusesearch.code.naming import read_name
from fusesearch.code.spans import is_python
from fusesearch.core.text import encodable
from fusesearch.localizers.orcaloca.actions import ARGUMENTS, Action

T = TypeVar("T")

MAX_REPLY_CHARS = 100_000
MAX_ITEMS = 20  # of each list
MAX_TEXT = 400  # characters of a value
MAX_OBSERVATION = 2_000  # characters
MAX_OBJECTS = 50  # opening braces to try

_DECODER = json.JSONDecoder(strict=False)
_NUMBER = re.compile(r"(?<![\w.-])\d{1,3}(?![\w.])")


@dataclass(frozen=True)
class Suspect:
    """Where the model thinks the fault is. Unknown parts are empty."""

    file_path: str = ""
    class_name: str = ""
    method_name: str = ""


@dataclass(frozen=True)
class Step:
    """A reply to a search result. ``fault`` tells the model what could not be used."""

    observation: str = ""
    suspects: list[Suspect] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    fault: str = ""


def read_step(text: str) -> Step:
    """The reply to a search: an observation, suspects and new searches."""
    data = _object(text, "observation_feedback", "potential_bug_locations", "new_search_actions")
    if data is None:
        return Step(fault="the last reply was no JSON object of the form asked for")
    suspects = _each(data.get("potential_bug_locations"), _read_suspect)
    asked = _list(data.get("new_search_actions"))
    actions = _each(asked, read_action)
    fault = "" if len(actions) == len(asked) else "some of the new_search_actions were none that exist, or lacked arguments"
    observation = data.get("observation_feedback")
    return Step(_text(observation, MAX_OBSERVATION), suspects, actions, fault)


def read_conclusion(text: str) -> list[Suspect]:
    """The locations in the last reply, in rank order."""
    data = _object(text, "bug_locations", "potential_bug_locations") or {}
    return _each(data.get("bug_locations") or data.get("potential_bug_locations"), _read_suspect)


def read_names(text: str) -> list[Suspect]:
    """Names in the issue (as ``method_name``), each with the file it may be in."""
    data = _object(text, "code_info_list")
    return _each((data or {}).get("code_info_list"), _read_name)


def read_scores(text: str, count: int) -> list[int]:
    """``count`` scores from 0 to 100, in the order of the pieces; 0 for missing ones."""
    reply = visible(text)[:MAX_REPLY_CHARS]
    data = _object(text, "scores")
    numbers = data.get("scores") if data is not None else _NUMBER.findall(reply)[:count]
    scores = [_read_score(number) for number in numbers] if isinstance(numbers, list) else []
    return [*scores[:count], *([0] * (count - len(scores)))]


def read_action(data: Any) -> Action | None:
    """A search, or None if it is not one of the six or lacks arguments."""
    if not isinstance(data, dict) or not isinstance(data.get("action"), str):
        return None
    name, given = data["action"].strip(), data.get("action_input")
    if name not in ARGUMENTS or not isinstance(given, dict | None):
        return None
    arguments = {key: _text(value, MAX_TEXT) for key, value in (given or {}).items() if isinstance(key, str)}
    if any(not arguments.get(key) for key in ARGUMENTS[name][0]):
        return None
    return Action.of(name, **arguments)


def _read_suspect(data: Any) -> Suspect | None:
    if not isinstance(data, dict):
        return None
    found = Suspect(*(_text(data.get(key), MAX_TEXT) for key in ("file_path", "class_name", "method_name")))
    return found if found != Suspect() else None


def _read_name(data: Any) -> Suspect | None:
    keyword, path = (_text(data.get(key), MAX_TEXT) if isinstance(data, dict) else "" for key in ("keyword", "file_path"))
    last = keyword.replace("()", "").rpartition(".")[2]
    if not last.isidentifier() and path and not is_python(path) and (found := read_name(keyword, path)):
        return Suspect(path, "", found[0].rpartition(".")[2])
    return Suspect(path, "", last) if last.isidentifier() else None


def _read_score(value: Any) -> int:
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 5:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return 0
    return int(min(max(value, 0), 100))


def _object(text: str, *keys: str) -> dict[str, Any] | None:
    """The last outermost JSON object in a reply that has one of these keys."""
    reply = visible(text)[:MAX_REPLY_CHARS]
    found = None
    for value in _objects(reply):
        if any(key in value for key in keys):
            found = value
    return found


def _objects(text: str) -> Iterator[dict[str, Any]]:
    position = 0
    for _ in range(MAX_OBJECTS):
        position = text.find("{", position)
        if position < 0:
            return
        try:
            value, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            position += 1
            continue
        if isinstance(value, dict):
            yield value


def _list(value: Any) -> list[Any]:
    return value[:MAX_ITEMS] if isinstance(value, list) else []


def _each(values: Any, read: Callable[[Any], T | None]) -> list[T]:
    """The readable items of a list, without duplicates."""
    return list(dict.fromkeys(item for value in _list(values) if (item := read(value)) is not None))


def _text(value: Any, chars: int) -> str:
    """Text, or an integer as text, in valid Unicode; empty for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    try:
        text = str(value)
    except ValueError:  # an integer with more digits than Python converts
        return ""
    return encodable(text[:chars]).strip()
