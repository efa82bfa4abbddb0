"""Other answers that are accepted besides the gold patch: a JSONL of patches known to resolve an issue, or of what they modify.

A line is ``{"instance_id": "...", "files": [...], "functions": [...]}`` or ``{"instance_id": "...", "patch": "..."}``; an
instance may have several lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field, model_validator

from fusesearch.core.errors import FusesearchError
from fusesearch.core.schema import Truth
from fusesearch.evaluation.published.rows import ReleasedRow, json_lines

TruthOfPatch = Callable[[str, str], Truth]
"""What a patch modifies, given the instance it is for and its text."""


@dataclass
class Accepted:
    """Truths by instance, and why other lines of the file are of no use."""

    truths: dict[str, list[Truth]] = field(default_factory=dict)
    unusable: dict[str, str] = field(default_factory=dict)


class _Line(ReleasedRow):
    instance_id: str
    files: list[str] = Field(default_factory=list)
    functions: list[str] = Field(default_factory=list)
    patch: str = ""

    @model_validator(mode="after")
    def _locates(self) -> _Line:
        if not self.patch and not self.files:
            raise ValueError("neither a patch nor files are given")
        return self


def read_accepted(path: Path, instances: set[str], truth_of: TruthOfPatch) -> Accepted:
    """The accepted answers for ``instances``; lines for others are left out.

    A patch that cannot be read or does not apply is listed in ``unusable`` with its number.
    Raises :class:`DataError` with file and line for a line that cannot be read.
    """
    found = Accepted()
    for number, line in enumerate(json_lines(path, _Line), 1):
        if line.instance_id not in instances:
            continue
        try:
            truth = truth_of(line.instance_id, line.patch) if line.patch else Truth(files=line.files, functions=line.functions)
        except FusesearchError as error:
            found.unusable[f"answer {number}, {line.instance_id}"] = str(error)
            continue
        found.truths.setdefault(line.instance_id, []).append(truth)
    return found
