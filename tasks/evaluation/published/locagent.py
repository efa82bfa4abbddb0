"""LocAgent: ``found_files``, ``found_modules`` and ``found_entities``, the latter two as ``path:Qualified.name``.

Its entities never name ``__init__``: a class stands for its constructor as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tasks.code.names import Claim
from tasks.evaluation.published.claims import Published, answer, clip
from tasks.evaluation.published.rows import Row, json_lines


class LocAgentRow(Row):
    """One line of the file; the raw texts and the instance itself, which it repeats, are not read."""

    instance_id: str
    found_files: list[str] | None = None
    found_modules: list[str] | None = None
    found_entities: list[str] | None = None


def read(path: Path) -> Iterator[Published]:
    """The answers in one file."""
    for row in json_lines(path, LocAgentRow):
        claims = map(_claim, row.found_entities or [])
        yield answer(row.instance_id, row.found_files or [], claims, row.found_modules or [])


def _claim(entity: str) -> Claim:
    path, _, name = clip(entity).partition(":")
    return Claim(path, name.lstrip(":"), label=clip(entity))
