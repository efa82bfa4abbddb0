"""Read an episode or a truth from a JSON document, JSON lines, or a Parquet table of instances."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from fusesearch.core.errors import DataError, first_fault
from fusesearch.core.schema import Trajectory, Truth
from fusesearch.core.storage import read_instances, read_text

M = TypeVar("M", bound=BaseModel)


def read_episode(path: Path, instance: str | None = None, run: int = 1) -> Trajectory:
    """The trajectory in ``path``: what ``localize --save`` wrote, or a line of a file of trajectories.

    ``instance`` chooses an instance, ``run`` (from 1) one of its episodes. Raises :class:`DataError` unless exactly one
    episode fits.
    """
    episodes = [_parsed(Trajectory, row, f"{where} is not a trajectory") for where, row in _documents(path)]
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
    """The truth of an instance: from the output of ``fusesearch truth``, JSON lines as for ``score``, or Parquet instances.

    A document without ``instance_id`` counts for any instance. Raises :class:`DataError` if the file lacks the instance.
    """
    if path.suffix == ".parquet":
        found = {row.instance_id: row.truth or Truth() for row in read_instances(path)}
    else:
        found = {str(row.get("instance_id", instance)): _truth_of(row, where) for where, row in _documents(path)}
    if instance not in found:
        raise DataError(f"{path} has no truth of {instance}; {_some(list(found))}")
    if not found[instance].files:
        raise DataError(f"{path}: the truth of {instance} names no file")
    return found[instance]


def _truth_of(row: dict[str, Any], where: str) -> Truth:
    flat = row["truth"] if isinstance(row.get("truth"), dict) else row
    if "files" not in flat:
        raise DataError(f"{where} is not a truth: `files` is missing")
    return _parsed(Truth, {name: flat[name] for name in Truth.model_fields if name in flat}, f"{where} is not a truth")


def _documents(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON objects of a file, each with its place: one, or one a line."""
    text = read_text(path)
    try:
        parts = [(str(path), json.loads(text))]
    except (ValueError, RecursionError):
        parts = [(f"{path}:{number}", line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    for where, part in parts:
        try:
            value = json.loads(part) if isinstance(part, str) else part
        except (ValueError, RecursionError) as error:
            raise DataError(f"{where}: not valid JSON ({error})") from None
        if not isinstance(value, dict):
            raise DataError(f"{where}: must be a JSON object")
        yield where, value


def _parsed(model: type[M], row: dict[str, Any], what: str) -> M:
    try:
        return model.model_validate_json(json.dumps(row))
    except ValidationError as error:
        raise DataError(f"{what}: {first_fault(error)}") from None


def _some(ids: Sequence[str]) -> str:
    """Up to five names, so that the user can copy the right one."""
    return f"it has {', '.join(ids[:5])}{f' and {len(ids) - 5} more' if ids[5:] else ''}" if ids else "it is empty"
