"""Training curves: of this checkout's stages and nodes, and of runs in MLflow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dashboards.reading import artifacts
from tasks.core import layout
from tasks.core.errors import FusesearchError
from tasks.evaluation.tables import ARMS

ARM_OF = {"sft": "sft", "grpo": "sft+rl", "grpo_from_base": "rl"}
"""The arm whose colour and name a training stage of the main pipeline has."""


@dataclass(frozen=True)
class Curve:
    """Logged steps of one training run. ``name`` is unique, ``label`` for people, ``stage`` the training stage."""

    name: str
    label: str
    stage: str
    rows: Sequence[dict[str, float]]


def main_curves(root: Path) -> list[Curve]:
    """Curves of the main pipeline's training stages that are there."""
    found = []
    for stage in layout.TRAINED:
        path = root / layout.curve_path(stage)
        if path.exists():
            arm = ARM_OF[stage]
            found.append(Curve(arm, f"{ARMS[arm]} ({stage})", stage, artifacts.curve(path, stage)))
    return found


def node_curves(root: Path) -> list[Curve]:
    """Curves of the runs that experiments made, by the ids of their nodes; one that cannot be read is left out."""
    found = []
    for path in sorted((root / layout.ARTIFACTS / "nodes").glob("*/curve.csv")):
        node = path.parent.name
        try:
            rows = artifacts.curve(path, node)
        except FusesearchError:
            continue
        found.append(Curve(node, node, node.rpartition("-")[0], rows))
    return found
