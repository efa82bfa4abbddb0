"""Read an episode or a truth from a JSON document, JSON lines, or a Parquet table of instances."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError, model_validator

from fusesearch.core.errors import DataError, first_fault
from fusesearch.core.schema import Trajectory, Truth
from fusesearch.core.storage import read_instances, read_jsonl, read_text

M = TypeVar("M", bound=BaseModel)


def read_episode(path: Path, instance: str | None = None, run: int = 1) -> Trajectory:
    """The trajectory in ``path``: what ``localize --save`` wrote, or a line of a file of trajectories.

    ``instance`` chooses an instance, ``run`` (from 1) one of its episodes. Raises :class:`DataError` unless exactly one
    episode fits.
    """
    episodes = _documents(path, Trajectory)
    wanted = [episode for episode in episodes if instance is None or episode.instance_id == instance]
    ids = list(dict.fromkeys(episode.instance_id for episode in wanted or episodes))
    if not wanted:
        raise DataError(f"{path} has no episode of {instance or 'anything'}; {_some(ids)}")
    if len(ids) > 1:
        raise DataError(f"{path} has {len(wanted)} episodes; choose one with --instance: {_some(ids)}")
    if run > len(wanted):
        raise DataError(f"{path} has {len(wanted)} of {ids[0]}, so there is no --run {run}")
    return wanted[run - 1]


def read_truth(path: Path, instance: str) -> Truth:
    """The truth of an instance: from JSON lines as for ``score``, one truth in JSON, or Parquet instances.

    A document without ``instance_id`` counts for any instance. Raises :class:`DataError` if the file lacks the instance.
    """
    if path.suffix == ".parquet":
        found = {row.instance_id: row.truth or Truth() for row in read_instances(path)}
    else:
        found = {row.instance_id or instance: row.truth for row in _documents(path, _Line)}
    if instance not in found:
        raise DataError(f"{path} has no truth of {instance}; {_some(list(found))}")
    if not found[instance].files:
        raise DataError(f"{path}: the truth of {instance} names no file")
    return found[instance]


class _Line(BaseModel):
    """A truth: of an instance, or by itself."""

    instance_id: str = ""
    truth: Truth

    @model_validator(mode="before")
    @classmethod
    def _nested(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        truth = data["truth"] if isinstance(data.get("truth"), dict) else data
        known = {name: value for name, value in truth.items() if name in Truth.model_fields}
        return {"instance_id": data.get("instance_id", ""), "truth": known}


def _documents(path: Path, model: type[M]) -> list[M]:
    """The JSON objects of a file: one on any lines, or one a line."""
    try:
        return [model.model_validate_json(read_text(path))]
    except ValidationError as error:
        if error.errors()[0]["type"] != "json_invalid":
            raise DataError(f"{path}: {first_fault(error)}") from None
        return list(read_jsonl(path, model))


def _some(ids: Sequence[str]) -> str:
    """Up to five names, so that the user can copy the right one."""
    return f"it has {', '.join(ids[:5])}{f' and {len(ids) - 5} more' if ids[5:] else ''}" if ids else "it is empty"
