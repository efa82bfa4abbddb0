"""Read an episode or a truth from a JSON document, JSON lines, or a Parquet table of instances."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from fusesearch.core.errors import DataError, first_fault
from fusesearch.core.schema import Trajectory, Truth
from fusesearch.core.storage import read_instances, read_jsonl, read_text

M = TypeVar("M", bound=BaseModel)

_NAMED = 5


def read_episode(path: Path, instance: str | None = None, run: int = 1) -> Trajectory:
    """The trajectory in ``path``: what ``localize --save`` wrote, or a line of a file of trajectories.

    ``instance`` chooses an instance, ``run`` (from 1) one of its episodes. Raises :class:`DataError` unless exactly one
    episode fits.
    """
    text = read_text(path)
    if not _is_lines(text):
        episodes = [_parsed(Trajectory, text, f"{path} is not a trajectory")]
    else:
        episodes = list(read_jsonl(path, Trajectory))
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
        found = {row.instance_id: row.truth for row in read_instances(path)}
    else:
        found = dict(_truths(path, instance))
    if instance not in found:
        raise DataError(f"{path} has no truth of {instance}; {_some(list(found))}")
    truth = found[instance]
    if truth is None or not truth.files:
        raise DataError(f"{path}: the truth of {instance} names no file")
    return truth


def _truths(path: Path, instance: str) -> Iterator[tuple[str, Truth]]:
    text = read_text(path)
    lines = [line for line in text.split("\n") if line.strip()] if _is_lines(text) else [text]
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}" if len(lines) > 1 else str(path)
        value = _object(line, where)
        flat = value["truth"] if isinstance(value.get("truth"), dict) else value
        named = {name: flat[name] for name in Truth.model_fields if name in flat}
        if "files" not in named:
            raise DataError(f"{where}: not a truth: `files` is missing")
        yield str(value.get("instance_id", instance)), _parsed(Truth, json.dumps(named), f"{where}: not a truth")


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not valid JSON ({error})") from None
    if not isinstance(value, dict):
        raise DataError(f"{where}: must be a JSON object")
    return value


def _is_lines(text: str) -> bool:
    """Whether the file is JSON lines: its first line is a whole document."""
    try:
        json.loads(text.lstrip().split("\n", 1)[0])
    except (ValueError, RecursionError):
        return False
    return True


def _parsed(model: type[M], text: str, what: str) -> M:
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise DataError(f"{what}: {first_fault(error)}") from None


def _some(ids: Sequence[str]) -> str:
    """Up to five names, so that the user can copy the right one."""
    if not ids:
        return "it is empty"
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return f"it has {', '.join(islice(ids, _NAMED))}{more}"
