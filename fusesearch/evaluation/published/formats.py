"""The formats by name, and their readers.

**Agentless**: ``loc_outputs.jsonl`` of any stage, and its merged locations. Functions come from ``found_edit_locs``, the last
stage, if it names any, else from ``found_related_locs``. Either is a mapping from file to blocks of location lines, a list of
such mappings (one per sample), or, in old versions, a list of blocks parallel to ``found_files``.

**CoSIL**: ``found_related_locs`` is a mapping from file to blocks of location lines. Its repository publishes the answers of
LocAgent and OrcaLoca in this form too.

**LocAgent**: ``found_entities`` as ``path:Qualified.name``. Its entities never name ``__init__``: a class
also stands for its constructor.

**OrcaLoca**: one ``searcher_<instance>.json`` for each instance, in a folder of the run. ``bug_locations`` lists objects of
``file_path`` (``file`` or ``file_name`` in some versions), ``class_name`` and ``method_name``. A file without it is an answer
without places. The order of the list is the ranking.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field

from fusesearch.code.names import Claim
from fusesearch.core.errors import ConfigError, DataError
from fusesearch.evaluation.published.claims import (
    Published,
    ReleasedRow,
    answer,
    claims_of_file,
    entity_claim,
    json_document,
    json_lines,
    place_claims,
)

MAX_FILES = 100_000
_PREFIX, _SUFFIX = "searcher_", ".json"
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]


class BugLocation(ReleasedRow):
    """One place; null equals an empty string."""

    file_path: Text = Field(default="", validation_alias=AliasChoices("file_path", "file_name", "file"))
    class_name: Text = ""
    method_name: Text = ""


class OrcaLocaAnswer(ReleasedRow):
    """The content of one file."""

    bug_locations: list[BugLocation] | None = None


def read_orcaloca(path: Path) -> Iterator[Published]:
    """The answers in a folder (searched recursively) or the one in a file. Links are not followed."""
    for found in _files(path) if path.is_dir() else [path]:
        if not (found.name.startswith(_PREFIX) and found.name.endswith(_SUFFIX)):
            raise DataError(f"{found} is not a file of OrcaLoca: these are named searcher_<instance>.json")
        listed = json_document(found, OrcaLocaAnswer).bug_locations or []
        places = [place for place in listed if place.file_path.strip()]
        named = place_claims((place.file_path, place.class_name.strip(), place.method_name.strip()) for place in places)
        yield answer(found.name[len(_PREFIX) : -len(_SUFFIX)], (place.file_path for place in places), named)


def _files(folder: Path) -> list[Path]:
    found: list[Path] = []
    for root, folders, names in os.walk(folder, followlinks=False):
        folders.sort()
        kept = (Path(root, name) for name in sorted(names) if name.startswith(_PREFIX) and name.endswith(_SUFFIX))
        found += [path for path in kept if not path.is_symlink()]
        if len(found) > MAX_FILES:
            raise DataError(f"{folder} holds more than {MAX_FILES:,} files of OrcaLoca: name a smaller folder")
    if not found:
        raise DataError(f"{folder} holds no searcher_<instance>.json")
    return found


Blocks = str | list[str] | None
ByFile = dict[str, Blocks]
Found = ByFile | list[ByFile | Blocks] | None


class _Row(ReleasedRow):
    """One line of a file, without the model's texts and the copy of the instance."""

    instance_id: str
    found_files: list[str] | None = None


class _AgentlessRow(_Row):
    found_related_locs: Found = None
    found_edit_locs: Found = None


class _CosilRow(_Row):
    found_related_locs: dict[str, list[str] | None] | None = None


class _LocAgentRow(_Row):
    found_entities: list[str] | None = None


def read_agentless(path: Path) -> Iterator[Published]:
    """The answers in one file of Agentless."""
    for row in json_lines(path, _AgentlessRow):
        files = row.found_files or []
        claims = list(_claims(files, row.found_edit_locs)) or list(_claims(files, row.found_related_locs))
        yield answer(row.instance_id, files, claims)


def agentless_line(instance_id: str, files: Iterable[str], functions: Iterable[str]) -> dict[str, object]:
    """What Agentless's repair (version 1.5) reads: the files, and by file the blocks of functions, as in its last stage."""
    blocks: dict[str, list[str]] = {path: [] for path in files}
    for entity in functions:
        path, _, name = entity.partition("::")
        blocks.setdefault(path, []).append(f"function: {name}")
    return {"instance_id": instance_id, "found_files": list(blocks), "found_edit_locs": blocks}


def read_cosil(path: Path) -> Iterator[Published]:
    """The answers in one file of CoSIL."""
    for row in json_lines(path, _CosilRow):
        located = (row.found_related_locs or {}).items()
        claims = (claim for path, blocks in located for claim in claims_of_file(path, blocks or []))
        yield answer(row.instance_id, row.found_files or [], claims)


def read_locagent(path: Path) -> Iterator[Published]:
    """The answers in one file of LocAgent."""
    for row in json_lines(path, _LocAgentRow):
        yield answer(row.instance_id, row.found_files or [], map(entity_claim, row.found_entities or []))


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


FORMATS: dict[str, Callable[[Path], Iterator[Published]]] = {
    "agentless": read_agentless,
    "cosil": read_cosil,
    "locagent": read_locagent,
    "orcaloca": read_orcaloca,
}
"""The readers by the system's name; :mod:`~fusesearch.evaluation.published.patches` reads patches, which any system may give."""


def format_named(name: str) -> Callable[[Path], Iterator[Published]]:
    """The reader called ``name``. Raises :class:`ConfigError` with the known names."""
    if name not in FORMATS:
        raise ConfigError(f"format {name!r} is unknown: use one of {', '.join(FORMATS)}, patches")
    return FORMATS[name]
