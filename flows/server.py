"""Local servers in the background: Prefect's, which every flow reports to, a worker for its deployments, MLflow's pages.

``python -m flows.server start|stop|status [prefect|mlflow|worker]``. One server of a kind per project folder, recorded in
``.fusesearch/<name>.json``, its log beside it. It outlives the command that started it, so that the stages of one
``dvc repro`` share it and its pages stay up afterwards. A Prefect server of the project's own that is killed while a flow
needs it is started again where it was. ``PREFECT_API_URL`` (environment or Prefect profile) wins: where it names another server,
none is started, and the worker asks that one. So does an address in ``MLFLOW_TRACKING_URI`` for MLflow.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psutil
from filelock import FileLock, Timeout

from tasks.core.errors import ArtifactError, FusesearchError, TrackingUnavailable
from tasks.core.storage import read_json, write_json
from tasks.pipeline.layout import STATE
from tasks.pipeline.process import birth

START_SECONDS = 300.0
"""How long a server may take to answer. Prefect's needs 10 s on two idle cores, minutes on a machine that is overloaded."""


WATCH_SECONDS = 5.0
POOL = "fusesearch"
"""The work pool whose runs the local worker carries out."""


@dataclass(frozen=True)
class Service:
    """A server this project can run: its command, the port it prefers, its health address.

    ``{port}`` in ``place``, which is added to the command, and in ``environment`` stands for the port it gets.
    """

    name: str
    command: tuple[str, ...]
    port: int
    health: str
    api: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    place: tuple[str, ...] = ("--host", "127.0.0.1", "--port", "{port}")
    start_seconds: float = START_SECONDS

    @property
    def record(self) -> Path:
        """Where process id and address of the running server are kept."""
        return STATE / f"{self.name}.json"

    @property
    def log(self) -> Path:
        """The server's output."""
        return STATE / f"{self.name}.log"


def prefect_service() -> Service:
    """Prefect's server on a database of this project, apart from the user's own."""
    environment = {
        "PREFECT_HOME": str((STATE / "prefect").resolve()),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_API_URL": "",
        "PREFECT_SERVER_UI_API_URL": "http://127.0.0.1:{port}/api",  # else its pages ask whoever is at 4200
        "PREFECT_SERVER_DATABASE_TIMEOUT": "60",  # seconds to wait for SQLite's lock; 10 are not enough on a busy machine
        # Prefect 3.7 keeps who holds a slot in memory: a run that holds one would be ended after a restart of the server
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    }
    command = (sys.executable, "-m", "prefect", "server", "start")
    return Service("prefect", command, 4200, "/api/health", "/api", environment)


def mlflow_service() -> Service:
    """MLflow's pages over the store that :mod:`tasks.pipeline.tracking` writes to."""
    from tasks.pipeline.tracking import tracking_uri

    command = (sys.executable, "-m", "mlflow", "server", "--workers", "1")
    environment = {
        "MLFLOW_BACKEND_STORE_URI": tracking_uri(),  # not in the command, which all users see: it may hold a password
        # where MLflow's own client of a database keeps files; else those of an experiment made in the pages need this server
        "MLFLOW_DEFAULT_ARTIFACT_ROOT": str(Path("mlruns").resolve()),
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # eight processes more, for judges of LLM traces
    }
    return Service("mlflow", command, 5000, "/health", environment=environment)


def worker_service(prefect: str = "") -> Service:
    """A worker that carries out the runs of deployments as processes on this machine (:mod:`flows.deployments`).

    ``prefect`` is the address of this project's server, for a worker that is to be started and asks that one.
    """
    environment = {
        "PREFECT_API_URL": _remote() or f"{prefect}{prefect_service().api}",
        "PREFECT_WORKER_WEBSERVER_HOST": "127.0.0.1",
        "PREFECT_WORKER_WEBSERVER_PORT": "{port}",
        "PREFECT_WORKER_QUERY_SECONDS": "10",
    }
    command = (sys.executable, "-m", "prefect", "worker", "start", "--pool", POOL, "--type", "process", "--with-healthcheck")
    return Service("worker", command, 8080, "/health", environment=environment, place=())


