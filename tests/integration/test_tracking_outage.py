"""A real MLflow server that is killed while a stage writes to it: nothing is lost, and nothing is there twice."""

import os
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest

from tasks.core.config import Params
from tasks.pipeline import tracking
from tasks.pipeline.tracking import outbox
from tasks.pipeline.tracking.__main__ import main as deliver
from tasks.pipeline.tracking.store import make_client

pytestmark = pytest.mark.slow


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


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("server"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def server(running, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", running.url)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setattr(outbox, "PAUSE_SECONDS", 0.0)
    return running


def stage(name, left=None):
    return tracking.stage_run(name, Params(), {"grpo.steps": 9}, (), left=left)


def runs(server, parent):
    """The runs of one reproduction by name, and how many they are."""
    client = make_client(server.url)
    found = client.search_runs([client.get_experiment_by_name(tracking.EXPERIMENT).experiment_id])
    mine = [run for run in found if parent.run_id in (run.info.run_id, run.data.tags.get("mlflow.parentRunId"))]
    return client, {run.info.run_name: run for run in mine}, len(mine)


def steps(client, run, name):
    return [point.step for point in client.get_metric_history(run.info.run_id, name)]


def test_a_server_killed_within_a_stage_that_comes_back_has_everything_once(server, tmp_path):
    note = tmp_path / "note.txt"
    note.write_text("before")
    with stage("grpo") as run:
        run.log({"reward": 0.1}, step=1)
        server.kill()
        run.log({"reward": 0.2}, step=2)
        with run.arm("sft") as arm:
            arm.log({"f1_macro": 0.5})
            arm.log_table({"instance_id": ["a", "b"], "f1": [0.0, 1.0]}, "instances.json")
        run.log_file(note)
        note.unlink()
        server.start()
        run.log({"reward": 0.3}, step=3)
    assert outbox.waiting() == 0
    assert not list(outbox.OUTBOX.iterdir())
    client, found, count = runs(server, run.parent)
    assert count == 3
    assert {run.info.status for run in found.values()} == {"FINISHED"}
    assert steps(client, found["grpo"], "reward") == [1, 2, 3]
    assert [row.path for row in client.list_artifacts(found["grpo"].info.run_id)] == ["note.txt"]
    assert found["grpo/sft"].data.metrics == {"f1_macro": 0.5}
    assert [row.path for row in client.list_artifacts(found["grpo/sft"].info.run_id)] == ["instances.json"]


def test_a_server_that_stays_away_gets_what_it_missed_when_it_is_back(server, capsys):
    with stage("sft") as run:
        server.kill()
        run.log({"loss": 2.0}, step=1)
        run.log({"examples": 7})
    with stage("grpo") as run:  # it has answered before: a stage starts without it
        run.log({"reward": 1.0}, step=1)
    missed = outbox.waiting()
    assert missed > 4
    server.start()
    deliver()
    assert capsys.readouterr().out == f"{missed} writes delivered to {server.url}, 0 still wait\n"
    with stage("grpo", left=run.record) as again:
        again.log({"reward": 1.0}, step=1)
        again.log({"reward": 2.0}, step=2)
    assert outbox.waiting() == 0
    client, found, count = runs(server, again.parent)
    assert count == 3
    assert {run.info.status for run in found.values()} == {"FINISHED"}
    assert found["sft"].data.metrics == {"loss": 2.0, "examples": 7.0}
    assert steps(client, found["grpo"], "reward") == [1, 2]
    assert found["grpo"].data.params == {"grpo.steps": "9"}
