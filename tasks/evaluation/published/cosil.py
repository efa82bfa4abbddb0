"""CoSIL: ``found_files`` and ``found_related_locs``, a mapping from file to blocks of location lines.

Its repository publishes the answers of LocAgent and OrcaLoca in this form too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tasks.evaluation.published.claims import Published, answer
from tasks.evaluation.published.location_lines import claims_of_file
from tasks.evaluation.published.rows import Row, json_lines


class CosilRow(Row):
    """One line of the file."""

    instance_id: str
    found_files: list[str] | None = None
    found_related_locs: dict[str, list[str] | None] | None = None


def read(path: Path) -> Iterator[Published]:
    """The answers in one file."""
    for row in json_lines(path, CosilRow):
        located = (row.found_related_locs or {}).items()
        claims = (claim for path, blocks in located for claim in claims_of_file(path, blocks or []))
        yield answer(row.instance_id, row.found_files or [], claims)
