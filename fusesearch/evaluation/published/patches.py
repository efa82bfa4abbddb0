"""Patches that systems released, read as localization: what each modifies at the base commit of its instance.

**Predictions** are SWE-bench's: rows of ``instance_id, model_name_or_path, model_patch``, as JSON lines, a list or a mapping.
**Reports** are those of SWE-bench's harness; only the ids of what was resolved are read.

A patch says nothing of ranks: its files and functions keep its order. The rules are those of the truth
(:mod:`fusesearch.data.truth`), so a gold patch has all of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import RootModel

from fusesearch.core.errors import DataError, InfrastructureError
from fusesearch.core.schema import Instance, Truth
from fusesearch.data.patches import parse_patch
from fusesearch.data.repositories import Repositories
from fusesearch.data.truth import Reader, truth_from_changes
from fusesearch.evaluation.predictions import Prediction
from fusesearch.evaluation.published.claims import ReleasedRow, json_document, json_lines
from fusesearch.evaluation.published.fuzz import as_applied
from fusesearch.evaluation.published.importing import EXAMPLES

MAX_CHARS = 1_000_000
"""A longer patch is not read; the longest gold patch of SWE-bench Verified has 17,385 characters."""
MAX_FILES = 200
"""Nor is a patch of more files."""


class Patch(NamedTuple):
    """The patch of one system for one instance."""

    instance_id: str
    system: str
    text: str


class Fault(StrEnum):
    """Why a patch locates nothing."""

    EMPTY = "no patch"
    HUGE = "too large for a fix"
    UNREADABLE = "not a whole patch"
    NO_FILE = "changes a file that the commit does not have"
    NO_PROGRAM = "does not apply with git, and `patch` is missing"
    MISFIT = "does not apply at the base commit"
    ONLY_ADDS = "only adds files"


class Located(NamedTuple):
    """What a patch modifies, or why it locates nothing and what is wrong in detail."""

    truth: Truth
    fault: Fault | None = None
    detail: str = ""


class _Prediction(ReleasedRow):
    instance_id: str
    model_name_or_path: str | None = None
    model_patch: str | None = None


class _Predictions(RootModel[list[_Prediction] | dict[str, _Prediction]]):
    """A whole file; its mapping is from ids of instances."""


class _Report(ReleasedRow):
    """``resolved_ids`` of the harness, or the list ``resolved`` of SWE-bench's collection of submissions."""

    resolved_ids: list[str] | None = None
    resolved: Any = None


def read_predictions(path: Path) -> Iterator[Patch]:
    """The patches of a submission, from ``.json`` or JSON lines. Raises :class:`DataError` for a row that is not a prediction."""
    if path.suffix == ".json":
        rows = json_document(path, _Predictions).root
        found: Iterable[_Prediction] = rows.values() if isinstance(rows, dict) else rows
    else:
        found = json_lines(path, _Prediction)
    for row in found:
        yield Patch(row.instance_id, row.model_name_or_path or "", row.model_patch or "")


def read_resolved(path: Path) -> set[str]:
    """The ids of the resolved instances of a report. Raises :class:`DataError` for a file that lists none under a known name."""
    report = json_document(path, _Report)
    ids = report.resolved if report.resolved_ids is None else report.resolved_ids
    if not isinstance(ids, list) or not all(isinstance(name, str) for name in ids):
        raise DataError(f"{path}: neither `resolved_ids` nor `resolved` is a list of instances")
    return set(ids)


def located(patch: str, read: Reader) -> Located:
    """What a patch modifies where ``read`` returns the files of its base commit. The text may be anything.

    A patch that git would refuse is read as SWE-bench's harness applies it (:mod:`~fusesearch.evaluation.published.fuzz`).
    """
    if not patch.strip():
        return Located(Truth(), Fault.EMPTY)
    if len(patch) > MAX_CHARS:
        return Located(Truth(), Fault.HUGE, f"{len(patch):,} characters")
    found = _located(patch, read)
    if found.fault in (Fault.UNREADABLE, Fault.NO_FILE, Fault.MISFIT):
        try:
            return _located(as_applied(patch, read), read)
        except InfrastructureError as error:
            return Located(Truth(), Fault.NO_PROGRAM, f"{found.detail}; {error}")
        except DataError:
            return found
    return found


def _located(patch: str, read: Reader) -> Located:
    try:
        changes = parse_patch(patch)
    except DataError as error:
        return Located(Truth(), Fault.UNREADABLE, str(error))
    if len(changes) > MAX_FILES:
        return Located(Truth(), Fault.HUGE, f"{len(changes):,} files")
    try:
        if gone := next((row.old for row in changes if row.old and not row.opaque and read(row.old) is None), None):
            return Located(Truth(), Fault.NO_FILE, gone)
        truth = truth_from_changes(changes, read)
    except DataError as error:
        return Located(Truth(), Fault.MISFIT, str(error))
    return Located(truth) if truth.files else Located(truth, Fault.ONLY_ADDS, ", ".join(truth.added_files[:3]))


@dataclass
class PatchTally:
    """Counts of patches: those that locate something, the others by fault with a few ``(instance, detail)`` of each.

    ``accepted`` counts the alternatives written, ``None`` without a report of what was resolved.
    """

    located: int = 0
    unknown: int = 0
    accepted: int | None = None
    files: int = 0
    functions: int = 0
    faults: Counter[Fault] = field(default_factory=Counter)
    examples: dict[Fault, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))

    def note(self, instance_id: str, found: Located) -> None:
        """Count one patch."""
        if found.fault is None:
            self.located += 1
            self.files += len(found.truth.files)
            self.functions += len(found.truth.functions)
            return
        self.faults[found.fault] += 1
        if len(self.examples[found.fault]) < EXAMPLES:
            self.examples[found.fault].append((instance_id, found.detail))


def import_patches(
    patches: Iterable[Patch], instances: Mapping[str, Instance], repositories: Repositories, tally: PatchTally
) -> Iterator[Prediction]:
    """What the patches of one submission modify, as predictions. A patch that locates nothing gives an empty prediction,
    one that this machine cannot read for want of ``patch`` gives none.

    Patches for other instances are counted as unknown and left out. Raises :class:`DataError` if an instance has two patches, and
    :class:`RepositoryError` for a missing repository or base commit.
    """
    seen: set[str] = set()
    for patch in patches:
        if patch.instance_id in seen:
            raise DataError(f"{patch.instance_id[:200]} has two patches: import one submission at a time")
        seen.add(patch.instance_id)
        instance = instances.get(patch.instance_id)
        if instance is None:
            tally.unknown += 1
            continue
        found = located(patch.text, repositories.reader(instance))
        tally.note(patch.instance_id, found)
        if found.fault is Fault.NO_PROGRAM:
            continue
        yield Prediction(instance_id=patch.instance_id, files=found.truth.files, functions=found.truth.functions)
