"""Whether what the main pipeline made is of today's params: ``dvc.lock`` holds those that a stage last ran with."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from tasks.core.config import Params, overlay, parse_params
from tasks.core.errors import ConfigError
from tasks.core.overrides import nested
from tasks.core.pipeline import stage_spec

LOCK = Path("dvc.lock")


def is_current(stage: str, params: Params, root: Path = Path()) -> bool:
    """Whether the stage last ran with the values of ``params`` that it reads; also where DVC has recorded no run of it."""
    lock = root / LOCK
    recorded = _stages(lock.read_text(encoding="utf-8")).get(stage, {}).get("params", {}) if lock.exists() else {}
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


@lru_cache(maxsize=4)
def _stages(text: str) -> dict[str, Any]:
    return dict((yaml.safe_load(text) or {}).get("stages", {}))
