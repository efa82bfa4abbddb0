"""Runs of experiments: a parent per experiment and profile, a child per arm and seed, as MLflow's compare view wants them.

Every child stands alone: the arm's params, its figures, its training curves, its scores and a sample of its episodes. A child
is known by what it records (arm, seed, nodes, scores): recorded again, it stays as it is. When an arm's nodes or scores have
changed there is a new child. The tag ``current`` tells the children that the newest results are made of from all others.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tasks.core.digests import digest
from tasks.core.schema import Score
from tasks.pipeline.layout import RESULT_FILES
from tasks.pipeline.tracking.episodes import log_episodes
from tasks.pipeline.tracking.outbox import open_outbox
from tasks.pipeline.tracking.run import EXPERIMENT, Point, Run, create, following
from tasks.reporting.names import metric_name


@contextmanager
def experiment_run(
    name: str, *, profile: str, title: str = "", description: str = "", values: Mapping[str, Any] | None = None
) -> Iterator[Run]:
    """The parent run of an experiment in MLflow's experiment ``fusesearch/<name>``: the same one every time.

    Args:
        name: the experiment's name.
        profile: profile of its params; another profile has another parent.
        title: what it is called; the name of the run.
        description: Markdown shown on the run's page, such as question and hypothesis.
        values: flat params common to all arms.

    Raises:
        TrackingUnavailable: the tracking server does not answer and never has.
    """
    outbox = open_outbox()
    try:
        tags = {"kind": "experiment", "experiment": name, "profile": profile}
        key = digest("experiment", name, profile)[:32]
        run = create(outbox, title or name, tags, experiment=f"{EXPERIMENT}/{name}", key=key)
        with following(run):
            run.log_params(values or {})
            if description:
                run.describe(description)
            yield run
    finally:
        outbox.settle()


def arm_run(
    parent: Run,
    arm: str,
    seed: int,
    *,
    nodes: Mapping[str, str],
    values: Mapping[str, Any],
    scores: Sequence[Score],
    trajectories: Path | None = None,
    curves: Mapping[str, Path] | None = None,
    inputs: Iterable[Path] = (),
    stage: str = "evaluate",
    label: str = "",
) -> Run:
    """Record one arm with one seed below its experiment; a second recording of the same changes nothing.

    Args:
        parent: what :func:`experiment_run` gave.
        arm: the arm's name, as the table has it.
        seed: its seed.
        nodes: by stage, the id of the node it was made by, or the stage's name where it is the main pipeline's.
        values: flat params in which arms differ, as this arm has them.
        scores: its scores; the figures of :data:`METRICS` are made of them.
        trajectories: its episodes as JSON lines, of which a few are kept as pages.
        curves: training curves as CSV with a column ``step``, by the stage that made them; logged as ``<stage>/<column>``.
        inputs: datasets it was measured on.
        stage: the checkpoint that was measured.
        label: how tables call the arm.
    """
    name = parent.tags["experiment"]
    key = digest(parent.key, arm, seed, dict(nodes), [row.model_dump(mode="json") for row in scores])[:32]
    made_by = {f"node.{step}": node for step, node in nodes.items()}
    tags = {"arm": arm, "seed": str(seed), "stage": stage, "label": label or arm}
    marks = {"kind": "arm", "experiment": name, **tags, **made_by}
    run = create(parent.outbox, f"{label or arm} seed {seed}", marks, parent=parent, key=key, once=True)
    if run.complete:
        return run
    with following(run):
        run.log_params({"arm": arm, "seed": seed, "checkpoint": stage, **values})
        run.log_inputs(inputs)
        log_episodes(run, scores, trajectories)
        for source, path in (curves or {}).items():
            run.log_points(curve_points(source, path))
    return run


def mark_current(parent: Run, arms: Iterable[Run]) -> None:
    """Tag what :func:`arm_run` gave for the newest results as current, and every other run below the experiment as not.

    Others are those of arms or seeds that are no more, and of params that have changed since.
    """
    parent.write("current", keys=[run.key for run in arms])


def log_results(parent: Run, folder: Path, figures: Mapping[str, Any], verdict: str = "") -> None:
    """Keep what an experiment's results stage wrote with its parent: tables, plots, and the sentences of its verdict."""
    for path in (folder / name for name in RESULT_FILES):
        if path.exists():
            parent.log_file(path)
    parent.log(figures)
    if verdict:
        parent.set_tags({"verdict": verdict[:5000]})


def curve_points(source: str, path: Path) -> Iterator[Point]:
    """The figures of a training curve as ``<source>/<column>`` at their steps; cells without a number are left out."""
    with path.open(encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle):
            step = int(float(row["step"]))
            for name, cell in row.items():
                value = _number(cell)
                if name not in ("step", "steps", "epoch") and value is not None:
                    yield metric_name(f"{source}/{name}"), step, value


def _number(cell: str | None) -> float | None:
    try:
        return float(cell) if cell else None
    except ValueError:
        return None
