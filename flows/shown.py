"""What a stage shows in Prefect when it is done: its figures with a link to its run in MLflow, and the funnel of the data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.logging import get_run_logger

from tasks.core.errors import ArtifactError
from tasks.core.overrides import flatten
from tasks.core.storage import read_json
from tasks.pipeline.places import Places
from tasks.pipeline.tracking import Run, tracking_uri
from tasks.pipeline.tracking.outbox import OUTBOX, REFUSED
from tasks.pipeline.tracking.store import is_server, reachable, shown

FUNNEL = (
    ("mine", "pairs", "pairs of issue and patch"),
    ("filter", "instances", "instances that passed the rules"),
    ("split", "sft_instances", "instances for the teacher"),
    ("synthesize", "candidates", "candidate trajectories"),
    ("select", "selected", "trajectories to learn from"),
)
"""Stage, figure and words of each step from what was mined to what is learned from."""


def show_metrics(stage: str, name: str, metrics: Mapping[str, Any], run: Run) -> None:
    """A Markdown artifact: the figures of a stage or of a node of it, and where its run is in MLflow."""
    rows = [f"| {key} | {_figure(value)} |" for key, value in flatten(dict(metrics)).items()]
    try:
        page = "\n".join([_link(run), "", "| figure | value |", "|---|---|", *rows])
        create_markdown_artifact(page, key=f"{stage.replace('_', '-')}-metrics", description=f"Figures of {name}")
    except Exception as error:  # a page that cannot be shown is no reason to lose the stage's work
        get_run_logger().warning("the figures could not be shown in Prefect: %s", error)


def _link(run: Run) -> str:
    if not run.run_id and run.outbox.waits:
        return "Its run in MLflow is to come: the store has not taken it yet."
    if not run.run_id:
        return f"MLflow refused its run: the log says why, and `{OUTBOX / REFUSED}` has what was to be recorded."
    return f"[The run in MLflow]({run_page(run)})"


def run_page(run: Run) -> str:
    """The address of a run in MLflow's pages, without a password."""
    uri = tracking_uri()
    base = shown(uri) if is_server(uri) else "http://127.0.0.1:5000"
    with reachable(uri):
        experiment = run.client.get_run(run.run_id).info.experiment_id
    return f"{base.rstrip('/')}/#/experiments/{experiment}/runs/{run.run_id}"


def show_funnel(places: Places, selected: Mapping[str, Any]) -> None:
    """A table artifact: what was left after each stage, as far as they have run; ``selected`` are the figures of select."""
    create_table_artifact(table=funnel(places, selected), key="funnel", description="From mined pairs to what is learned from")


def funnel(places: Places, selected: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of stage, count and what is counted."""
    figures = {stage: selected if stage == "select" else _figures(places.metrics(stage)) for stage, _, _ in FUNNEL}
    return [{"stage": stage, "left": figures[stage][key], "what": words} for stage, key, words in FUNNEL if key in figures[stage]]


def _figures(path: Path) -> dict[str, Any]:
    try:
        return dict(read_json(path))
    except ArtifactError:
        return {}


def _figure(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
