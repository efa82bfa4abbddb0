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
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

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
WATCH_SECONDS = 5.0
PORT_SECONDS = 15.0
"""How long a restart waits for its port: flows know the old address, and a killed server's threads hold the port a while."""
RECORD = STATE / "prefect.json"
LOG = STATE / "prefect.log"


@contextmanager
def prefect_server() -> Iterator[str]:
    """Within the block flows report to the server of ``PREFECT_API_URL``, or to the project's own. Yields the API's address.

    Restarts the project's own server, at the same address, if it dies meanwhile.

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
    done = threading.Event()
    keeper = threading.Thread(target=_keep, args=(done,), name="keep-prefect", daemon=True)
    url = f"{ensure()}/api"
    keeper.start()
    try:
        with temporary_settings(updates={PREFECT_API_URL: url}):
            yield url
    finally:
        done.set()
        keeper.join(timeout=WATCH_SECONDS)


def named_server() -> str | None:
    """The server that the user chose instead of the project's own."""
    from prefect.settings import PREFECT_API_URL

    url, record = PREFECT_API_URL.value(), _record()
    own = url and record and url.rstrip("/") == f"{record['url']}/api" and _is_alive(record)
    return None if own else url


def ensure() -> str:
    """Start the project's server unless it runs, and return its address once it answers. Safe for concurrent processes.

    Raises :class:`TrackingUnavailable` if it ended, or did not answer in time.
    """
    with _alone():
        return _answering(_record())


def _alone() -> FileLock:
    """Nobody else starts or stops the server while it is held."""
    STATE.mkdir(parents=True, exist_ok=True)
    return FileLock(STATE / "prefect.lock")


def _answering(record: dict[str, Any] | None) -> str:
    if not record or not _is_alive(record):
        record = _start(urlsplit(record["url"]).port if record else None)
    end = time.monotonic() + START_SECONDS
    while _status(f"{record['url']}/api/health") != 200:
        if not _is_alive(record):
            raise TrackingUnavailable(f"the Prefect server ended: see {LOG}")
        if time.monotonic() > end:
            raise TrackingUnavailable(f"the Prefect server did not answer within {START_SECONDS:g} s: see {LOG}")
        time.sleep(0.2)
    return str(record["url"])


def running() -> str | None:
    """The address of the project's server if it answers."""
    record = _record()
    alive = record and _is_alive(record) and _status(f"{record['url']}/api/health") == 200
    return str(record["url"]) if record and alive else None


def stop() -> bool:
    """Stop the project's server. False if none was running."""
    with _alone():
        record = _record()
        RECORD.unlink(missing_ok=True)
        if record is None or not _is_alive(record):
            return False
        os.killpg(record["pid"], signal.SIGTERM)
        try:
            psutil.Process(record["pid"]).wait(timeout=20)
        except psutil.NoSuchProcess:
            pass
        except psutil.TimeoutExpired:
            os.killpg(record["pid"], signal.SIGKILL)
        return True


def _keep(done: threading.Event) -> None:
    """Restart the recorded server when its process is gone. A stopped server has no record and stays stopped."""
    while not done.wait(WATCH_SECONDS):
        # the loop tries again; the flow itself reports a missing server
        with suppress(TrackingUnavailable), _alone():  # or one that is being stopped would be started again
            if (record := _record()) and not _is_alive(record):
                _answering(record)


def _start(port: int | None) -> dict[str, Any]:
    url = f"http://127.0.0.1:{_free_port(port or PORT, PORT_SECONDS if port else 0.0)}"
    settings = {
        "PREFECT_HOME": str((STATE / "prefect").resolve()),  # the project's own database
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_API_URL": "",
        "PREFECT_SERVER_UI_API_URL": f"{url}/api",  # otherwise its pages ask the server at port 4200
        "PREFECT_SERVER_DATABASE_TIMEOUT": "60",  # seconds to wait for SQLite's lock; 10 are not enough on a busy machine
        # Prefect 3.7 keeps leases of concurrency slots in memory: a restart of the server would end a run that has one
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    }
    command = [*COMMAND, "--host", "127.0.0.1", "--port", str(urlsplit(url).port)]
    with LOG.open("ab") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env={**os.environ, **settings}
        )
    record = {"pid": process.pid, "url": url}
    write_json(RECORD, record)
    return record


def _record() -> dict[str, Any] | None:
    try:
        return read_json(RECORD)
    except ArtifactError:
        return None


def _is_alive(record: dict[str, Any]) -> bool:
    """Whether the recorded process runs and is a Prefect server: process ids are reused."""
    try:
        process = psutil.Process(record["pid"])
        return process.status() != psutil.STATUS_ZOMBIE and {"prefect", "server"} <= set(process.cmdline())
    except (psutil.Error, KeyError):
        return False


def _status(url: str, seconds: float = 2) -> int:
    """The HTTP status, or 0 without an answer."""
    try:
        return httpx.get(url, timeout=seconds, trust_env="127.0.0.1" not in url).status_code
    except httpx.HTTPError:
        return 0


def _free_port(preferred: int, seconds: float) -> int:
    """The preferred port if it is free within the seconds, or any other."""
    end = time.monotonic() + seconds
    while True:
        late = time.monotonic() >= end
        for port in (preferred, 0) if late else (preferred,):
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                with suppress(OSError):
                    probe.bind(("127.0.0.1", port))
                    return int(probe.getsockname()[1])
        if late:
            raise TrackingUnavailable("no free port on 127.0.0.1")
        time.sleep(0.2)


def main(action: str = "status") -> None:
    """Run ``start``, ``stop`` or ``status``; ``start`` and ``status`` print the address of the API."""
    if action == "start":
        print(named_server() or f"{ensure()}/api")
    elif action == "stop":
        print("stopped" if stop() else "was not running")
    elif action == "status":
        url = running()
        print(named_server() or (f"{url}/api" if url else "not running"))
    else:
        raise SystemExit("usage: python -m flows.server start|stop|status")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:2])
    except FusesearchError as error:
        sys.exit(f"error: {error}")
