"""The project's own Prefect server, started in the background by the first command that needs it.

``python -m flows.server start|stop|status``. The server outlives the command that started it, so that the stages of one
``dvc repro`` share it and its pages stay up. ``.fusesearch/prefect.json`` has its address and process, and its log is beside it.
If ``PREFECT_API_URL`` (environment or Prefect profile) names another server, flows use that server instead.

``prefect server start --background`` (3.7) does not serve here: it closes the server's output, so the log is lost, and the server
stays in the terminal's process group, so Ctrl-C on a stage ends it.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx
import psutil
from filelock import FileLock

from fusesearch.core.errors import ArtifactError, FusesearchError, TrackingUnavailable
from fusesearch.core.storage import read_json, write_json
from tasks.running.places import STATE

COMMAND = (sys.executable, "-m", "prefect", "server", "start")
PORT = 4200
START_SECONDS = 300.0
"""How long the server may take to answer: 10 s on two idle cores, minutes on an overloaded machine."""
STOP_SECONDS = 20.0
RECORD = STATE / "prefect.json"
LOG = STATE / "prefect.log"


@contextmanager
def prefect_server() -> Iterator[str]:
    """Within the block flows report to the server of ``PREFECT_API_URL``, or to the project's own. Yields the API's address.

    Raises :class:`TrackingUnavailable` if no server answers.
    """
    from prefect.settings import PREFECT_API_URL, temporary_settings

    if url := named_server():
        if not 200 <= _status(f"{url.rstrip('/')}/health", seconds=10) < 500:  # "sign in" is an answer: Prefect's client can
            from tasks.tracking.store import without_passwords

            address = without_passwords(url)
            raise TrackingUnavailable(
                f"the Prefect server at {address} does not answer: start it, or unset PREFECT_API_URL to use a local one"
            )
        yield url
        return
    url = f"{ensure()}/api"
    with temporary_settings(updates={PREFECT_API_URL: url}):
        yield url


def named_server() -> str | None:
    """The server that the user chose instead of the project's own."""
    from prefect.settings import PREFECT_API_URL

    url, own = PREFECT_API_URL.value(), _running()
    return None if url and own and url.rstrip("/") == f"{own['url']}/api" else url


def ensure() -> str:
    """Start the project's server unless it runs, and return its address once it answers. Safe for concurrent processes.

    Raises :class:`TrackingUnavailable` if it ended, or did not answer in time.
    """
    with _alone():
        url = str((_running() or _start())["url"])
        end = time.monotonic() + START_SECONDS
        while _status(f"{url}/api/health") != 200:
            if not _running():
                raise TrackingUnavailable(f"the Prefect server ended: see {LOG}")
            if time.monotonic() > end:
                raise TrackingUnavailable(f"the Prefect server did not answer within {START_SECONDS:g} s: see {LOG}")
            time.sleep(0.2)
        return url


def running() -> str | None:
    """The address of the project's server if it answers."""
    own = _running()
    return str(own["url"]) if own and _status(f"{own['url']}/api/health") == 200 else None


def stop() -> bool:
    """Stop the project's server. False if none was running."""
    with _alone():
        own = _running()
        RECORD.unlink(missing_ok=True)
        if own:
            os.killpg(own["pid"], signal.SIGTERM)
            with suppress(psutil.NoSuchProcess):
                try:
                    psutil.Process(own["pid"]).wait(timeout=STOP_SECONDS)
                except psutil.TimeoutExpired:
                    os.killpg(own["pid"], signal.SIGKILL)
        return bool(own)


def _alone() -> FileLock:
    """Nobody else starts or stops the server while it is held."""
    STATE.mkdir(parents=True, exist_ok=True)
    return FileLock(STATE / "prefect.lock")


def _start() -> dict[str, Any]:
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    settings = {
        "PREFECT_HOME": str((STATE / "prefect").resolve()),  # the project's own database
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_API_URL": "",
        "PREFECT_SERVER_UI_API_URL": f"{url}/api",  # otherwise its pages ask the server at port 4200
        "PREFECT_SERVER_DATABASE_TIMEOUT": "60",  # seconds to wait for SQLite's lock; 10 are not enough on a busy machine
    }
    command = [*COMMAND, "--host", "127.0.0.1", "--port", str(port)]
    with LOG.open("ab") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env={**os.environ, **settings}
        )
    record = {"pid": process.pid, "url": url}
    write_json(RECORD, record)
    return record


def _running() -> dict[str, Any] | None:
    """The recorded process if it runs and is a Prefect server: process ids are reused."""
    with suppress(ArtifactError, psutil.Error, KeyError):
        record: dict[str, Any] = read_json(RECORD)
        process = psutil.Process(record["pid"])
        if process.status() != psutil.STATUS_ZOMBIE and {"prefect", "server"} <= set(process.cmdline()):
            return record
    return None


def _status(url: str, seconds: float = 2) -> int:
    """The HTTP status, or 0 without an answer."""
    try:
        return httpx.get(url, timeout=seconds, trust_env="127.0.0.1" not in url).status_code
    except httpx.HTTPError:
        return 0


def _free_port() -> int:
    """Prefect's usual port if it is free, or any other."""
    for port in (PORT, 0):
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    raise TrackingUnavailable("no free port on 127.0.0.1")


def main(action: str = "status") -> None:
    """Run ``start``, ``stop`` or ``status``; ``start`` and ``status`` print the address of the API."""
    if action == "start":
        print(named_server() or f"{ensure()}/api")
    elif action == "stop":
        print("stopped" if stop() else "was not running")
    else:
        url = running()
        print(named_server() or (f"{url}/api" if url else "not running"))


if __name__ == "__main__":
    parser = ArgumentParser(prog="python -m flows.server", description=__doc__)
    parser.add_argument("action", nargs="?", choices=["start", "stop", "status"], default="status")
    try:
        main(parser.parse_args().action)
    except FusesearchError as error:
        sys.exit(f"error: {error}")
