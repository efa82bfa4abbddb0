"""A team's servers on one machine: PostgreSQL and an S3 object store, with Prefect and MLflow on top."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

from fusesearch.core.errors import InfrastructureError
from tests.fakes.background import Server, answers, free_port

BUCKET = "fusesearch"
PASSWORD = "only-on-this-machine"  # of a database that ends with the trial


class Team:
    """All servers, on free ports, with their data below one folder."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder = folder
        self.programs = programs
        self.ports = {name: free_port() for name in ("postgres", "s3", "prefect", "mlflow")}
        self.postgres = self._postgres()
        self.s3 = self._server(
            "s3", [str(programs / "moto_server"), "-H", "127.0.0.1", "-p", str(self.ports["s3"])], "/moto-api/"
        )
        self.prefect = self._server("prefect", [sys.executable, "-m", "prefect", "server", "start", *self._at("prefect")],
                                    "/api/health", self._prefect_settings())  # fmt: skip
        self.mlflow = self._server("mlflow", [sys.executable, "-m", "mlflow", "server", "--workers", "1", *self._at("mlflow"),
                                   "--artifacts-destination", f"s3://{BUCKET}/mlflow"], "/health",
                                   self._mlflow_settings())  # fmt: skip
        self.all = [self.postgres, self.s3, self.prefect, self.mlflow]

    def url(self, name: str) -> str:
        """The address of a server."""
        return f"http://127.0.0.1:{self.ports[name]}"

    def database(self, name: str, driver: str = "postgresql") -> str:
        """The address of a database."""
        return f"{driver}://fusesearch:{PASSWORD}@127.0.0.1:{self.ports['postgres']}/{name}"

    @property
    def s3_settings(self) -> dict[str, str]:
        """Settings of the object store's clients: MLflow's server and DVC."""
        keys = {"AWS_ACCESS_KEY_ID": "team", "AWS_SECRET_ACCESS_KEY": PASSWORD, "AWS_DEFAULT_REGION": "us-east-1"}
        return {**keys, "MLFLOW_S3_ENDPOINT_URL": self.url("s3"), "AWS_EC2_METADATA_DISABLED": "true"}

    @property
    def client_settings(self) -> dict[str, str]:
        """Settings of everybody in the team."""
        return {"PREFECT_API_URL": f"{self.url('prefect')}/api", "MLFLOW_TRACKING_URI": self.url("mlflow"), **self.s3_settings}

    def prepare(self) -> None:
        """Make databases and bucket, once the first two servers run."""
        for name in ("prefect", "mlflow"):
            self.sql("postgres", f"CREATE DATABASE {name} OWNER fusesearch")
        httpx.put(f"{self.url('s3')}/{BUCKET}", timeout=30, trust_env=False).raise_for_status()

    def sql(self, database: str, query: str) -> list[str]:
        """Rows printed by PostgreSQL's own client."""
        psql = [str(self._bin / "psql"), "-X", "-A", "-t", "-d", self.database(database), "-c", query]
        done = subprocess.run(psql, capture_output=True, text=True, check=False)
        if done.returncode:
            raise InfrastructureError(f"psql: {done.stderr.strip()[:300]}")
        return done.stdout.splitlines()

    def stop(self) -> None:
        """Stop all, PostgreSQL last."""
        for server in reversed(self.all):
            server.stop(signal.SIGINT if server is self.postgres else signal.SIGTERM)

    @property
    def _bin(self) -> Path:
        """The folder of PostgreSQL's programs: ``PG_BIN``, else that of a distribution's packages."""
        given = [Path(os.environ["PG_BIN"])] if "PG_BIN" in os.environ else []
        for folder in [*given, *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]:
            if (folder / "initdb").exists():
                return folder
        raise InfrastructureError("PostgreSQL was not found: install it with its contrib modules, or set PG_BIN to its programs")

    def _postgres(self) -> Server:
        """A new cluster. For root it runs as nobody, because PostgreSQL refuses to run as root."""
        user = "nobody" if os.geteuid() == 0 else None
        data, secret = self.folder / "postgres", self.folder / "password"
        data.mkdir()
        secret.write_text(PASSWORD)
        if user:
            for path in (data, secret):
                shutil.chown(path, user)
        initdb = [str(self._bin / "initdb"), "-D", str(data), "-U", "fusesearch", "-A", "scram-sha-256", f"--pwfile={secret}"]
        done = subprocess.run(initdb, user=user, capture_output=True, text=True, check=False)
        if done.returncode:
            raise InfrastructureError(f"initdb: {done.stderr.strip()[:300]}")
        port = str(self.ports["postgres"])
        command = [str(self._bin / "postgres"), "-D", str(data), "-p", port, "-c", "listen_addresses=127.0.0.1", "-k", str(data)]
        return Server("postgres", command, self._accepts, self.folder / "postgres.log", user=user)

    def _accepts(self) -> bool:
        try:
            return self.sql("postgres", "SELECT 1") == ["1"]
        except InfrastructureError:
            return False

    def _server(self, name: str, command: list[str], health: str, settings: Mapping[str, str] | None = None) -> Server:
        return Server(name, command, answers(self.url(name) + health), self.folder / f"{name}.log", settings or {})

    def _at(self, name: str) -> list[str]:
        return ["--host", "127.0.0.1", "--port", str(self.ports[name])]

    def _mlflow_settings(self) -> dict[str, str]:
        return {"MLFLOW_BACKEND_STORE_URI": self.database("mlflow", "postgresql+psycopg2"), **self.s3_settings}

    def _prefect_settings(self) -> dict[str, str]:
        return {
            "PREFECT_HOME": str(self.folder / "prefect"),
            "PREFECT_API_DATABASE_CONNECTION_URL": self.database("prefect", "postgresql+asyncpg"),
            "PREFECT_SERVER_UI_API_URL": f"{self.url('prefect')}/api",
            "PREFECT_SERVER_DATABASE_TIMEOUT": "120",
            "PREFECT_SERVER_DATABASE_CONNECTION_TIMEOUT": "60",
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_API_URL": "",
        }


@contextmanager
def running(folder: Path, programs: Path) -> Iterator[tuple[Team, dict[str, float]]]:
    """A team's servers, started in order, and the seconds each took to answer."""
    team = Team(folder, programs)
    seconds = {}
    try:
        for server in (team.postgres, team.s3):
            seconds[server.name] = server.start()
        team.prepare()
        for server in (team.prefect, team.mlflow):
            server.begin()
        for server in (team.prefect, team.mlflow):
            seconds[server.name] = server.wait()
        yield team, seconds
    finally:
        team.stop()
