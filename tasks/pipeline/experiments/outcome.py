"""What the arms of an experiment came to, read from the artifacts of its finished runs."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tasks.core.config import load_params
from tasks.core.digests import digest
from tasks.core.schema import Score
from tasks.core.storage import read_jsonl
from tasks.pipeline.experiments.plan import ArmPlan, plan
from tasks.pipeline.experiments.spec import Experiment


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


def outcomes(experiment: Experiment, current: Container[str], seeds: Iterable[int] | None = None) -> list[ArmRun]:
    """Every arm with every seed that is finished, in the order of the experiment's seeds and arms; the others are left out.

    ``current`` holds the names of the runs that are up to date. Raises :class:`ArtifactError` for a file of scores that cannot be
    read.
    """
    read: dict[Path, list[Score]] = {}
    return [_outcome(row, read) for row in plan(experiment, load_params(), seeds) if is_finished(row, current)]


def is_finished(row: ArmPlan, current: Container[str]) -> bool:
    """Whether the arm was evaluated with the seed, and nothing that this builds on has changed since."""
    return all(node.name in current for node in row.nodes.values())


def scores_digest(runs: Sequence[ArmRun]) -> str:
    """Digest of all scores in whatever order: results made of the same scores need not be made again."""
    ordered = sorted(runs, key=lambda run: (run.arm, run.seed))
    return digest([[run.arm, run.seed, sorted(score.model_dump_json() for score in run.scores)] for run in ordered])[:16]


def _outcome(row: ArmPlan, read: dict[Path, list[Score]]) -> ArmRun:
    """``read`` remembers the files of scores, which many arms share."""
    if row.scores not in read:
        read[row.scores] = list(read_jsonl(row.scores, Score))
    own = [score.model_copy(update={"arm": row.arm}) for score in read[row.scores] if score.arm == row.cell]
    curves = {stage: curve for stage, curve in row.curves.items() if curve.is_file()}
    nodes = {stage: node.name for stage, node in row.nodes.items()}
    return ArmRun(row.arm, row.seed, own, row.trajectories, curves, nodes)
