"""Addresses in MLflow and Prefect, without importing either: a page must open at once."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from tasks.running.record import records
from tasks.tracking.store import is_server, tracking_uri, without_passwords

LOCAL_MLFLOW, LOCAL_PREFECT = "http://127.0.0.1:5000", "http://127.0.0.1:4200"


def windows(name: str = "") -> dict[str, str]:
    """The pages of MLflow and Prefect; of a stage or an experiment by ``name``, those of its newest run, where they are known."""
    uri = tracking_uri()
    mlflow = without_passwords(uri).rstrip("/") if is_server(uri) else LOCAL_MLFLOW
    prefect = os.environ.get("PREFECT_API_URL", LOCAL_PREFECT).rstrip("/").removesuffix("/api")
    ran = [row for row in records() if name and row.kind in ("stage", "experiment") and name in (row.stage, row.experiment)]
    if ran:
        mlflow += _in_mlflow(Path(uri.removeprefix("sqlite:///")), ran[-1].key)
        flow_run = ran[-1].tags.get("prefect.flow_run")
        prefect += f"/runs/flow-run/{flow_run}" if flow_run else ""
    return {"MLflow": mlflow, "Prefect": prefect}


def _in_mlflow(store: Path, key: str) -> str:
    """The path of a run in MLflow's pages; empty if its SQLite file is missing or does not have the run."""
    asked = "SELECT experiment_id, run_uuid FROM runs JOIN tags USING (run_uuid) WHERE key = 'fusesearch.key' AND value = ?"
    if store.is_file():
        with suppress(sqlite3.Error), closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as database:
            for experiment, run in database.execute(asked, [key]):
                return f"/#/experiments/{experiment}/runs/{run}"
    return ""
