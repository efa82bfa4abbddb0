"""Addresses in MLflow and Prefect, without importing either: a page must open at once."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from tasks.running.record import records
from tasks.tracking.store import is_server, tracking_uri, without_passwords

LOCAL_MLFLOW, LOCAL_PREFECT = "http://127.0.0.1:5000", "http://127.0.0.1:4200"


def mlflow_page() -> str:
    """MLflow's pages: the server that ``MLFLOW_TRACKING_URI`` names, or the one of ``make serve``."""
    uri = tracking_uri()
    return without_passwords(uri).rstrip("/") if is_server(uri) else LOCAL_MLFLOW


def prefect_page() -> str:
    """Prefect's pages."""
    return os.environ.get("PREFECT_API_URL", LOCAL_PREFECT).rstrip("/").removesuffix("/api")


def run_page(name: str) -> str:
    """MLflow's page of the newest run of a stage or an experiment; its front page where ``mlflow.db`` does not have the run."""
    keys = [row.key for row in records() if row.kind in ("stage", "experiment") and name in (row.stage, row.experiment)]
    store, found = Path(tracking_uri().removeprefix("sqlite:///")), None
    asked = "SELECT experiment_id, run_uuid FROM runs JOIN tags USING (run_uuid) WHERE key = 'fusesearch.key' AND value = ?"
    if keys and store.is_file():
        with suppress(sqlite3.Error), closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as database:
            found = database.execute(asked, keys[-1:]).fetchone()
    return f"{mlflow_page()}/#/experiments/{found[0]}/runs/{found[1]}" if found else mlflow_page()
