"""The tracking store: where it is, whether it answers, and what its errors mean."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.core.errors import ArtifactError, DataError, TrackingUnavailable
from tasks.core.storage import read_json, write_json
from tasks.pipeline.layout import STATE

if TYPE_CHECKING:
    from mlflow import MlflowClient

KNOWN = STATE / "tracking.json"
"""Stores that have answered before: one that is away now will be back, and one that never answered is a mistake."""

DENIED = (401, 403)
AWAY = (*DENIED, 408, 425, 429, 502, 503, 504)
"""Answers that say nothing of the request itself: who asks is not let in, or the store, or what stands before it, is busy."""
_SAID = re.compile(r"failed with error code (\d{3})|too many (\d{3}) error responses")
"""Where MLflow 3.17 has the status that it gives no code for, such as a proxy's 413."""
_PASSWORD = re.compile(r"(://[^\s:/@]*):[^\s/?]*@")

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


def without_passwords(text: str) -> str:
    """A text without the passwords of the addresses in it."""
    return _PASSWORD.sub(r"\1@", text)


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
    """Ask a server once, before any work.

    Raises:
        TrackingUnavailable: it lets nobody in with these credentials, or does not answer and never has.
        DataError: it is none of MLflow's.
    """
    if not is_server(uri):
        return
    known, name = _known(), shown(uri)
    try:
        if not answers(uri):
            raise TrackingUnavailable(f"the MLflow server at {name} does not answer: start it, or unset MLFLOW_TRACKING_URI")
        ask(make_client(uri), uri)
    except TrackingUnavailable as error:
        if name not in known or error.status in DENIED:
            raise
        return
    if name not in known:
        write_json(KNOWN, sorted({*known, name}))


def ask(client: MlflowClient, uri: str) -> None:
    """Ask for something that takes credentials and the database. Raises what :func:`reachable` does."""
    with reachable(uri):
        client.search_experiments(max_results=1)


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
    """Turn what MLflow raises into one clear line; not chained to it, which quotes addresses with their passwords.

    Raises:
        TrackingUnavailable: the store is away, lets nobody in, or failed; the same write may pass later.
        DataError: the store refused, and will again.
    """
    from mlflow.exceptions import MlflowException

    try:
        yield
    except (MlflowException, OSError) as error:
        status, line = _status(error), f"MLflow at {shown(uri)} failed: {_first_line(error)}"
        if status in DENIED:
            line = (
                f"MLflow at {shown(uri)} lets nobody in with these credentials: set MLFLOW_TRACKING_USERNAME and "
                f"MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN, or ask its administrator ({_first_line(error)})"
            )
        if 400 <= status < 500 and status not in AWAY:
            raise DataError(line) from None
        raise TrackingUnavailable(line, status) from None


def _status(error: Exception) -> int:
    """The HTTP status that the store gave, or that MLflow holds its own error for; 0 for none."""
    response = getattr(error, "response", None)
    if response is not None:  # of an artifact, as requests has it
        return int(response.status_code)
    if isinstance(error, OSError):
        return 0
    said = _SAID.search(str(error))
    return int(said[1] or said[2]) if said else int(error.get_http_status_code())  # type: ignore[attr-defined]


def _first_line(error: Exception) -> str:
    return without_passwords((str(error).splitlines() or [type(error).__name__])[0])[:300]
