"""A real MLflow server that is killed: stages end well, and `python -m flows track` records what it missed, once."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from flows.__main__ import app
from fusesearch.core.config import Params
from tasks.running.record import digests, reproduction_record, stage_record, write_record
from tasks.tracking import EXPERIMENT, Live, track
from tasks.tracking.store import make_client
from tests.fakes.waiting import wait_for

pytestmark = pytest.mark.rare


class Server:
    """An MLflow server that can be killed and started again on the same port and store."""

    def __init__(self, folder):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.folder = folder
        self.process = None

    def start(self):
        store = ["--backend-store-uri", f"sqlite:///{self.folder}/server.db", "--artifacts-destination", f"{self.folder}/files"]
        command = [sys.executable, "-m", "mlflow", "server", "--workers", "1", "--port", str(self.port), *store]
        with (self.folder / "server.log").open("ab") as log:
            environment = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, env=environment)
        while not self.answers():
            assert self.process.poll() is None, (self.folder / "server.log").read_text()
            time.sleep(0.2)

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def answers(self):
        try:
            return httpx.get(f"{self.url}/health", timeout=2, trust_env=False).is_success
        except httpx.HTTPError:
            return False


def test_what_a_killed_server_missed_is_recorded_when_it_is_back(tmp_path_factory, tmp_path, monkeypatch, caplog):
    server = Server(tmp_path_factory.mktemp("server"))
    server.start()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.url)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    try:
        parent = reproduction_record(Params())
        write_record(parent)
        run = stage("grpo", parent)
        client = make_client(server.url)
        with Live(run) as live:
            live.log({"step": 1, "reward": 0.1})
            wait_for(lambda: points(client), words="the live run has ended or never came")
            server.kill()
            live.log({"step": 2, "reward": 0.2})
            live.log({"step": 3, "reward": 0.3})
        finish(run, "reward", (1, 0.1), (2, 0.2), (3, 0.3))
        assert [row.getMessage() for row in caplog.records if row.name.startswith("tasks")] == [
            f"the MLflow server at {server.url} does not answer: grpo is not recorded yet; `python -m flows track` does it later"
        ]
        with Live(other := stage("sft", parent)) as live:  # begins and ends while the server is away
            live.log({"step": 1, "loss": 2.0})
        finish(other, "loss", (1, 2.0))
        said = CliRunner().invoke(app, ["track"])
        assert (said.exit_code, said.stderr) == (1, f"fusesearch: the MLflow server at {server.url} does not answer\n")

        server.start()
        said = CliRunner().invoke(app, ["track"])
        assert (said.exit_code, said.stdout) == (0, f"3 of 3 runs recorded in {server.url}, 0 were there\n")
        found = {run.info.run_name: run for run in runs(client)}
        assert len(runs(client)) == 3
        assert {run.info.status for run in found.values()} == {"FINISHED"}
        assert sorted(points(client)) == [1, 2, 3]  # the store promises no order
        assert found["sft"].data.metrics["loss"] == 2.0
        assert [row.path for row in client.list_artifacts(found["sft"].info.run_id)] == ["note.md"]
        assert CliRunner().invoke(app, ["track"]).stdout.startswith("0 of 3 runs recorded")
    finally:
        server.kill()


def stage(name, parent):
    return stage_record(name, Params(), {"grpo.steps": 9}, {}, parent=parent)


def finish(began, figure, *rows):
    folder = Path("artifacts") / began.stage
    folder.mkdir(parents=True)
    (folder / "curve.csv").write_text(f"step,{figure}\n" + "".join(f"{step},{value}\n" for step, value in rows))
    (folder / "note.md").write_text("note")
    done = began.complete(digests([folder / "curve.csv", folder / "note.md"]), {})
    write_record(done)
    assert track(done) == ""


def runs(client):
    return client.search_runs([client.get_experiment_by_name(EXPERIMENT).experiment_id])


def points(client):
    if client.get_experiment_by_name(EXPERIMENT) is None:
        return []
    found = [run for run in runs(client) if run.info.run_name == "grpo"]
    return [point.step for run in found for point in client.get_metric_history(run.info.run_id, "reward")]
