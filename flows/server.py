"""The project's own Prefect server, started in the background by the first command that needs it.

``python -m flows.server [start|stop]``. The server outlives the command that started it, so that the stages of one
``dvc repro`` share it and its pages stay up. ``.fusesearch/prefect.json`` has its address and process, and its log is beside it.
If ``PREFECT_API_URL`` (environment or Prefect profile) names another server, flows use that server instead.

``prefect server start --background`` (3.7) does not serve here: it loses the server's log, and Ctrl-C on a stage ends the server.
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

import httpx
import psutil
from filelock import FileLock
from prefect.settings import PREFECT_API_URL, temporary_settings

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
    url = PREFECT_API_URL.value()
    if not url:
        url = f"{ensure()}/api"
    elif not 200 <= _status(f"{url.rstrip('/')}/health", seconds=10) < 500:  # "sign in" is an answer: Prefect's client can
        from tasks.tracking.store import without_passwords

        address = without_passwords(url)
        raise TrackingUnavailable(f"no Prefect server at {address}: start it, or unset PREFECT_API_URL to use a local one")
    with temporary_settings(updates={PREFECT_API_URL: url}):
        yield url


def ensure() -> str:
    """Start the project's server unless it runs, and return its address once it answers. Safe for concurrent processes.

    Raises :class:`TrackingUnavailable` if it ended, or did not answer in time.
    """
    with _alone():
        if not _process():
            _start()
        end = time.monotonic() + START_SECONDS
        url = str(read_json(RECORD)["url"])
        while _status(f"{url}/api/health") != 200:
            if not _process():
                raise TrackingUnavailable(f"the Prefect server ended: see {LOG}")
            if time.monotonic() > end:
                raise TrackingUnavailable(f"the Prefect server did not answer within {START_SECONDS:g} s: see {LOG}")
            time.sleep(0.2)
        return url


def stop() -> bool:
    """Stop the project's server. False if none was running."""
    with _alone():
        process = _process()
        if process:
            os.killpg(process.pid, signal.SIGTERM)
            if psutil.wait_procs([process], timeout=STOP_SECONDS)[1]:
                os.killpg(process.pid, signal.SIGKILL)
        RECORD.unlink(missing_ok=True)
        return bool(process)


def _alone() -> FileLock:
    """Nobody else starts or stops the server while it is held."""
    STATE.mkdir(parents=True, exist_ok=True)
    return FileLock(STATE / "prefect.lock")


def _start() -> None:
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
    write_json(RECORD, {"pid": process.pid, "url": url})


def _process() -> psutil.Process | None:
    """The recorded process if it runs and is a Prefect server: process ids are reused."""
    with suppress(ArtifactError, psutil.Error, KeyError):
        process = psutil.Process(read_json(RECORD)["pid"])
        if process.status() != psutil.STATUS_ZOMBIE and {"prefect", "server"} <= set(process.cmdline()):
            return process
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


def main(action: str = "start") -> None:
    """Start the server unless it runs and print the address of its API, or ``stop`` it."""
    if action == "stop":
        print("stopped" if stop() else "was not running")
        return
    with prefect_server() as url:
        print(url)


if __name__ == "__main__":
    parser = ArgumentParser(prog="python -m flows.server", description=__doc__)
    parser.add_argument("action", nargs="?", choices=["start", "stop"], default="start")
    try:
        main(parser.parse_args().action)
    except FusesearchError as error:
        sys.exit(f"error: {error}")
