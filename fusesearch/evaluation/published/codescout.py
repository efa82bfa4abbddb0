"""CodeScout: rollouts as Parquet or JSON lines, with the locations passed to ``localization_finish``.

They are in ``prediction``, ``structured_locations`` or ``locations``: a list of ``file``, ``class_name`` and ``function_name``,
or lists under ``files`` and ``entities`` (``path:Qualified.name``), as values or as JSON text. Without these fields, they come
from the only ``localization_finish`` call in the messages; as in CodeScout's evaluation, a rollout without such a call, or with
several, has no answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from fusesearch.core.errors import DataError, first_fault
from fusesearch.evaluation.published.claims import Published, answer, entity_claim, place_claims
from fusesearch.evaluation.published.rows import ReleasedRow, json_lines, parquet_rows

FINISH = "localization_finish"


class CodeScoutRow(ReleasedRow):
    """One rollout. Its prediction has one of several shapes, so it is validated later."""

    instance_id: str
    prediction: Any = None
    structured_locations: Any = None
    locations: Any = None
    chat_messages: Any = None
    messages: Any = None


class Place(ReleasedRow):
    """One location of the answer."""

    file: str
    class_name: str | None = None
    function_name: str | None = None


class Levels(ReleasedRow):
    """An answer as lists of names."""

    files: list[str] | None = None
    entities: list[str] | None = None


_PLACES = TypeAdapter(list[Place])


def read(path: Path) -> Iterator[Published]:
    """The answers in one file."""
    for row in (parquet_rows if path.suffix == ".parquet" else json_lines)(path, CodeScoutRow):
        given = next((value for value in (row.prediction, row.structured_locations, row.locations) if value is not None), None)
        if given is None:
            given = _finished(row)
        try:
            yield _answer(row.instance_id, _parsed(given))
        except ValidationError as error:
            name, reason = row.instance_id[:200], first_fault(error)
            raise DataError(f"{path}: {name}: the locations have no known shape ({reason})") from None


def _parsed(given: Any) -> Any:
    """The value of JSON text, or None if it is invalid; other values stay the same."""
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return None


def _answer(instance_id: str, given: Any) -> Published:
    if isinstance(given, dict) and "locations" in given:
        given = _parsed(given["locations"])
    if isinstance(given, dict):
        levels = Levels.model_validate(given)
        return answer(instance_id, levels.files or [], map(entity_claim, levels.entities or []))
    places = _PLACES.validate_python(given or [])
    named = place_claims((place.file, place.class_name, place.function_name) for place in places)
    return answer(instance_id, (place.file for place in places), named)


def _finished(row: CodeScoutRow) -> Any:
    """Arguments of the only call of the finishing tool in the messages."""
    chat = row.chat_messages if row.chat_messages is not None else row.messages
    if isinstance(chat, dict):
        chat = chat.get("messages")
    calls = [call for message in _objects(chat) for call in _objects(message.get("tool_calls"))]
    functions = [call["function"] for call in calls if isinstance(call.get("function"), dict)]
    finishing = [function.get("arguments") for function in functions if function.get("name") == FINISH]
    return finishing[0] if len(finishing) == 1 else None


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
