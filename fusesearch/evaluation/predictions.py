"""Scores a file with the predictions of any system against a file of truths (``fusesearch score``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field, model_validator

from fusesearch.core.errors import DataError
from fusesearch.evaluation.published.rows import ReleasedRow, json_lines
from fusesearch.evaluation.quality import Pair, summarize


class _Located(ReleasedRow):
    """A line of either file: files and functions of one instance. Other columns are ignored."""

    instance_id: str
    files: list[str] = Field(default_factory=list)
    functions: list[str] = Field(default_factory=list)


class Prediction(_Located):
    """What a system answers, best first: files, and functions as ``path::Qualified.name``."""

    @model_validator(mode="before")
    @classmethod
    def _has_names(cls, data: Any) -> Any:
        if isinstance(data, dict) and not {"files", "functions"} & set(data):
            raise ValueError("neither `files` nor `functions` is given")
        return data


class _TruthLine(_Located):
    @model_validator(mode="before")
    @classmethod
    def _flatten(cls, data: Any) -> Any:
        """Accept instances, which have a field ``truth``, as well as flat truth lines."""
        if isinstance(data, dict) and isinstance(data.get("truth"), dict):
            data = {**data["truth"], "instance_id": data.get("instance_id")}
        if isinstance(data, dict) and "files" not in data:
            raise ValueError("`files` is missing")
        return data


L = TypeVar("L", bound=_Located)


def score_files(predictions: Path, truth: Path) -> dict[str, Any]:
    """Score ranked predictions, both files JSON lines of ``instance_id, files, functions``.

    Truth lines may also be instances with a nested ``truth``. Returns ``file`` and ``function``, each with ``micro`` and
    ``macro`` precision, recall and F1 and the ranked metrics; ``f1`` combined; ``instances``; ``missing`` (instances
    without a prediction, scored as empty); ``unknown`` (predictions for instances not in the truth, left out). Raises
    :class:`DataError` with file and line for an unreadable line, and for a duplicate instance.
    """
    wanted = _by_instance(truth, _TruthLine)
    if not wanted:
        raise DataError(f"{truth} has no instances to score against")
    given = read_predictions(predictions)
    coverage = {
        "instances": len(wanted),
        "missing": len(wanted.keys() - given.keys()),
        "unknown": len(given.keys() - wanted.keys()),
    }
    return coverage | summarize(_pairs(given, wanted, "files"), _pairs(given, wanted, "functions"))


def read_predictions(path: Path) -> dict[str, Prediction]:
    """Predictions by instance. Raises :class:`DataError` as :func:`score_files`."""
    return _by_instance(path, Prediction)


def _pairs(given: dict[str, Prediction], wanted: dict[str, _TruthLine], level: str) -> list[Pair]:
    return [(getattr(given.get(key), level, []), getattr(row, level)) for key, row in wanted.items()]


def _by_instance(path: Path, model: type[L]) -> dict[str, L]:
    rows: dict[str, L] = {}
    for row in json_lines(path, model):
        if row.instance_id in rows:
            raise DataError(f"{path}: duplicate instance {row.instance_id}")
        rows[row.instance_id] = row
    return rows