def ensure(service: Service, waiting: Callable[[float], None] = lambda seconds: None) -> str:
    """The address of the running server, once it answers; starts it if there is none. Safe for many processes at once.

    ``waiting`` is called with the seconds since the start, several times a second, until the server answers.

    Raises:
        TrackingUnavailable: the server died or did not answer in time; names its log.
    """
    STATE.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(STATE / f"{service.name}.lock", timeout=2 * service.start_seconds):
            record = _record(service)
            if record and _is_ours(service, record):  # one that is slow to answer is waited for: a second would share its store
                return _answered(service, record, waiting)
            return _start(service, waiting)
    except Timeout:
        raise TrackingUnavailable(f"another process has been starting the {service.name} server: see {service.log}") from None


def running(service: Service) -> str | None:
    """The address of the recorded server if it answers; another process may have its port since."""
    record = _record(service)
    if record and _is_ours(service, record) and _answers(record["url"] + service.health):
        return record["url"]
    return None


def stop(service: Service) -> bool:
    """Stop the recorded server and what it started. False if none was running."""
    record = _record(service)
    service.record.unlink(missing_ok=True)
    return record is not None and _end(service, record)


def _end(service: Service, record: dict[str, Any]) -> bool:
    if not _is_ours(service, record):
        return False
    os.killpg(record["pid"], signal.SIGTERM)
    try:
        psutil.Process(record["pid"]).wait(timeout=20)
    except psutil.NoSuchProcess:
        pass
    except psutil.TimeoutExpired:
        os.killpg(record["pid"], signal.SIGKILL)
    return True


@contextmanager
def prefect_server() -> Iterator[str]:
    """Within the block flows report to the server of ``PREFECT_API_URL``, or to this project's own, which is kept running."""
    from prefect.settings import PREFECT_API_URL, temporary_settings

    if url := _remote():
        _check_remote(url)
        yield url
        return
    service = prefect_service()
    url = ensure(service) + service.api
    with temporary_settings(updates={PREFECT_API_URL: url}), kept_running(service):
        yield url


@contextmanager
def kept_running(service: Service) -> Iterator[None]:
    """Within the block a thread starts the recorded server again, at its old address, when its process is gone.

    A server that was stopped by :func:`stop` stays stopped; one that only does not answer is left to itself.
    """
    done = threading.Event()

    def watch() -> None:
        while not done.wait(WATCH_SECONDS):
            record = _record(service)
            if record and not _is_ours(service, record):
                with suppress(TrackingUnavailable):  # tried again; the flow itself says what it lacks
                    ensure(service)

    thread = threading.Thread(target=watch, name=f"keep-{service.name}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(timeout=WATCH_SECONDS)


def _remote() -> str | None:
    """The server the user names, in the environment or in a Prefect profile; None if it is this project's own, running here."""
    from prefect.settings import PREFECT_API_URL

    url, service = PREFECT_API_URL.value(), prefect_service()
    record = _record(service)
    own = url and record and url.rstrip("/") == record["url"] + service.api and _is_ours(service, record)
    return None if own else url


def _check_remote(url: str) -> None:
    from tasks.pipeline.tracking.store import shown

    status = _status(url.rstrip("/") + "/health", seconds=10)
    if not 200 <= status < 500:  # to be told to sign in is an answer: Prefect's client has the headers for it
        raise TrackingUnavailable(
            f"the Prefect server at {shown(url)} does not answer: start it, or unset PREFECT_API_URL to use a local one"
        )


def _start(service: Service, waiting: Callable[[float], None]) -> str:
    port = _free_port(_recorded_port(service) or service.port)
    url = f"http://127.0.0.1:{port}"
    command = [*service.command, *(part.replace("{port}", str(port)) for part in service.place)]
    environment = {name: value.replace("{port}", str(port)) for name, value in service.environment.items()}
    with service.log.open("ab") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **environment},
        )
    record = {"pid": process.pid, "born": birth(process.pid), "url": url}
    write_json(service.record, record)
    return _answered(service, record, waiting, process)


