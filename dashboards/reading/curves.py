"""Training curves of this checkout's stages and nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dashboards.reading import artifacts
from dashboards.reading.experiments import node_labels
from tasks.core.errors import FusesearchError
from tasks.pipeline.places import MAIN, NODES
from tasks.pipeline.stages import TRAINED, TRAINED_BY
from tasks.reporting.reproduction import label

ARM_OF = {stage: arm for arm, stage in TRAINED_BY.items()}
"""The arm whose colour and name a training stage of the main pipeline has."""


@dataclass(frozen=True)
class Curve:
    """Logged steps of one training run. ``name`` is unique, ``label`` for people, ``stage`` the training stage.

    ``lacks`` says what was left out, "" for nothing.
    """

    name: str
    label: str
    stage: str
    rows: Sequence[dict[str, float]]
    lacks: str = ""


def main_curves(root: Path) -> tuple[list[Curve], list[str]]:
    """Curves of the main pipeline's training stages, and a line for each that is missing or damaged."""
    found, faults = [], []
    for stage in TRAINED:
        arm = ARM_OF[stage]
        try:
            found.append(Curve(arm, f"{label(arm)} ({stage})", stage, artifacts.curve(root / MAIN[f"{stage}.curve"], stage)))
        except FusesearchError as error:
            faults.append(str(error))
    return found, faults


def node_curves(root: Path) -> list[Curve]:
    """Curves of the runs that experiments made, by the ids of their nodes; one that cannot be read is left out."""
    found, labels = [], node_labels(root)
    for path in sorted((root / NODES).glob("*/curve.csv")):
        node = path.parent.name
        try:
            rows = artifacts.curve(path, f"experiments/dvc.yaml:{node.rpartition('-')[0]}@{node}")
        except FusesearchError:
            continue
        found.append(Curve(node, labels.get(node, node), node.rpartition("-")[0], rows))
    return found
