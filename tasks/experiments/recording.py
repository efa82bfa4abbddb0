"""What MLflow keeps of an experiment: its question and verdict on the parent run, a run per arm and seed below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.core.layout import split_path
from tasks.experiments.outcome import ArmRun
from tasks.experiments.spec import Experiment
from tasks.tracking.experiments import arm_run, experiment_run, log_results


def record(
    experiment: Experiment,
    runs: Sequence[ArmRun],
    *,
    profile: str,
    verdict: str = "",
    figures: Mapping[str, Any] | None = None,
    folder: Path | None = None,
) -> None:
    """Record what is finished of an experiment; recorded again, nothing is there twice.

    Args:
        experiment: what it says of itself.
        runs: its finished runs.
        profile: profile of the params it ran under.
        verdict: the sentences that its results come to.
        figures: figures of the whole experiment, such as differences between arms.
        folder: where its results are written; kept with the parent if they are there.

    Raises:
        TrackingUnavailable: the tracking server does not answer and never has.
    """
    common = {key: str(value) for key, value in experiment.set.items()}
    held_out = [path for path in [split_path("validation")] if path.exists()]
    with experiment_run(
        experiment.name, profile=profile, title=experiment.title, description=_description(experiment, verdict), values=common
    ) as parent:
        for run in runs:
            arm = experiment.arms[run.arm]
            arm_run(
                parent, run.arm, run.seed, nodes=run.nodes, values={**experiment.set, **arm.set}, scores=run.scores,
                trajectories=run.trajectories, curves=run.curves, inputs=held_out, stage=arm.checkpoint,
                label=experiment.label(run.arm),
            )  # fmt: skip
        if folder is not None and folder.is_dir():
            log_results(parent, folder, figures or {}, verdict)


def _description(experiment: Experiment, verdict: str) -> str:
    parts = [f"# {experiment.title}", experiment.question, f"**Hypothesis.** {experiment.hypothesis}", verdict]
    return "\n\n".join(part.strip() for part in parts if part.strip())
