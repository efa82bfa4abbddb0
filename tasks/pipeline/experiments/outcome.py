"""What the arms of an experiment came to, read from the artifacts of its finished runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tasks.core.config import Params, load_params
from tasks.core.schema import Score
from tasks.core.storage import read_jsonl
from tasks.pipeline.experiments.current import has_read_the_last, is_current
from tasks.pipeline.experiments.plan import PIPELINE, ArmPlan, plan
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


def outcomes(experiment: Experiment, seeds: Iterable[int] | None = None, root: Path = Path()) -> list[ArmRun]:
    """Every arm with every seed that is finished, in the order of the experiment's seeds and arms.

    Raises :class:`ArtifactError` for a file of scores that cannot be read; runs that are missing are left out.
    """
    read: dict[Path, list[Score]] = {}
    params = load_params(root / "params.yaml")
    plans = plan(experiment, params, seeds, root / PIPELINE)
    return [_outcome(row, root, read) for row in plans if is_finished(row, params, root)]


def is_finished(row: ArmPlan, params: Params, root: Path = Path()) -> bool:
    """Whether the arm was evaluated with the seed: its scores are published last.

    What the main pipeline made under other ``params`` than those that are there is not taken for it, nor what was made of an
    older checkpoint, or other data, than that there is now.
    """
    made = (root / row.scores).is_file() and (root / row.trajectories).is_file()
    return made and all(
        (node.id or is_current(stage, params, root)) and has_read_the_last(node.name, root) for stage, node in row.nodes.items()
    )


def _outcome(row: ArmPlan, root: Path, read: dict[Path, list[Score]]) -> ArmRun:
    """``read`` remembers the files of scores, which many arms share."""
    path = root / row.scores
    if path not in read:
        read[path] = list(read_jsonl(path, Score))
    own = [score.model_copy(update={"arm": row.arm}) for score in read[path] if score.arm == row.evaluated]
    curves = {stage: root / curve for stage, curve in row.curves.items() if (root / curve).is_file()}
    nodes = {stage: node.name for stage, node in row.nodes.items()}
    return ArmRun(row.arm, row.seed, own, root / row.trajectories, curves, nodes)
