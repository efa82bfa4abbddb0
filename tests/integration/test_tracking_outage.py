"""A real MLflow server that is killed: stages end well, and `python -m flows track` records what it missed, once."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.__main__ import app
from fusesearch.core.config import Params
from fusesearch.training.serving import free_port
from tasks.running.record import digests, reproduction_record, stage_record, write_record
from tasks.tracking import EXPERIMENT, Live, track
from tasks.tracking.store import answers, make_client
from tests.fakes.waiting import wait_for

pytestmark = pytest.mark.rare


@pytest.fixture
def server(tmp_path_factory):
    """Starts an MLflow server, each time at the same address and on the same store; gives its address and two functions."""
    folder, port, running = tmp_path_factory.mktemp("server"), free_port(), []
    url = f"http://127.0.0.1:{port}"
    store = ["--backend-store-uri", f"sqlite:///{folder}/server.db", "--artifacts-destination", f"{folder}/files"]
    command = [sys.executable, "-m", "mlflow", "server", "--workers", "1", "--port", str(port), *store]
    environment = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}

    def start():
        with (folder / "server.log").open("ab") as log:
            running.append(subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, env=environment))
        wait_for(lambda: answers(url) or running[-1].poll() is not None, 120, "the server did not come up")
        assert running[-1].poll() is None, (folder / "server.log").read_text()

    def kill():
        os.killpg(running[-1].pid, signal.SIGKILL)
        running.pop().wait()

    yield url, start, kill
    if running:
        kill()


def test_what_a_killed_server_missed_is_recorded_when_it_is_back(server, tmp_path, monkeypatch, caplog):
    url, start, kill = server
    start()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", url)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    parent = reproduction_record(Params())
    write_record(parent)
    run = stage("grpo", parent)
    client = make_client(url)
    with Live(run) as live:
        live.log({"step": 1, "reward": 0.1})
        wait_for(lambda: points(client), words="the live run has ended or never came")
        kill()
        live.log({"step": 2, "reward": 0.2})
        live.log({"step": 3, "reward": 0.3})
    finish(run, "reward", (1, 0.1), (2, 0.2), (3, 0.3))
    assert [row.getMessage() for row in caplog.records if row.name.startswith("tasks")] == [
        f"the MLflow server at {url} does not answer: grpo is not recorded yet; `python -m flows track` does it later"
    ]
    with Live(other := stage("sft", parent)) as live:  # begins and ends while the server is away
        live.log({"step": 1, "loss": 2.0})
    finish(other, "loss", (1, 2.0))
    said = CliRunner().invoke(app, ["track"])
    assert (said.exit_code, said.stderr) == (1, f"fusesearch: the MLflow server at {url} does not answer\n")

    start()
    said = CliRunner().invoke(app, ["track"])
    assert (said.exit_code, said.stdout) == (0, f"3 of 3 runs recorded in {url}, 0 were there\n")
    found = {run.info.run_name: run for run in runs(client)}
    assert len(runs(client)) == 3
    assert {run.info.status for run in found.values()} == {"FINISHED"}
    assert sorted(points(client)) == [1, 2, 3]  # the store promises no order
    assert found["sft"].data.metrics["loss"] == 2.0
    assert [row.path for row in client.list_artifacts(found["sft"].info.run_id)] == ["note.md"]
    assert CliRunner().invoke(app, ["track"]).stdout.startswith("0 of 3 runs recorded")


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
