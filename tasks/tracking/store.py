"""The tracking store: where it is, whether it answers, and what its errors mean."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.core.errors import ArtifactError, DataError, TrackingUnavailable
from tasks.core.layout import STATE
from tasks.core.storage import read_json, write_json

if TYPE_CHECKING:
    from mlflow import MlflowClient

KNOWN = STATE / "tracking.json"
"""Stores that have answered before: one that is away now will be back, and one that never answered is a mistake."""

SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "60",
}
"""Set unless the user has: MLflow itself would ask a server that is away for minutes, with training waiting for it."""


def tracking_uri() -> str:
    """The store in use: ``MLFLOW_TRACKING_URI``, or the project's own SQLite file."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{Path('mlflow.db').resolve()}"


def shown(uri: str) -> str:
    """The address of a store without the password it may hold: for messages, and for files that name it."""
    scheme, split, rest = uri.partition("://")
    account, at, place = rest.rpartition("@")
    return f"{scheme}{split}{account.partition(':')[0]}{at}{place}"


def is_server(uri: str) -> bool:
    """Whether a store is reached over HTTP."""
    return uri.startswith(("http://", "https://"))


def answers(uri: str) -> bool:
    """Whether a store can be written to now; asked once, without MLflow's retries. One that is no server always can."""
    import httpx

    if not is_server(uri):
        return True
    try:
        return httpx.get(f"{uri.rstrip('/')}/health", timeout=10).status_code < 500
    except httpx.HTTPError:
        return False


def require(uri: str) -> None:
    """Refuse a server that does not answer and never has. Raises :class:`TrackingUnavailable`."""
    if not is_server(uri):
        return
    known, name = _known(), shown(uri)
    if answers(uri):
        if name not in known:
            write_json(KNOWN, sorted({*known, name}))
    elif name not in known:
        raise TrackingUnavailable(f"the MLflow server at {name} does not answer: start it, or unset MLFLOW_TRACKING_URI")


def _known() -> list[str]:
    try:
        return list(read_json(KNOWN))
    except (ArtifactError, TypeError):
        return []


def make_client(uri: str) -> MlflowClient:
    """MLflow's client of a store, made without asking it."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    # keep off the terminal the hundred lines that making a new SQLite store prints, and a line per registered version or thread
    names = (
        "alembic",
        *(f"mlflow.{name}" for name in ("store.db.utils", "store.workspace", "store.model_registry", "system_metrics")),
    )
    for logger in names:
        logging.getLogger(logger).setLevel(logging.WARNING)
    with reachable(uri):
        from mlflow import MlflowClient

        return MlflowClient(uri)


@contextmanager
def reachable(uri: str) -> Iterator[None]:
    """Turn what MLflow raises into one clear line.

    Raises:
        TrackingUnavailable: the store is away, or failed; the same write may pass later.
        DataError: the store refused, and will again.
    """
    from mlflow.exceptions import MlflowException

    try:
        yield
    except MlflowException as error:
        kind = DataError if error.get_http_status_code() < 500 else TrackingUnavailable
        raise kind(f"MLflow at {shown(uri)} failed: {_first_line(error)}") from error
    except OSError as error:
        raise TrackingUnavailable(f"MLflow at {shown(uri)} failed: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
