"""The finished runs of an experiment's arms, read from their artifacts."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fusesearch.core.config import load_params
from fusesearch.core.digests import digest
from fusesearch.core.schema import Score
from fusesearch.core.storage import read_jsonl
from tasks.experiments.plan import ArmPlan, plan
from tasks.experiments.spec import Experiment


@dataclass(frozen=True)
class ArmRun:
    """One arm with one seed, trained and evaluated.

    ``trajectories`` is the JSONL file of the evaluated episodes. By stage, ``curves`` has the training curves (CSV, a row per
    logged step) and ``nodes`` the ids of the nodes, or the stage's name if the arm uses the main pipeline's run.
    """

    arm: str
    seed: int
    scores: list[Score]
    trajectories: Path
    curves: Mapping[str, Path] = field(default_factory=dict)
    nodes: Mapping[str, str] = field(default_factory=dict)


def outcomes(experiment: Experiment, current: Container[str]) -> list[ArmRun]:
    """The finished arms with their seeds, in the order of the experiment's seeds and arms.

    ``current`` holds the names of up-to-date nodes. Raises :class:`ArtifactError` for a file of scores that cannot be read.
    """
    read: dict[Path, list[Score]] = {}
    planned = plan(experiment, load_params())
    # evaluated with the seed, and nothing it builds on has changed since
    return [_outcome(row, read) for row in planned if all(node.name in current for node in row.nodes.values())]


def scores_digest(runs: Sequence[ArmRun]) -> str:
    """Digest of all scores in any order: results of the same scores need not be written again."""
    ordered = sorted(runs, key=lambda run: (run.arm, run.seed))
    return digest([[run.arm, run.seed, sorted(score.model_dump_json() for score in run.scores)] for run in ordered])[:16]


def _outcome(row: ArmPlan, read: dict[Path, list[Score]]) -> ArmRun:
    """``read`` caches the files of scores, which many arms share."""
    if row.scores not in read:
        read[row.scores] = list(read_jsonl(row.scores, Score))
    own = [score.model_copy(update={"arm": row.arm}) for score in read[row.scores] if score.arm == row.cell]
    curves = {stage: curve for stage, curve in row.curves.items() if curve.is_file()}
    nodes = {stage: node.name for stage, node in row.nodes.items()}
    return ArmRun(row.arm, row.seed, own, row.trajectories, curves, nodes)
