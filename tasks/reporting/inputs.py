"""What the report reads: the artifacts of the other stages, as far as they are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tasks.core.errors import ArtifactError
from tasks.core.schema import Score, Trajectory
from tasks.core.storage import read_json, read_jsonl
from tasks.pipeline import layout
from tasks.reporting import tables

PAPER_STAGES = Path("experiments/reference/fusesearch_table2_stages.csv")
GRPO_ARMS = {"sft+rl": "grpo", "rl": "grpo_from_base"}
"""Arm and the stage whose training curve is its own."""


class Candidate(NamedTuple):
    """A candidate trajectory in the plane of F1 and e, and whether selection kept it."""

    f1: float
    efficiency: float
    kept: bool


@dataclass(frozen=True)
class Inputs:
    """What the report is made of; everything but ``scores`` may be empty."""

    scores: list[Score]
    paper: list[dict[str, str]] = field(default_factory=list)
    calls_by_turn: dict[str, list[dict[str, float]]] = field(default_factory=dict)
    grpo: dict[str, list[dict[str, float]]] = field(default_factory=dict)
    sft: list[dict[str, float]] = field(default_factory=list)
    mined: dict[str, Any] = field(default_factory=dict)
    drops: dict[str, dict[str, Any]] = field(default_factory=dict)
    plane: list[Candidate] = field(default_factory=list)


def read_inputs(root: Path) -> Inputs:
    """All artifacts the report knows of, as far as they are there."""
    scores = list(read_jsonl(root / layout.SCORES, Score))
    if not scores:
        raise ArtifactError(f"{root / layout.SCORES} holds no scores: run the evaluate stage again")
    return Inputs(
        scores=scores,
        paper=tables.read_table(root / PAPER_STAGES) if (root / PAPER_STAGES).exists() else [],
        calls_by_turn={arm: _profile(root, arm) for arm in tables.by_arm(scores)},
        grpo={arm: rows for arm, stage in GRPO_ARMS.items() if (rows := read_curve(root / layout.curve_path(stage)))},
        sft=read_curve(root / layout.curve_path("sft")),
        mined=read_json(root / layout.MINE_TABLE) if (root / layout.MINE_TABLE).exists() else {},
        drops=_drops(root),
        plane=_plane(root / layout.SELECT_PLANE),
    )


def read_curve(path: Path) -> list[dict[str, float]]:
    """Logged steps of a training stage, numbers only; empty where there is no such file."""
    rows = tables.read_table(path) if path.exists() else []
    return [row for row in map(_numbers, rows) if "step" in row]


def split_drops(figures: Mapping[str, Any]) -> dict[str, Any]:
    """What each rule of split dropped, which it tells among its figures."""
    return {key.removeprefix("dropped_"): count for key, count in figures.items() if key.startswith("dropped_")}


def _drops(root: Path) -> dict[str, dict[str, Any]]:
    """What each rule dropped, by stage."""
    files = {"Filter": layout.FILTER_DROPS, "Split": layout.metrics_path("split"), "Select": layout.SELECT_DROPS}
    found = {name: read_json(root / path) for name, path in files.items() if (root / path).exists()}
    return {name: split_drops(counts) if name == "Split" else counts for name, counts in found.items()}


def _profile(root: Path, arm: str) -> list[dict[str, float]]:
    path = root / layout.TRAJECTORIES / f"{arm}.jsonl"
    return tables.calls_by_turn_index(read_jsonl(path, Trajectory)) if path.exists() else []


def _plane(path: Path) -> list[Candidate]:
    """The candidates from the table selection wrote; errored ones have no place in the plane."""
    rows = tables.read_table(path) if path.exists() else []
    try:
        return [
            Candidate(float(row["f1"]), float(row["efficiency"]), row["outcome"] == "kept")
            for row in rows
            if row["f1"] and row["efficiency"]
        ]
    except (KeyError, TypeError, ValueError):
        raise ArtifactError(f"{path} lacks f1, efficiency or outcome in a row: run the select stage again") from None


def _numbers(row: Mapping[str, Any]) -> dict[str, float]:
    """The cells of a row that are numbers."""
    found: dict[str, float] = {}
    for key, value in row.items():
        try:
            found[key] = float(value)
        except (TypeError, ValueError):
            continue
    return found
