"""OrcaLoca: one ``searcher_<instance>.json`` for each instance, in a folder of the run.

``bug_locations`` lists objects of ``file_path`` (``file`` or ``file_name`` in some versions), ``class_name`` and
``method_name``. A file without it is an answer without places. The order of the list is the ranking.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field

from fusesearch.core.errors import DataError
from fusesearch.evaluation.published.claims import Published, answer, place_claims
from fusesearch.evaluation.published.rows import ReleasedRow, json_document

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


def read(path: Path) -> Iterator[Published]:
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
