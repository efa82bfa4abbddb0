"""Where models lie, and what SFT and GRPO leave: a checkpoint and its training curve, one row per logged step.

What a clock decides differs in every run. It is in a file beside the curve that is no output of the stage, so DVC hashes and
keeps the curve alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fusesearch.core.config import Params
from fusesearch.core.storage import write_csv
from fusesearch.evaluation.validation import PREFIX
from tasks.running.node import Job
from tasks.running.places import Places
from tasks.running.resume import publish
from tasks.stages import MODELS

TIMES = (
    *("step_time", "tokens_per_second", "mfu", "train_seconds", "rollout_seconds", "publish_seconds", "reload_seconds"),
    f"{PREFIX}seconds",
)
"""Columns of a training log that a clock decides."""


def checkpoint_of(name: str, params: Params, places: Places) -> Path:
    """The folder of a model: of one of :data:`~tasks.stages.MODELS`, or ``name`` itself is the folder."""
    return Path(params.model.base) if name == "base" else places[MODELS[name]] if name in MODELS else Path(name)


def times_of(curve: Path) -> Path:
    """Where the :data:`TIMES` of a training curve lie."""
    return curve.with_name("times.csv")


def publish_trained(job: Job) -> None:
    """Move checkpoint, curve and times from the job's scratch to where they belong."""
    rows, curve = [_without_total(row) for row in _rows(job.scratch / "log.jsonl")], job.output("curve")
    write_csv(curve, [{key: value for key, value in row.items() if key not in TIMES} for row in rows])
    write_csv(times_of(curve), [{key: value for key, value in row.items() if key in ("step", *TIMES)} for row in rows])
    publish(job.scratch / "checkpoint", job.output("checkpoint"))


class TrainingLog:
    """Reports each logged step to progress and curve. After a resume, reports the killed run's steps first."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._first = True

    def __call__(self, row: dict[str, float]) -> None:
        """Note one logged step."""
        self.job.progress(int(row["step"]), int(row["steps"]))
        for logged in _rows(self.job.scratch / "log.jsonl") if self._first else [row]:
            self.job.curve(_without_total(logged))
        self._first = False


def _without_total(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != "steps"}


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
