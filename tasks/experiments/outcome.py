"""What the arms of an experiment came to, read from the artifacts of its finished runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tasks.core.schema import Score


@dataclass(frozen=True)
class ArmRun:
    """One arm with one seed, trained and evaluated.

    ``trajectories`` is the JSONL file of the evaluated episodes. ``curves`` holds the training curve (CSV, a row per logged
    step) of each training stage that the arm went through, ``nodes`` the id of the run of each stage, or the name of the
    stage where the main pipeline's is used; both by stage.
    """

    arm: str
    seed: int
    scores: list[Score]
    trajectories: Path
    curves: Mapping[str, Path] = field(default_factory=dict)
    nodes: Mapping[str, str] = field(default_factory=dict)
