"""Agentless: ``loc_outputs.jsonl`` of any stage, and its merged locations.

``found_files`` is the file level. Functions come from ``found_edit_locs``, the last stage, where it says anything, else from
``found_related_locs``. Either is a mapping from file to blocks of location lines, a list of such mappings (one a sample), or,
in old versions, a list of blocks that stands parallel to ``found_files``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tasks.code.names import Claim
from tasks.evaluation.published.claims import Published, answer
from tasks.evaluation.published.location_lines import claims_of_file
from tasks.evaluation.published.rows import Row, json_lines

Blocks = str | list[str] | None
ByFile = dict[str, Blocks]
Found = ByFile | list[ByFile | Blocks] | None


class AgentlessRow(Row):
    """One line of the file; the texts of the model beside it are not read."""

    instance_id: str
    found_files: list[str] | None = None
    found_related_locs: Found = None
    found_edit_locs: Found = None


def read(path: Path) -> Iterator[Published]:
    """The answers in one file."""
    for row in json_lines(path, AgentlessRow):
        files = row.found_files or []
        claims = list(_claims(files, row.found_edit_locs)) or list(_claims(files, row.found_related_locs))
        yield answer(row.instance_id, files, claims)


def _claims(files: list[str], found: Found) -> Iterator[Claim]:
    for sample in found if isinstance(found, list) else [found]:
        if isinstance(sample, dict):
            for path, blocks in sample.items():
                yield from claims_of_file(path, _blocks(blocks))
    if isinstance(found, list):
        for path, item in zip(files, found, strict=False):
            if not isinstance(item, dict):
                yield from claims_of_file(path, _blocks(item))


def _blocks(blocks: Blocks) -> list[str]:
    return [blocks] if isinstance(blocks, str) else blocks or []
