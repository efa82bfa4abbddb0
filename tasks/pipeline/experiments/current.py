"""Whether what was made is of today: ``dvc.lock`` holds the params that a stage last ran with, and digests of what it read."""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from tasks.core.config import Params, overlay, parse_params
from tasks.core.errors import ArtifactError, ConfigError
from tasks.core.overrides import nested
from tasks.pipeline.layout import EXPERIMENTS
from tasks.pipeline.pipeline import stage_spec

LOCK = Path("dvc.lock")
LOCKS = (LOCK, EXPERIMENTS / "dvc.lock")
"""Of the main pipeline's stages, and of the runs of experiments."""

SETTLED_SECONDS = 1.0
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def is_current(stage: str, params: Params, root: Path = Path()) -> bool:
    """Whether the stage last ran with the values of ``params`` that it reads; also where DVC has recorded no run of it."""
    recorded = _stages(root / LOCK).get(stage, {}).get("params", {})
    if "params.yaml" not in recorded:
        return True
    data: dict[str, Any] = {}
    for key, value in recorded["params.yaml"].items():
        data = overlay(data, nested(key, value))
    spec = stage_spec(stage, root / "dvc.yaml")
    try:
        return spec.values(parse_params(data)) == spec.values(params)
    except ConfigError:  # it ran with params that there are no more
        return False


def has_read_the_last(name: str, root: Path = Path()) -> bool:
    """Whether a stage, or the run of one by its id, read what the stages before it made last, and no older state of that.

    Also where DVC has recorded no run of it.
    """
    stages = {name: stage for lock in LOCKS for name, stage in _stages(root / lock).items()}
    made = {out["path"]: out.get("md5") for stage in stages.values() for out in stage.get("outs", [])}
    return all(made.get(dep["path"], dep.get("md5")) == dep.get("md5") for dep in stages.get(name, {}).get("deps", []))


def _stages(lock: Path) -> dict[str, Any]:
    if not lock.exists():
        return {}
    while abs(time.time() - (changed := lock.stat().st_mtime)) < SETTLED_SECONDS:  # DVC writes it in place
        time.sleep(SETTLED_SECONDS / 10)
    try:
        return _parsed(lock, changed)
    except yaml.YAMLError as error:
        raise ArtifactError(f"{lock} cannot be read: {' '.join(str(error).split())}") from None


@lru_cache(maxsize=4)
def _parsed(lock: Path, changed: float) -> dict[str, Any]:
    return dict((yaml.load(lock.read_text(encoding="utf-8"), _LOADER) or {}).get("stages", {}))  # noqa: S506 - a safe loader
