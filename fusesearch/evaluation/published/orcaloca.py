"""OrcaLoca: one ``searcher_<instance>.json`` for each instance, in a folder of the run.

``bug_locations`` lists objects of ``file_path`` (``file`` or ``file_name`` in some versions), ``class_name`` and
``method_name``. A file without it is an answer without places. The order of the list is the ranking.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import AliasChoices, Field

from fusesearch.code.names import Claim
from fusesearch.core.errors import DataError
from fusesearch.evaluation.published.claims import Published, answer, clip
from fusesearch.evaluation.published.rows import ReleasedRow, json_document

MAX_FILES = 100_000
_PREFIX, _SUFFIX = "searcher_", ".json"


class BugLocation(ReleasedRow):
    """One place; an empty string equals null."""

    file_path: str | None = Field(default=None, validation_alias=AliasChoices("file_path", "file_name", "file"))
    class_name: str | None = None
    method_name: str | None = None


class OrcaLocaAnswer(ReleasedRow):
    """The content of one file."""

    bug_locations: list[BugLocation] | None = None


def read(path: Path) -> Iterator[Published]:
    """The answers in a folder (searched recursively) or the one in a file. Links are not followed."""
    for found in _files(path) if path.is_dir() else [path]:
        if not (found.name.startswith(_PREFIX) and found.name.endswith(_SUFFIX)):
            raise DataError(f"{found} is not a file of OrcaLoca: these are named searcher_<instance>.json")
        yield _answer(found.name[len(_PREFIX) : -len(_SUFFIX)], json_document(found, OrcaLocaAnswer))


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


def _answer(instance_id: str, found: OrcaLocaAnswer) -> Published:
    places = [place for place in found.bug_locations or [] if (place.file_path or "").strip()]
    named = (place for place in places if (place.class_name or "").strip() or (place.method_name or "").strip())
    return answer(instance_id, (place.file_path or "" for place in places), map(_claim, named))


def _claim(place: BugLocation) -> Claim:
    method, owner = (place.method_name or "").strip(), (place.class_name or "").strip()
    name = clip(".".join(part for part in (owner, method) if part))
    return Claim(clip(place.file_path or ""), name, "function" if method else "class")
