"""CodeScout: rollouts as Parquet or JSON lines, with the locations that ``localization_finish`` was given.

They are read from ``prediction``, ``structured_locations`` or ``locations``: a list of ``file``, ``class_name`` and
``function_name``, or lists under ``files`` and ``entities`` (``path:Qualified.name``), as values or as JSON text. Where none
is there, from the one ``localization_finish`` call of the messages; as in CodeScout's evaluation, a rollout with no such call,
or with several, has no answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tasks.code.names import Claim
from tasks.core.errors import DataError
from tasks.evaluation.published.claims import Published, answer, clip
from tasks.evaluation.published.rows import Row, json_lines, parquet_rows

FINISH = "localization_finish"


class CodeScoutRow(Row):
    """One rollout. What it predicted has had several shapes, so it is checked when it is read."""

    instance_id: str
    prediction: Any = None
    structured_locations: Any = None
    locations: Any = None
    chat_messages: Any = None
    messages: Any = None


class Place(Row):
    """One location of the answer."""

    file: str
    class_name: str | None = None
    function_name: str | None = None


class Levels(Row):
    """An answer as lists of names."""

    files: list[str] | None = None
    entities: list[str] | None = None


_PLACES = TypeAdapter(list[Place])


def read(path: Path) -> Iterator[Published]:
    """The answers in one file."""
    for row in (parquet_rows if path.suffix == ".parquet" else json_lines)(path, CodeScoutRow):
        said = next((value for value in (row.prediction, row.structured_locations, row.locations) if value is not None), None)
        if said is None:
            said = _finished(row)
        try:
            yield _answer(row.instance_id, _parsed(said))
        except ValidationError as error:
            reason = error.errors(include_url=False, include_input=False)[0]["msg"]
            raise DataError(f"{path}: {row.instance_id[:200]}: the locations have no known shape ({reason})") from None


def _parsed(said: Any) -> Any:
    """JSON text as its value; text that is none says nothing."""
    if not isinstance(said, str):
        return said
    try:
        return json.loads(said)
    except (ValueError, RecursionError):
        return None


def _answer(instance_id: str, said: Any) -> Published:
    if isinstance(said, dict) and "locations" in said:
        said = _parsed(said["locations"])
    if isinstance(said, dict):
        levels = Levels.model_validate(said)
        return answer(instance_id, levels.files or [], map(_of_entity, levels.entities or []))
    places = _PLACES.validate_python(said or [])
    return answer(instance_id, (place.file for place in places), (_of_place(place) for place in places if _named(place)))


def _named(place: Place) -> bool:
    return bool(place.class_name or place.function_name)


def _of_place(place: Place) -> Claim:
    name = clip(".".join(part for part in (place.class_name, place.function_name) if part))
    return Claim(clip(place.file), name, "function" if place.function_name else "class", label=f"{clip(place.file)}:{name}")


def _of_entity(entity: str) -> Claim:
    path, _, name = clip(entity).partition(":")
    return Claim(path, name.lstrip(":"), label=clip(entity))


def _finished(row: CodeScoutRow) -> Any:
    """Arguments of the only call of the finishing tool among the messages."""
    chat = row.chat_messages if row.chat_messages is not None else row.messages
    if isinstance(chat, dict):
        chat = chat.get("messages")
    calls = [call for message in _objects(chat) for call in _objects(message.get("tool_calls"))]
    functions = [call["function"] for call in calls if isinstance(call.get("function"), dict)]
    given = [function.get("arguments") for function in functions if function.get("name") == FINISH]
    return given[0] if len(given) == 1 else None


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
