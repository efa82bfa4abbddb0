"""Prefect artifacts of a finished stage: its metrics, and the outputs that people look at."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact
from prefect.logging import get_run_logger

from fusesearch.core.overrides import flatten
from fusesearch.core.storage import read_json, read_text
from tasks.running.node import Job
from tasks.tracking import tracking_uri
from tasks.tracking.store import is_server, make_client, translated_errors, without_passwords


def show(job: Job, run_id: str) -> None:
    """Create the artifacts of a finished job, whose run in MLflow is ``run_id``, or "". A failure is only a warning."""
    stage, key = job.stage, job.stage.name.replace("_", "-")
    try:
        figures = flatten(job.metrics).items()
        rows = [f"| {name} | {f'{value:.4g}' if isinstance(value, float) else value} |" for name, value in figures]
        link = "MLflow does not have its run yet: `python -m flows track` records it."
        if run_id:
            link = f"[The run in MLflow]({run_page(run_id)})"
        page = "\n".join([link, "", "| figure | value |", "|---|---|", *rows])
        create_markdown_artifact(page, key=f"{key}-metrics", description=f"Figures of {job.node.name}")
        for name in stage.shows:
            _show_output(job.output(name), f"{key}-{name.replace('_', '-')}", f"{name} of {job.node.name}")
    except Exception as error:
        get_run_logger().warning("the results could not be shown in Prefect: %s", error)


def _show_output(path: Path, key: str, description: str) -> None:
    page = next(iter(sorted(path.glob("*.md"))), None) if path.is_dir() else path
    if page is not None and page.suffix == ".md":
        create_markdown_artifact(read_text(page), key=key, description=description)
    elif path.suffix == ".json":
        for name, rows in _tables(read_json(path)).items():
            create_table_artifact(table=rows, key=f"{key}-{name}".rstrip("-"), description=f"{description} {name}".rstrip())
    elif path.suffix != ".csv":
        create_link_artifact(path.resolve().as_uri(), key=key, link_text=description)


def _tables(value: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The tables in a JSON file: counts by rule form one table, and so does each mapping or list of rows inside it."""
    if all(isinstance(count, int) for count in value.values()):
        return {"": [{"rule": rule, "count": count} for rule, count in value.items()]}
    found: dict[str, list[dict[str, Any]]] = {}
    for name, rows in value.items():
        if isinstance(rows, Mapping) and all(isinstance(row, Mapping) for row in rows.values()):
            found[name] = [{name: key, **row} for key, row in rows.items()]
        elif isinstance(rows, Mapping):
            found[name] = [{"rule": rule, "count": count} for rule, count in rows.items()]
        elif isinstance(rows, list) and all(isinstance(row, Mapping) for row in rows):
            found[name] = rows
    return {name: rows for name, rows in found.items() if rows}


def run_page(run_id: str) -> str:
    """The address of a run in MLflow's UI, without a password."""
    uri = tracking_uri()
    base = without_passwords(uri) if is_server(uri) else "http://127.0.0.1:5000"
    with translated_errors(uri):
        experiment = make_client(uri).get_run(run_id).info.experiment_id
    return f"{base.rstrip('/')}/#/experiments/{experiment}/runs/{run_id}"
