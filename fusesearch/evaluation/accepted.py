"""Other answers that are accepted besides the gold patch: a JSONL of patches known to resolve an issue, or of what they modify.

A line is ``{"instance_id": "...", "files": [...], "functions": [...]}`` or ``{"instance_id": "...", "patch": "..."}``; an
instance may have several lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from fusesearch.core.errors import DataError, FusesearchError
from fusesearch.core.schema import Truth
from fusesearch.core.storage import read_text

TruthOfPatch = Callable[[str, str], Truth]
"""What a patch modifies, given the instance it is for and its text."""


@dataclass
class Accepted:
    """Truths by instance, and why other lines of the file are of no use."""

    truths: dict[str, list[Truth]] = field(default_factory=dict)
    unusable: dict[str, str] = field(default_factory=dict)


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    instance_id: str
    files: list[str] = []
    functions: list[str] = []
    patch: str = ""


def read_accepted(path: Path, instances: set[str], truth_of: TruthOfPatch) -> Accepted:
    """The accepted answers for ``instances``; lines for others are left out.

    A patch that cannot be read or does not apply is listed in ``unusable`` with its line. Raises :class:`DataError` with file and
    line for a line that cannot be read.
    """
    found = Accepted()
    for number, text in enumerate(read_text(path).split("\n"), 1):
        if not text.strip():
            continue
        line = _parsed(text, f"{path}:{number}")
        if line.instance_id not in instances:
            continue
        try:
            truth = truth_of(line.instance_id, line.patch) if line.patch else Truth(files=line.files, functions=line.functions)
        except FusesearchError as error:
            found.unusable[f"line {number}, {line.instance_id}"] = str(error)
            continue
        found.truths.setdefault(line.instance_id, []).append(truth)
    return found


def _parsed(text: str, where: str) -> _Line:
    try:
        line = _Line.model_validate_json(text)
    except ValidationError as error:
        raise DataError(f"{where}: {error.errors()[0]['msg']}") from None
    if not line.patch and not line.files:
        raise DataError(f"{where}: neither a patch nor files are given")
    return line
