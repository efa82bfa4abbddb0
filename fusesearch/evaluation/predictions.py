"""Scores a file with the answers of any system against a file of truths (``fusesearch score``).

An answer names files and functions, or is a patch, as SWE-bench's predictions are: then what it modifies is the answer. Both
files are untrusted: each row is validated against a strict model, and one that does not fit raises :class:`DataError` with file
and line, so that nothing is lost silently.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fusesearch.core.errors import DataError, first_fault
from fusesearch.core.schema import Score, Truth
from fusesearch.data.filtering import MAX_PATCH_CHARS
from fusesearch.data.patches import parse_patch
from fusesearch.data.repositories import git_dir_of
from fusesearch.data.swe_bench import read_rows
from fusesearch.data.truth import truth_in_git
from fusesearch.evaluation.metrics import against
from fusesearch.evaluation.protocols import code_of
from fusesearch.evaluation.quality import Pair, summarize

MAX_ROW_BYTES = 64 << 20
"""Longer lines are refused."""

YOURS = "yours"
"""The name of predictions beside the systems of a board."""

BOM = b"\xef\xbb\xbf"  # which some editors put before the first line


class Named(BaseModel):
    """Files, and functions as ``path::Qualified.name``. Other columns are ignored, and types not converted."""

    model_config = ConfigDict(extra="ignore", strict=True)

    files: list[str] = Field(default_factory=list)
    functions: list[str] = Field(default_factory=list)


class _Located(Named):
    """A line of either file."""

    instance_id: str


L = TypeVar("L", bound=_Located)


def json_lines(path: Path, model: type[L]) -> Iterator[L]:
    """Rows of a JSON-lines file, read line by line."""
    try:
        with path.open("rb") as handle:
            number = 0
            while line := handle.readline(MAX_ROW_BYTES + 1):
                number += 1
                if len(line) > MAX_ROW_BYTES:
                    raise DataError(f"{path}:{number}: the line is longer than {MAX_ROW_BYTES:,} bytes")
                if line.strip():
                    try:
                        row = model.model_validate_json(line.removeprefix(BOM))
                    except ValidationError as error:
                        raise DataError(f"{path}:{number}: {first_fault(error)}") from None
                    yield row
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None


class Prediction(_Located):
    """What a system answers, best first: files, and functions as ``path::Qualified.name``. Or it answers a patch."""

    model_patch: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _has_names(cls, data: Any) -> Any:
        if isinstance(data, dict) and not {"files", "functions", "model_patch"} & set(data):
            raise ValueError("neither `files` nor `functions` is given, nor `model_patch`")
        return data


class _TruthLine(_Located):
    """A truth, or an instance with its ``truth`` or its ``patch``; on a board with the ``answers`` of systems by name."""

    repo: str = ""
    base_commit: str = ""
    patch: str = ""
    answers: dict[str, Named] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _flatten(cls, data: Any) -> Any:
        """Accept instances, which have a field ``truth`` or ``patch``, as well as flat truth lines."""
        if isinstance(data, dict) and isinstance(data.get("truth"), dict):
            data = {**data["truth"], **{name: data[name] for name in ("instance_id", "repo", "base_commit") if name in data}}
        if isinstance(data, dict) and "files" in data:
            return data | {"patch": ""}
        if isinstance(data, dict) and not data.get("patch"):
            raise ValueError("neither `files` nor `patch` is given")
        return data


class _Modified(NamedTuple):
    files: list[str]
    functions: list[str]


def _modified(patch: str, row: _TruthLine, repos: Path | None) -> _Modified:
    """What a patch modifies; its files alone without ``repos``. Raises :class:`DataError`, :class:`RepositoryError`."""
    if repos is not None:
        found = truth_in_git(git_dir_of(row.repo, repos), row.base_commit, patch)
        return _Modified(found.files, found.functions)
    changes = [change for change in parse_patch(patch) if not change.submodule]
    return _Modified([change.old for change in changes if change.kind not in ("added", "copied")], [])


def score_files(predictions: Path, truth: Path, repos: Path | None = None) -> dict[str, Any]:
    """Score ranked predictions, both files JSON lines of ``instance_id, files, functions``.

    A prediction may also have SWE-bench's ``model_patch``: it answers what that modifies, in its order. Truth lines may also be
    instances with a nested ``truth``, or SWE-bench's rows (``.json`` and ``.parquet``, too), whose ``patch`` says which files are
    right; functions of patches are found in the clones of ``repos``. Returns ``file`` and ``function``, each with ``micro`` and
    ``macro`` precision, recall and F1 and the ranked metrics; ``f1`` combined; ``instances``; ``missing`` (instances without a
    prediction, scored as empty); ``unknown`` (predictions for instances not in the truth, left out); ``files_only``, if any
    (instances whose functions are not known, and not scored); ``unreadable``, if any (patches that do not apply at the base
    commit and answer nothing). Raises :class:`DataError` with file and line for an unreadable line, and for a duplicate instance.
    """
    wanted, given, unreadable = read_answers(truth, predictions, repos)
    coverage = {
        "instances": len(wanted),
        "missing": len(wanted.keys() - given.keys()),
        "unknown": len(given.keys() - wanted.keys()),
    }
    if files_only := sum(bool(row.patch) for row in wanted.values()):
        coverage["files_only"] = files_only
    if unreadable:
        coverage["unreadable"] = unreadable
    return coverage | summarize(_pairs(given, wanted, "files"), _pairs(given, wanted, "functions"))


def score_board(board: Path, predictions: Path | None = None, repos: Path | None = None) -> dict[str, list[Score]]:
    """The scores of the systems of a board, and first of ``predictions`` under :data:`YOURS`: files and functions of code alone.

    A board has truth lines with ``answers``. A system is scored where it has one, :data:`YOURS` everywhere. Raises as
    :func:`score_files` does.
    """
    wanted, given, _ = read_answers(board, predictions, repos)
    names = dict.fromkeys(name for row in wanted.values() for name in row.answers)
    found = {YOURS: [_code_score(row, given.get(key, Named())) for key, row in wanted.items()]} if predictions else {}
    return found | {
        name: [_code_score(row, row.answers[name]) for row in wanted.values() if name in row.answers] for name in names
    }


def _code_score(row: _TruthLine, named: Named) -> Score:
    truth, answer = (code_of(Truth(files=one.files, functions=one.functions)) for one in (row, named))
    score = Score(
        instance_id=row.instance_id, repo=row.repo, predicted_files=answer.files, predicted_functions=answer.functions
    )  # fmt: skip
    return against(score, truth)


def read_answers(
    truth: Path, predictions: Path | None, repos: Path | None
) -> tuple[dict[str, _TruthLine], dict[str, Prediction], int]:
    """Truth and answers by instance, both as files and functions, and how many patches cannot be read."""
    rows = _by_instance(truth, json_lines(truth, _TruthLine) if truth.suffix not in (".json", ".parquet") else _table(truth))
    if not rows:
        raise DataError(f"{truth} has no instances to score against")
    wanted = {key: _known(row, truth, repos) for key, row in rows.items()}
    given = _by_instance(predictions, json_lines(predictions, Prediction)) if predictions else {}
    unreadable = 0
    for key in given.keys() & rows.keys():
        if (patch := given[key].model_patch) is not None:
            if repos is None and wanted[key].functions:
                raise DataError(f"{predictions}: {key}: the functions of a patch are found in clones: name them with --repos")
            answer = _answered(patch, rows[key], repos)
            unreadable += answer is None
            given[key] = given[key].model_copy(update=(answer or _Modified([], []))._asdict())
    return wanted, given, unreadable


def _table(path: Path) -> Iterator[_TruthLine]:
    for number, row in enumerate(read_rows(path), 1):
        try:
            yield _TruthLine.model_validate(row)
        except ValidationError as error:
            raise DataError(f"{path}: row {number}: {first_fault(error)}") from None


def _known(row: _TruthLine, path: Path, repos: Path | None) -> _TruthLine:
    if not row.patch:
        return row
    try:
        found = _modified(row.patch, row, repos)._asdict()
    except DataError as error:
        raise DataError(f"{path}: {row.instance_id}: {error}") from None
    return row.model_copy(update=found | ({} if repos is None else {"patch": ""}))


def _answered(patch: str, row: _TruthLine, repos: Path | None) -> _Modified | None:
    """What a patch of anybody modifies; None if it is too large, no whole patch, or does not apply."""
    try:
        if len(patch) <= MAX_PATCH_CHARS:
            return _modified(patch, row, repos) if patch.strip() else _Modified([], [])
    except DataError:
        return None
    return None


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