def _answered(
    service: Service, record: dict[str, Any], waiting: Callable[[float], None], process: subprocess.Popen[bytes] | None = None
) -> str:
    """The address of the recorded server as soon as it answers; ``process`` is it, where this process has started it."""
    started = time.monotonic()
    while (seconds := time.monotonic() - started) < service.start_seconds:
        if _answers(record["url"] + service.health):
            return str(record["url"])
        if not _is_ours(service, record):
            code = f" with code {process.wait()}" if process else ""
            raise TrackingUnavailable(f"the {service.name} server ended{code}: see {service.log}")
        waiting(seconds)
        time.sleep(0.2)
    _end(service, record)  # its record stays: the next try is at the same address
    raise TrackingUnavailable(f"the {service.name} server did not answer within {service.start_seconds:g} s: see {service.log}")


def _record(service: Service) -> dict[str, Any] | None:
    try:
        record = read_json(service.record)
        return record if {"pid", "url"} <= record.keys() else None
    except ArtifactError:
        return None


def _recorded_port(service: Service) -> int | None:
    """Where the server was that is recorded, so that processes which know its address find the next one there."""
    record = _record(service)
    return urlsplit(record["url"]).port if record else None


def _is_ours(service: Service, record: dict[str, Any]) -> bool:
    """Whether the recorded process still runs, and is not a later one with the same number."""
    try:
        process = psutil.Process(record["pid"])
        return process.status() != psutil.STATUS_ZOMBIE and birth(record["pid"]) == record["born"]
    except (psutil.NoSuchProcess, KeyError):
        return False


def _answers(url: str) -> bool:
    return 200 <= _status(url) < 300


def _status(url: str, seconds: float = 2) -> int:
    """The HTTP status of what is there, 0 where nothing answers."""
    try:
        return httpx.get(url, timeout=seconds, trust_env="127.0.0.1" not in url).status_code
    except httpx.HTTPError:
        return 0


def _free_port(preferred: int) -> int:
    for port in (preferred, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return probe.getsockname()[1]
    raise TrackingUnavailable("no free port on 127.0.0.1")


def main(arguments: list[str]) -> None:
    """``start``, ``stop`` or ``status``, of the named servers or of all."""
    action, names = (arguments or ["status"])[0], arguments[1:] or list(SERVICES)
    if action not in ("start", "stop", "status") or not set(names) <= SERVICES.keys():
        raise SystemExit(f"usage: python -m flows.server start|stop|status [{'] ['.join(SERVICES)}]")
    for name in sorted(names, key=list(SERVICES).index, reverse=action == "stop"):
        print(f"{name}: {_act(action, name)}")


SERVICES: dict[str, Callable[[], Service]] = {"prefect": prefect_service, "mlflow": mlflow_service, "worker": worker_service}
"""In the order in which they are started; they are stopped in the other one."""


def _act(action: str, name: str) -> str:
    elsewhere = _elsewhere(name)
    if elsewhere and action != "stop":
        return f"{elsewhere}, by your settings"
    if action == "start":
        if name == "worker" and not _remote():
            return ensure(worker_service(ensure(prefect_service())))
        return ensure(SERVICES[name]())
    if action == "stop":
        return "stopped" if stop(SERVICES[name]()) else "was not running"
    return running(SERVICES[name]()) or "not running"


def _elsewhere(name: str) -> str | None:
    """The server that the user names instead of one of this project's."""
    from tasks.pipeline.tracking.store import is_server, shown, tracking_uri

    uri = {"prefect": _remote() or "", "mlflow": tracking_uri()}.get(name, "")
    return shown(uri) if is_server(uri) else None


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except FusesearchError as error:
        sys.exit(f"error: {error}")
