"""Scores a file with the predictions of any system against a file of truths (``fusesearch score``)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field, ValidationError, model_validator

from fusesearch.core.errors import DataError, first_fault
from fusesearch.data.patches import parse_patch
from fusesearch.data.repositories import git_dir_of
from fusesearch.data.swe_bench import read_rows
from fusesearch.data.truth import truth_in_git
from fusesearch.evaluation.published.claims import ReleasedRow, json_lines
from fusesearch.evaluation.quality import Pair, summarize


class _Located(ReleasedRow):
    """A line of either file: files and functions of one instance. Other columns are ignored."""

    instance_id: str
    files: list[str] = Field(default_factory=list)
    functions: list[str] = Field(default_factory=list)


L = TypeVar("L", bound=_Located)


class Prediction(_Located):
    """What a system answers, best first: files, and functions as ``path::Qualified.name``."""

    @model_validator(mode="before")
    @classmethod
    def _has_names(cls, data: Any) -> Any:
        if isinstance(data, dict) and not {"files", "functions"} & set(data):
            raise ValueError("neither `files` nor `functions` is given")
        return data


class _TruthLine(_Located):
    """A truth, or an instance with its ``truth`` or its ``patch``."""

    repo: str = ""
    base_commit: str = ""
    patch: str = ""

    @model_validator(mode="before")
    @classmethod
    def _flatten(cls, data: Any) -> Any:
        """Accept instances, which have a field ``truth`` or ``patch``, as well as flat truth lines."""
        if isinstance(data, dict) and isinstance(data.get("truth"), dict):
            data = {**data["truth"], "instance_id": data.get("instance_id")}
        if isinstance(data, dict) and "files" in data:
            return data | {"patch": ""}
        if isinstance(data, dict) and not data.get("patch"):
            raise ValueError("neither `files` nor `patch` is given")
        return data

    def of_patch(self, repos: Path | None) -> _TruthLine:
        """What the patch modifies; its files alone without ``repos``. Raises :class:`DataError`, :class:`RepositoryError`."""
        if repos is not None:
            found = truth_in_git(git_dir_of(self.repo, repos), self.base_commit, self.patch)
            return self.model_copy(update={"files": found.files, "functions": found.functions, "patch": ""})
        files = [change.old for change in parse_patch(self.patch) if change.kind not in ("added", "copied")]
        return self.model_copy(update={"files": files})


def score_files(predictions: Path, truth: Path, repos: Path | None = None) -> dict[str, Any]:
    """Score ranked predictions, both files JSON lines of ``instance_id, files, functions``.

    Truth lines may also be instances with a nested ``truth``, or SWE-bench's rows (``.json`` and ``.parquet``, too), whose
    ``patch`` says which files are right; its functions are found in the clones of ``repos``. Returns ``file`` and
    ``function``, each with ``micro`` and ``macro`` precision, recall and F1 and the ranked metrics; ``f1`` combined;
    ``instances``; ``missing`` (instances without a prediction, scored as empty); ``unknown`` (predictions for instances not
    in the truth, left out); ``files_only``, if any (instances whose functions are not known, and not scored). Raises
    :class:`DataError` with file and line for an unreadable line, and for a duplicate instance.
    """
    rows = _by_instance(truth, json_lines(truth, _TruthLine) if truth.suffix not in (".json", ".parquet") else _table(truth))
    if not rows:
        raise DataError(f"{truth} has no instances to score against")
    wanted = {key: _known(row, truth, repos) for key, row in rows.items()}
    given = read_predictions(predictions)
    coverage = {
        "instances": len(wanted),
        "missing": len(wanted.keys() - given.keys()),
        "unknown": len(given.keys() - wanted.keys()),
    }
    if files_only := sum(bool(row.patch) for row in wanted.values()):
        coverage["files_only"] = files_only
    return coverage | summarize(_pairs(given, wanted, "files"), _pairs(given, wanted, "functions"))


def _table(path: Path) -> Iterator[_TruthLine]:
    for number, row in enumerate(read_rows(path), 1):
        try:
            yield _TruthLine.model_validate(row)
        except ValidationError as error:
            raise DataError(f"{path}: row {number}: {first_fault(error)}") from None


def _known(row: _TruthLine, path: Path, repos: Path | None) -> _TruthLine:
    try:
        return row.of_patch(repos) if row.patch else row
    except DataError as error:
        raise DataError(f"{path}: {row.instance_id}: {error}") from None


def read_predictions(path: Path) -> dict[str, Prediction]:
    """Predictions by instance. Raises :class:`DataError` as :func:`score_files`."""
    return _by_instance(path, json_lines(path, Prediction))


def _pairs(given: dict[str, Prediction], wanted: dict[str, _TruthLine], level: str) -> list[Pair]:
    unknown = {key for key, row in wanted.items() if level == "functions" and row.patch}
    named = {key: getattr(given.get(key), level, []) for key in wanted.keys() - unknown}
    return [(named.get(key, []), getattr(row, level)) for key, row in wanted.items()]


def _by_instance(path: Path, lines: Iterator[L]) -> dict[str, L]:
    rows: dict[str, L] = {}
    for row in lines:
        if row.instance_id in rows:
            raise DataError(f"{path}: duplicate instance {row.instance_id}")
        rows[row.instance_id] = row
    return rows
