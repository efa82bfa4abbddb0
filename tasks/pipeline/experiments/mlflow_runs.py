"""What MLflow keeps of an experiment: its question and verdict on the parent run, a run per arm and seed below it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.core.config import Params
from tasks.core.overrides import flatten
from tasks.pipeline.experiments.outcome import ArmRun
from tasks.pipeline.experiments.spec import Experiment
from tasks.pipeline.layout import NODES
from tasks.pipeline.places import Places
from tasks.pipeline.tracking.experiments import arm_run, experiment_run, log_results, mark_current
from tasks.reporting.tables import slug

if TYPE_CHECKING:
    from tasks.pipeline.experiments.results import Results
    from tasks.pipeline.tracking import Run


def record(experiment: Experiment, runs: Sequence[ArmRun], results: Results, params: Params) -> None:
    """Record what is finished of an experiment; recorded again, nothing is there twice.

    Args:
        experiment: what it says of itself; the files of its results lie in its folder.
        runs: its finished runs.
        results: what they come to.
        params: those of the main pipeline, which arms differ from.

    Raises:
        TrackingUnavailable: the tracking server does not answer and never has.
    """
    with experiment_run(
        experiment.name, profile=params.profile, title=experiment.title, description=_description(experiment, results),
        values=experiment.set,
    ) as parent:  # fmt: skip
        mark_current(parent, [_record(experiment, run, parent, params) for run in runs])
        log_results(parent, experiment.folder, _differences(results), results.summary)


def _record(experiment: Experiment, run: ArmRun, parent: Run, params: Params) -> Run:
    return arm_run(
        parent, run.arm, run.seed, nodes=run.nodes, values=varied(experiment, run, params), scores=run.scores,
        trajectories=run.trajectories, curves=run.curves, inputs=held_out(run), stage=experiment.arms[run.arm].checkpoint,
        label=experiment.label(run.arm),
    )  # fmt: skip


def varied(experiment: Experiment, run: ArmRun, params: Params) -> dict[str, Any]:
    """Every param that some arm sets, as this arm has it: what one leaves alone is what the others are compared with."""
    here = flatten(experiment.params(params, run.arm, run.seed).model_dump(mode="json"))
    keys = {*experiment.set, *(key for arm in experiment.arms.values() for key in arm.set)}
    return {key: here[key] for key in sorted(keys)}


def held_out(run: ArmRun) -> list[Path]:
    """The instances that a run was measured on: the main pipeline's, or those of a split of its own; none where they are gone."""
    made = run.nodes.get("split", "split")
    path = Places({} if made == "split" else {"split": NODES / made}).split("validation")
    return [path] if path.exists() else []


def _differences(results: Results) -> dict[str, float | None]:
    """The difference that each claim is about, under a name that MLflow takes."""
    return {f"{claim.metric}/{slug(claim.better)} - {slug(claim.than)}": claim.estimate for claim in results.claims}


def _description(experiment: Experiment, results: Results) -> str:
    claims = "\n".join(f"- {claim.sentence}" for claim in results.claims)
    parts = [experiment.question, f"**Hypothesis.** {experiment.hypothesis.strip()}", results.summary, claims]
    return "\n\n".join(part for part in parts if part)
