"""Artifacts as the pages need them: read once while a file stays the same; what is missing names the stage that makes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from fusesearch.core.errors import ArtifactError, FusesearchError, first_fault
from fusesearch.core.schema import Trajectory, Truth
from fusesearch.core.storage import iter_rows
from fusesearch.reporting.experiment.results import RESULTS
from tasks.running.places import EXPERIMENTS

T = TypeVar("T")
MOST_BYTES = 512 * 1024**2
"""A larger file is refused: a page would take too long to open."""

Episodes = dict[str, list[bytes]]
"""The lines of a file of trajectories by instance, in order of their runs; only what is looked at is parsed."""


def cached(path: Path, stage: str, read: Callable[[Path], T]) -> T:
    """``read(path)``, or what it returned while the file was the same.

    Raises :class:`ArtifactError` if the file is missing (naming the stage that makes it), too large, or damaged.
    """
    try:
        found = path.stat()
    except OSError:
        raise ArtifactError(f"{path} is missing: run `dvc repro {stage}`") from None
    if found.st_size > MOST_BYTES:
        raise ArtifactError(f"{path} has {found.st_size / 1e6:,.0f} MB: the dashboard reads {MOST_BYTES // 1024**2} MB at most")
    try:
        return _newest(read, path.resolve(), found.st_mtime_ns, found.st_size)
    except (FusesearchError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError) as error:
        reason = first_fault(error) if isinstance(error, ValidationError) else str(error)[:200]
        raise ArtifactError(f"{path} cannot be used ({reason}): delete it and run `dvc repro {stage}`") from None


@lru_cache(maxsize=64)
def _newest(read: Callable[[Path], Any], path: Path, changed: int, size: int) -> Any:
    return read(path)


def results_of(root: Path, name: str, read: Callable[[Path], T]) -> T:
    """What ``read`` makes of the results of one experiment. Raises :class:`ArtifactError` without any, saying what to run."""
    path = root / EXPERIMENTS / name / RESULTS
    if not path.exists():
        raise ArtifactError(f"experiments/{name}/{RESULTS} is missing: run `python -m flows experiment run {name}`")
    return cached(path, f"results-{name}", read)


def episodes(path: Path, stage: str) -> Episodes:
    """The episodes of a file of trajectories."""
    return cached(path, stage, _episodes)


def episode(line: bytes, path: Path) -> Trajectory:
    """One of :data:`Episodes`. Raises :class:`ArtifactError` if it is damaged."""
    try:
        return Trajectory.model_validate_json(line)
    except ValidationError as error:
        raise ArtifactError(f"{path}: an episode is damaged ({first_fault(error)})") from None


def truth(path: Path, instance_id: str) -> Truth | None:
    """What the patch of an instance modifies; None where no file says it."""
    with suppress(FusesearchError):
        found = cached(path, "split", _truths).get(instance_id)
        return found if found and found.files else None
    return None


def _episodes(path: Path) -> Episodes:
    found: Episodes = {}
    for line in path.read_bytes().splitlines():
        if line.strip():
            found.setdefault(str(json.loads(line)["instance_id"]), []).append(line)
    return found


def _truths(path: Path) -> dict[str, Truth]:
    if path.suffix == ".jsonl":
        return {row["instance_id"]: Truth.model_validate(row["truth"]) for row in map(json.loads, path.read_text().splitlines())}
    rows = iter_rows(path, ["instance_id", "truth"])
    return {row["instance_id"]: Truth.model_validate_json(row["truth"]) for row in rows if row["truth"]}
