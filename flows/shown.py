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
from tasks.pipeline.tracking import tracking_uri
from tasks.pipeline.tracking.store import is_server, make_client, reachable, shown

FUNNEL = (
    ("mine", "pairs", "pairs of issue and patch"),
    ("filter", "instances", "instances that passed the rules"),
    ("split", "sft_instances", "instances for the teacher"),
    ("synthesize", "candidates", "candidate trajectories"),
    ("select", "selected", "trajectories to learn from"),
)
"""Stage, figure and words of each step from what was mined to what is learned from."""


def show_metrics(stage: str, name: str, metrics: Mapping[str, Any], run_id: str) -> None:
    """A Markdown artifact: the figures of a stage or of a node of it, and where its run is in MLflow; "" if it is not there."""
    rows = [f"| {key} | {_figure(value)} |" for key, value in flatten(dict(metrics)).items()]
    try:
        page = "\n".join([_link(run_id), "", "| figure | value |", "|---|---|", *rows])
        create_markdown_artifact(page, key=f"{stage.replace('_', '-')}-metrics", description=f"Figures of {name}")
    except Exception as error:  # a page that cannot be shown is no reason to lose the stage's work
        get_run_logger().warning("the figures could not be shown in Prefect: %s", error)


def _link(run_id: str) -> str:
    if not run_id:
        return "MLflow does not have its run yet: `fusesearch track` records it."
    return f"[The run in MLflow]({run_page(run_id)})"


def run_page(run_id: str) -> str:
    """The address of a run in MLflow's pages, without a password."""
    uri = tracking_uri()
    base = shown(uri) if is_server(uri) else "http://127.0.0.1:5000"
    with reachable(uri):
        experiment = make_client(uri).get_run(run_id).info.experiment_id
    return f"{base.rstrip('/')}/#/experiments/{experiment}/runs/{run_id}"


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
