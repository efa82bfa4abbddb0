"""Experiments as Prefect's tasks: a process per node, in order, tried again, never left behind."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from prefect import flow

from flows import experiments
from flows.server import prefect_server, stop
from fusesearch.core.errors import DataError
from tasks.experiments.schedule import ExperimentTask
from tasks.running.dvc_command import reason
from tasks.running.process import OWNER, birth

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One server for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PREFECT_API_URL", raising=False)
        folder = tmp_path_factory.mktemp("server")
        patch.chdir(folder)
        with prefect_server():
            yield folder
        os.chdir(folder)
        stop()


@pytest.fixture(autouse=True)
def project(server, tmp_path, monkeypatch):
    """Tasks run the Python code that stands in place of DVC's name for them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(experiments, "RETRY_SECONDS", 0.1)
    monkeypatch.setattr(experiments, "repro", lambda target: [sys.executable, "-c", target])
    return tmp_path


def task(name, code="pass", needs=()):
    return ExperimentTask(name, "sft", needs, code, users=["arm"])


def run(*tasks):
    """The reasons for failures; empty if nothing failed."""
    try:
        flow(experiments.run_tasks, name="test")(tasks)
    except DataError as error:
        return str(error)
    return ""


APPEND = "open('order', 'a').write('{0} ')"


def test_nodes_that_need_a_failed_node_are_blocked_and_the_rest_runs(project):
    fails = "import sys; print('error: data/x is missing: run the stage that makes it'); sys.exit(1)"
    said = run(task("a", fails), task("b", needs=("a",)), task("c", needs=("b",)), task("d", APPEND.format("d")))
    assert said.startswith("a failed: data/x is missing: run the stage that makes it (its output: .fusesearch/experiments/a.log)")
    assert "1 failed, 2 depend on them and were not run" in said
    assert (project / "order").read_text() == "d "


AGAIN = """
import os, sys
open('tries', 'a').write('x')
if len(open('tries').read()) < {0}:
    sys.exit("error: the Prefect server no longer answers: run the same command again to go on from here")
"""


@pytest.mark.parametrize(("needed", "fails"), [(2, False), (9, True)])
def test_a_node_whose_server_went_away_is_tried_again_but_not_for_ever(project, needed, fails):
    assert bool(run(task("a", AGAIN.format(needed)))) == fails
    assert len((project / "tries").read_text()) == min(needed, experiments.TRIES)


HELD = """
import sys
import threading
import time
open('tries', 'a').write('x')
if len(open('tries').read()) <= {0}:
    sys.exit("error: grpo is already running on these inputs: wait for it, or stop it")
print('grpo: 1 of 2')
"""


@pytest.mark.parametrize(("tries", "fails"), [(20, False), (2, True)])
def test_a_node_waits_for_a_deployment_that_runs_the_same_stage_but_not_for_ever(project, monkeypatch, tries, fails, caplog):
    monkeypatch.setattr(experiments, "BUSY_TRIES", tries)
    assert bool(run(task("a", HELD.format(4)))) == fails
    assert len([line for line in caplog.messages if "a waits: a deployment" in line]) == 1, caplog.messages


@pytest.mark.parametrize(
    ("printed", "code", "expected"),
    [
        ("sft: 3 of 12\nERROR: failed to reproduce 'x': failed to run: python, exited with -9", 1, "killed by signal 9"),
        (
            "ERROR: failed to reproduce 'x': failed to run: python, exited with 137",
            1,
            "killed by signal 9, often for lack of memory",
        ),
        ("sft: 3 of 12", -15, "killed by signal 15"),
        ("Traceback\nValueError: no such thing", 1, "ValueError: no such thing"),
        ("ERROR: failed to reproduce 'a': output 'x' is locked", 255, "output 'x' is locked"),
        ("", 7, "exit code 7"),
    ],
)
def test_why_a_node_failed_is_one_line(printed, code, expected):
    assert reason(printed, code).startswith(expected)


def test_an_interruption_ends_the_nodes_that_run(project):
    waits = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(600)"

    def interrupt():
        while not ((project / "pid").exists() and (project / "pid").read_text()):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores interruptions
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run(task("a", waits), task("b", APPEND.format("b")), task("c", needs=("a",)))
    finally:
        signal.signal(signal.SIGINT, before)
    assert not psutil.pid_exists(int((project / "pid").read_text()))
    assert not (project / "order").exists()


@pytest.mark.parametrize("background", [False, True], ids=["as started", "where interruptions are ignored"])
def test_a_stage_whose_owner_is_gone_ends_by_itself(background):
    owner = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    name = f"{owner.pid} {birth(owner.pid)}"
    code = "import time; from tasks.running.process import end_with_starter as e; e(); print('up', flush=True); time.sleep(600)"
    environment = {**os.environ, OWNER: name, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    if background:
        command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *command]
    stage = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert stage.stdout is not None
    assert stage.stdout.readline() == b"up\n"
    owner.communicate(b"\n")
    assert stage.wait(120) not in (0, -signal.SIGKILL)
    stage.stdout.close()
