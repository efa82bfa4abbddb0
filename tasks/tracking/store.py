"""The MLflow store: its address, its client, and one line for each of its errors."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from fusesearch.core.errors import FusesearchError, TrackingUnavailable
from tasks.running.places import STATE

if TYPE_CHECKING:
    from mlflow import MlflowClient

LOCK_SECONDS = 120
"""How long a process waits for another process of this working copy that is recording."""
_DENIED = re.compile(r"\b40[13]\b|UNAUTHENTICATED|PERMISSION_DENIED")
_PASSWORD = re.compile(r"(://[^\s:/@]*):(?!\d+[/?])\S*@")  # a port and a path are not a password

SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "60",
}
"""Set unless the user has set them: by default MLflow retries a server that is away for minutes."""
_QUIET = ("alembic", "mlflow.store.db.utils", "mlflow.store.workspace", "mlflow.store.model_registry")


def tracking_uri() -> str:
    """The store in use: ``MLFLOW_TRACKING_URI``, or the project's own SQLite file."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{Path('mlflow.db').resolve()}"


def without_passwords(text: str) -> str:
    """An address, or a text with addresses, without their passwords: for messages, and for files that name a store."""
    return _PASSWORD.sub(r"\1@", text)


def is_server(uri: str) -> bool:
    """Whether a store is reached over HTTP."""
    return uri.startswith(("http://", "https://"))


def answers(uri: str) -> bool:
    """Whether a store answers now: one request, without MLflow's retries. A store that is not a server always does."""
    import httpx

    if not is_server(uri):
        return True
    try:
        return httpx.get(f"{uri.rstrip('/')}/health", timeout=10).status_code < 500
    except httpx.HTTPError:
        return False


@contextmanager
def locked_client(uri: str) -> Iterator[MlflowClient]:
    """A client that only this process has: two processes that record one run at once would make it twice.

    Raises:
        TrackingUnavailable: the store is away, rejects the credentials, or failed.
    """
    if not answers(uri):
        raise TrackingUnavailable(f"the MLflow server at {without_passwords(uri)} does not answer")
    with translated_errors(uri), FileLock(STATE / "tracking.lock", timeout=LOCK_SECONDS):
        yield make_client(uri)


def make_client(uri: str) -> MlflowClient:
    """MLflow's client of a store. Raises :class:`TrackingUnavailable`."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    for name in _QUIET:  # a new SQLite store prints a hundred lines
        logging.getLogger(name).setLevel(logging.ERROR)
    with translated_errors(uri):
        from mlflow import MlflowClient
        from mlflow.store.db import utils

        utils.MAX_RETRY_COUNT = 1  # MLflow 3.17 has no setting for this; it retries a database that is away for 100 seconds
        return MlflowClient(uri)


@contextmanager
def translated_errors(uri: str) -> Iterator[None]:
    """Turn any error of MLflow into one line, without the original exception, which quotes addresses with passwords.

    Raises:
        TrackingUnavailable: the store is away, rejects the credentials, or failed.
    """
    try:
        yield
    except (FusesearchError, ModuleNotFoundError):
        raise
    except Exception as error:
        reason = without_passwords((str(error).splitlines() or [type(error).__name__])[0])[:300]
        address = without_passwords(uri)
        line = f"MLflow at {address} failed: {reason}"
        if is_server(uri) and _DENIED.search(reason):
            line = (
                f"MLflow at {address} rejects these credentials: set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, "
                f"or MLFLOW_TRACKING_TOKEN, or ask its administrator ({reason})"
            )
        raise TrackingUnavailable(line) from None
