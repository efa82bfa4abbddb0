"""An experiment in MLflow: a parent run with question and verdict, and a child run per arm and seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from fusesearch.core.config import Params
from fusesearch.core.digests import digest
from fusesearch.core.errors import ConfigError
from fusesearch.core.text import safe_name
from fusesearch.evaluation.metrics import aggregate
from fusesearch.evaluation.results import SCORES
from fusesearch.reporting.experiment.results import RESULTS, Results, read_results
from tasks.experiments.outcome import ArmRun
from tasks.experiments.spec import Experiment
from tasks.running.places import NODES, RESULT_FILES, Places
from tasks.running.record import RunRecord, digests, git, revision, write_record
from tasks.tracking import track


def track_experiment(experiment: Experiment, runs: Sequence[ArmRun], results: Results, params: Params) -> None:
    """Record the finished runs of an experiment, and mark those behind the newest ``results`` as current.

    ``params`` are the main pipeline's, which arms change.
    """
    key = _key(experiment, params.profile)
    arms = [arm_record(experiment, run, params, key) for run in runs]
    files = [path for name in RESULT_FILES if (path := experiment.folder / name).exists()]
    current = [arm.key for arm in arms]
    parent = _parent_record(experiment, results, params.profile, {}, current=current, outputs=digests(files), **revision())
    for row in (parent, *arms):
        write_record(row)
    for row in (*arms, parent):
        track(row)


def committed_records(experiment: Experiment, params: Params) -> list[RunRecord]:
    """The experiment and its arms as its committed results have them, for a checkout that has run nothing; empty without results.

    They are tagged ``committed``, with the revision that made them and the time of its commit.
    """
    if not (experiment.folder / RESULTS).exists():
        return []
    results = read_results(experiment.folder)
    revised = results.revision.removesuffix("+changes")
    when = float(git("log", "-1", "--format=%ct", "--", str(experiment.folder / RESULTS)) or 0)
    about: dict[str, Any] = {
        "started": when, "git_revision": revised, "dirty": revised != results.revision, "dvc_revision": results.dvc_revision,
    }  # fmt: skip
    key = _key(experiment, results.profile)
    arms = [
        RunRecord(
            kind="arm", name=f"{arm.label} seed {seed}", experiment=experiment.name, arm=arm.name, seed=seed,
            profile=results.profile, stage=experiment.arms[arm.name].checkpoint,
            params={"arm": arm.name, "seed": seed, **_varied_then(experiment, arm.name, seed, params)},
            metrics={name: figure.by_seed[seed] for name, figure in arm.figures.items() if seed in figure.by_seed},
            tags={"label": arm.label, "committed": "true"}, parent=key,
            key=digest(key, "committed", results.inputs, arm.name, seed)[:32], **about,
        )
        for arm in results.arms for seed in arm.seeds
    ]  # fmt: skip
    return [_parent_record(experiment, results, results.profile, {"committed": "true"}, **about), *arms]


def _key(experiment: Experiment, profile: str) -> str:
    return digest("experiment", experiment.name, profile)[:32]


def _parent_record(experiment: Experiment, results: Results, profile: str, tags: Mapping[str, str], **more: Any) -> RunRecord:
    claims = "\n".join(f"- {claim.sentence}" for claim in results.claims)
    description = [experiment.question, f"**Hypothesis.** {experiment.hypothesis.strip()}", results.summary, claims]
    return RunRecord(
        kind="experiment", key=_key(experiment, profile), name=experiment.title or experiment.name, experiment=experiment.name,
        profile=profile, params=experiment.set, description="\n\n".join(filter(None, description)),
        metrics={f"{row.metric}/{safe_name(row.better)} - {safe_name(row.than)}": row.estimate for row in results.claims},
        tags={"verdict": results.summary[:5000], **tags}, **more,
    )  # fmt: skip


def _varied_then(experiment: Experiment, arm: str, seed: int, params: Params) -> dict[str, Any]:
    """As :func:`varied`; what the arm sets, where a finished experiment sets params that are gone."""
    try:
        return varied(experiment, arm, seed, params)
    except ConfigError:
        return {**experiment.set, **experiment.arms[arm].set}


def arm_record(experiment: Experiment, run: ArmRun, params: Params, parent: str) -> RunRecord:
    """The record of one arm with one seed. The key follows from nodes and scores: other nodes or scores make a new run."""
    checkpoint, label = experiment.arms[run.arm].checkpoint, experiment.label(run.arm) or run.arm
    nodes = {f"node.{name}": node for name, node in run.nodes.items()}
    scores = [row.model_dump(mode="json") for row in run.scores]
    outputs = [run.trajectories.parents[2] / SCORES, *run.curves.values()]
    return RunRecord(
        kind="arm", name=f"{label} seed {run.seed}", experiment=experiment.name, arm=run.arm, seed=run.seed,
        profile=params.profile, stage=checkpoint, parent=parent,
        params={"arm": run.arm, "seed": run.seed, "checkpoint": checkpoint, **varied(experiment, run.arm, run.seed, params)},
        inputs=digests(held_out(run)), outputs=digests(outputs), metrics=aggregate(run.scores),
        tags={"label": label, "evaluated": run.trajectories.parent.name, **nodes},
        key=digest(parent, run.arm, run.seed, dict(run.nodes), scores)[:32], **revision(),
    )  # fmt: skip


def varied(experiment: Experiment, arm: str, seed: int, params: Params) -> dict[str, Any]:
    """This arm's values of all params that any arm sets: an arm that leaves a param alone is what the others compare with."""
    here = experiment.params(params, arm, seed)
    keys = {*experiment.set, *(key for arm in experiment.arms.values() for key in arm.set)}
    return {key: to_jsonable_python(reduce(getattr, key.split("."), here)) for key in sorted(keys)}


def held_out(run: ArmRun) -> list[Path]:
    """The file of instances that a run was measured on, from its own split or the main pipeline's; empty if it is gone."""
    split = run.nodes.get("split", "split")
    path = Places({} if split == "split" else {"split": NODES / split})["split.validation"]
    return [path] if path.exists() else []
