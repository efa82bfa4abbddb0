"""SFT and GRPO: from trajectories or instances and a checkpoint to a better checkpoint and its training curve."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tasks.core.config import Grpo, Params
from tasks.core.storage import Progress, write_csv
from tasks.pipeline.layout import SNAPSHOTS
from tasks.pipeline.places import Places
from tasks.pipeline.progress import publish

Curve = Callable[[dict[str, Any]], None]
"""Takes one logged step: ``step`` and figures."""


def sft(params: Params, places: Places, scratch: Path, progress: Progress, curve: Curve) -> dict[str, Any]:
    """Fine-tune the base model on the selected trajectories into ``artifacts/sft``."""
    from tasks.training.sft import train_sft

    log = _Log(scratch / "log.jsonl", progress, curve)
    figures = train_sft(params, places.selected, scratch, on_log=log)
    return _publish("sft", places, scratch, figures)


def grpo(params: Params, places: Places, scratch: Path, progress: Progress, curve: Curve) -> dict[str, Any]:
    """Reinforce the sft checkpoint on the rl split into ``artifacts/grpo``."""
    log = _Log(scratch / "log.jsonl", progress, curve)
    return _reinforce("grpo", params, params.grpo, places.checkpoint("sft"), places, scratch, log)


def grpo_from_base(params: Params, places: Places, scratch: Path, progress: Progress, curve: Curve) -> dict[str, Any]:
    """Reinforce the base model without SFT into ``artifacts/grpo_from_base``."""
    log = _Log(scratch / "log.jsonl", progress, curve)
    return _reinforce("grpo_from_base", params, params.grpo_from_base, Path(params.model.base), places, scratch, log)


def _reinforce(
    stage: str, params: Params, section: Grpo, checkpoint: Path, places: Places, scratch: Path, log: _Log
) -> dict[str, Any]:
    from tasks.search.snapshots import SnapshotStore, instance_snapshot
    from tasks.training.grpo import train_grpo

    snapshot = partial(instance_snapshot, SnapshotStore(SNAPSHOTS), places.repos)
    figures = train_grpo(params, section, places.split("rl"), checkpoint, snapshot, scratch, on_log=log)
    return _publish(stage, places, scratch, figures)


def _publish(stage: str, places: Places, scratch: Path, figures: dict[str, Any]) -> dict[str, Any]:
    write_csv(places.curve(stage), [_without_total(row) for row in _rows(scratch / "log.jsonl")])
    publish(scratch / "checkpoint", places.checkpoint(stage))
    return figures


class _Log:
    """Hands each logged step on to progress and curve, after a resume all steps of the killed run first."""

    def __init__(self, path: Path, progress: Progress, curve: Curve) -> None:
        self.path = path
        self.progress = progress
        self.curve = curve
        self._first = True

    def __call__(self, row: dict[str, float]) -> None:
        self.progress(int(row["step"]), int(row["steps"]))
        for logged in _rows(self.path) if self._first else [row]:
            self.curve(_without_total(logged))
        self._first = False


def _without_total(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != "steps"}


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
