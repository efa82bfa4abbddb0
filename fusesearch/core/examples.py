"""Examples of the rows that each rule of a stage dropped: ids and the first lines of their texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from fusesearch.core.errors import ArtifactError
from fusesearch.core.schema import Record
from fusesearch.core.storage import read_csv, read_json, write_csv, write_json

MOST = 5
"""Examples kept per rule: the first ones, so that every run keeps the same."""

LINES = 8
CHARS = 600
"""Limits on the part of a text that is kept."""


class Example(Record):
    """A dropped row. ``facts`` are short, such as its repository or its F1; ``texts`` are first lines by heading."""

    id: str
    facts: dict[str, str | int | float | None] = Field(default_factory=dict)
    texts: dict[str, str] = Field(default_factory=dict)


class Examples:
    """Collects which rule dropped which row, with the first :data:`MOST` rows of each rule as people look at them."""

    def __init__(self, rules: Iterable[str]) -> None:
        self._rows: dict[str, list[Example]] = {rule: [] for rule in rules}
        self._dropped: list[tuple[str, str]] = []

    def wants(self, rule: str) -> bool:
        """Whether one more row of this rule would be kept."""
        return len(self._rows.setdefault(rule, [])) < MOST

    def add(self, rule: str, row_id: object, facts: Mapping[str, Any], texts: Mapping[str, str]) -> None:
        """Note a row that ``rule`` dropped, and keep its texts unless there are enough of them."""
        name = _plain(str(row_id)[:200])
        self._dropped.append((name, rule))
        if self.wants(rule):
            excerpts = {heading: first_lines(text) for heading, text in texts.items()}
            self._rows[rule].append(Example(id=name, facts=dict(facts), texts=excerpts))

    def write(self, path: Path) -> None:
        """Write all rules with their rows as JSON."""
        write_json(path, {rule: [row.model_dump(mode="json") for row in rows] for rule, rows in self._rows.items()})

    def write_dropped(self, path: Path) -> None:
        """As :func:`write_dropped`, for every row added."""
        write_dropped(path, self._dropped)


def write_dropped(path: Path, dropped: Iterable[tuple[str, str]]) -> None:
    """Ids of dropped rows and the rule that dropped each, as CSV: ``id,rule``."""
    write_csv(path, [{"id": _plain(name[:200]), "rule": rule} for name, rule in dropped])


def read_dropped(path: Path) -> dict[str, str]:
    """The rule by id in what :func:`write_dropped` wrote. Raises :class:`ArtifactError` for a table of another kind."""
    rows = read_csv(path)
    if any({"id", "rule"} - row.keys() for row in rows):
        raise ArtifactError(f"{path} lacks the columns id and rule")
    return {row["id"]: row["rule"] for row in rows}


def read_examples(path: Path) -> dict[str, list[Example]]:
    """What :meth:`Examples.write` wrote. Raises :class:`ArtifactError` when it is missing or malformed."""
    rules = read_json(path)
    try:
        return {str(rule): [Example.model_validate(row) for row in rows] for rule, rows in rules.items()}
    except (AttributeError, TypeError, ValidationError):
        raise ArtifactError(f"{path} does not hold examples by rule") from None


def first_lines(text: str) -> str:
    """At most :data:`LINES` lines and :data:`CHARS` characters, with an ellipsis if something is cut."""
    lines = text[:CHARS].rstrip("\r\n").split("\n")
    cut = len(text) > CHARS or len(lines) > LINES
    return _plain("\n".join(lines[:LINES]) + (" …" if cut else ""))


def _plain(text: str) -> str:
    """Escape lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "backslashreplace").decode()
