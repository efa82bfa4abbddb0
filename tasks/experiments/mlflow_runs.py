"""An experiment in MLflow: a parent run with question and verdict, and a child run per arm and seed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import to_jsonable_python

from fusesearch.core.config import Params
from fusesearch.core.digests import digest
from fusesearch.core.text import safe_name
from fusesearch.evaluation.metrics import aggregate
from fusesearch.evaluation.results import SCORES
from tasks.experiments.outcome import ArmRun
from tasks.experiments.spec import Experiment
from tasks.running.places import NODES, RESULT_FILES, Places
from tasks.running.record import RunRecord, digests, revision, write_record
from tasks.tracking import track

if TYPE_CHECKING:
    from fusesearch.reporting.experiment.results import Results


def track_experiment(experiment: Experiment, runs: Sequence[ArmRun], results: Results, params: Params) -> None:
    """Record the finished runs of an experiment, and mark the runs behind the newest results as current.

    Args:
        experiment: its folder holds the files of the results.
        runs: its finished runs.
        results: the results of these runs.
        params: the main pipeline's params, which arms change.
    """
    key = digest("experiment", experiment.name, params.profile)[:32]
    arms = [arm_record(experiment, run, params, key) for run in runs]
    files = [path for name in RESULT_FILES if (path := experiment.folder / name).exists()]
    claims = "\n".join(f"- {claim.sentence}" for claim in results.claims)
    description = [experiment.question, f"**Hypothesis.** {experiment.hypothesis.strip()}", results.summary, claims]
    parent = RunRecord(
        kind="experiment", key=key, name=experiment.title or experiment.name, experiment=experiment.name, profile=params.profile,
        params=experiment.set, description="\n\n".join(filter(None, description)), outputs=digests(files),
        metrics={f"{row.metric}/{safe_name(row.better)} - {safe_name(row.than)}": row.estimate for row in results.claims},
        tags={"verdict": results.summary[:5000]}, current=[arm.key for arm in arms], **revision(),
    )  # fmt: skip
    for row in (parent, *arms):
        write_record(row)
    for row in (*arms, parent):
        track(row)


def arm_record(experiment: Experiment, run: ArmRun, params: Params, parent: str) -> RunRecord:
    """The record of one arm with one seed. The key follows from nodes and scores: other nodes or scores make a new run."""
    checkpoint, label = experiment.arms[run.arm].checkpoint, experiment.label(run.arm) or run.arm
    nodes = {f"node.{name}": node for name, node in run.nodes.items()}
    scores = [row.model_dump(mode="json") for row in run.scores]
    outputs = [run.trajectories.parents[2] / SCORES, *run.curves.values()]
    return RunRecord(
        kind="arm", name=f"{label} seed {run.seed}", experiment=experiment.name, arm=run.arm, seed=run.seed,
        profile=params.profile, stage=checkpoint, parent=parent,
        params={"arm": run.arm, "seed": run.seed, "checkpoint": checkpoint, **varied(experiment, run, params)},
        inputs=digests(held_out(run)), outputs=digests(outputs), metrics=aggregate(run.scores),
        tags={"label": label, "evaluated": run.trajectories.parent.name, **nodes},
        key=digest(parent, run.arm, run.seed, dict(run.nodes), scores)[:32], **revision(),
    )  # fmt: skip


def varied(experiment: Experiment, run: ArmRun, params: Params) -> dict[str, Any]:
    """This arm's values of all params that any arm sets: an arm that leaves a param alone is what the others compare with."""
    here = experiment.params(params, run.arm, run.seed)
    keys = {*experiment.set, *(key for arm in experiment.arms.values() for key in arm.set)}
    return {key: to_jsonable_python(reduce(getattr, key.split("."), here)) for key in sorted(keys)}


def held_out(run: ArmRun) -> list[Path]:
    """The file of instances that a run was measured on, from its own split or the main pipeline's; empty if it is gone."""
    split = run.nodes.get("split", "split")
    path = Places({} if split == "split" else {"split": NODES / split})["split.validation"]
    return [path] if path.exists() else []
