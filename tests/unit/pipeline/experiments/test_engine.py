"""Jobs in processes of their own: in order, side by side, tried again, and never left behind."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tasks.core.config import Params
from tasks.core.errors import ConfigError
from tasks.pipeline.experiments import engine
from tasks.pipeline.experiments.jobs import Job, seconds_left
from tasks.pipeline.experiments.locks import turn
from tasks.pipeline.process import birth
from tasks.pipeline.timing import note_seconds, parts_of, usual_seconds

ROOT = Path(__file__).parents[4]


@dataclass
class Said(Job):
    """A job that runs some Python instead of DVC."""

    code: str = ""

    @property
    def command(self):
        return [sys.executable, "-c", self.code]


def job(name, code="", needs=()):
    return Said(name, "sft", needs, code=code)


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engine, "RETRY_SECONDS", 0.0)
    return tmp_path


def run(*jobs, workers=1, watch=lambda rows: None):
    return {row.job.name: row for row in engine.run_jobs(jobs, workers, watch)}


APPEND = "open('order', 'a').write('{0} ')"


def test_a_job_runs_after_those_it_needs(project):
    rows = run(
        *(job(name, APPEND.format(name), needs) for name, needs in (("a", ()), ("b", ("a",)), ("c", ("a", "b")))), workers=3
    )
    assert (project / "order").read_text().split() == ["a", "b", "c"]
    assert {row.state for row in rows.values()} == {"done"}


MEET = "import os, time\nopen('{0}', 'w')\nwhile not os.path.exists('{1}'): time.sleep(0.02)"


def test_two_jobs_run_at_once():
    rows = run(job("a", MEET.format("x", "y")), job("b", MEET.format("y", "x")), workers=2)
    assert {row.state for row in rows.values()} == {"done"}


def test_a_job_that_dvc_finds_unchanged_is_told_from_one_that_ran():
    rows = run(job("a", "print('Stage \\'experiments/dvc.yaml:a\\' didn\\'t change, skipping')"), job("b"))
    assert {name: row.state for name, row in rows.items()} == {"a": "unchanged", "b": "done"}


def test_what_builds_on_a_failed_job_waits_and_the_rest_goes_on():
    fails = "import sys; print('error: data/x is missing: run the stage that makes it'); sys.exit(1)"
    rows = run(job("a", fails), job("b", needs=("a",)), job("c", needs=("b",)), job("d"))
    assert {name: row.state for name, row in rows.items()} == {"a": "failed", "b": "blocked", "c": "blocked", "d": "done"}
    assert rows["a"].reason == "data/x is missing: run the stage that makes it"
    assert "data/x" in rows["a"].log.read_text()


AGAIN = """
import os, sys
open('tries', 'a').write('x')
if len(open('tries').read()) < {0}:
    sys.exit("error: the Prefect server no longer answers: run the same command again to go on from here")
"""


@pytest.mark.parametrize(("needed", "state"), [(2, "done"), (9, "failed")])
def test_a_job_whose_server_went_away_is_tried_again_but_not_for_ever(project, needed, state):
    assert run(job("a", AGAIN.format(needed)))["a"].state == state
    assert len((project / "tries").read_text()) == min(needed, engine.TRIES)


HELD = """
import sys
open('tries', 'a').write('x')
if len(open('tries').read()) <= {0}:
    sys.exit("error: grpo is already running on these inputs: wait for it, or stop it")
print('grpo: 1 of 2')
"""


def test_a_job_waits_for_a_deployment_that_is_at_the_same_stage(project):
    said = []
    rows = run(job("a", HELD.format(30)), watch=lambda rows: said.extend(row.said for row in rows))
    assert (rows["a"].state, rows["a"].reason) == ("done", "")
    words = [word for number, word in enumerate(said) if not number or word != said[number - 1]]
    assert words[:2] == ["running", "waits, grpo is already running on these inputs: started by a deployment, or by hand"]
    assert words[2:] in (["done"], ["running", "done"])  # one line about it, however often it was tried


def test_a_job_does_not_wait_for_another_process_for_ever(project, monkeypatch):
    monkeypatch.setattr(engine, "HELD_SECONDS", 0.0)
    rows = run(job("a", HELD.format(30)))
    assert (rows["a"].state, rows["a"].reason) == ("failed", "grpo is already running on these inputs: wait for it, or stop it")


def test_what_another_dvc_holds_is_named_and_pauses_grow(monkeypatch):
    monkeypatch.setattr(engine, "RETRY_SECONDS", 5.0)
    row, pauses = engine.Progress(job("a"), "running"), []
    for _ in range(8):
        row.tries += 1
        engine._failed(row, "ERROR: it is being blocked by: dvc repro", 1)
        pauses.append(round(row.not_before - time.monotonic()))
    assert pauses == [5, 10, 15, 20, 25, 30, 30, 30]
    assert (row.state, row.said, row.tries) == (
        "waiting",
        "waits, another process is at it, or reads what it made: a deployment, or `dvc repro`",
        0,
    )


DVC_SAYS = """print("sft: 3 of 12"); exit("ERROR: failed to reproduce 'x': failed to run: python, exited with {0}")"""


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (DVC_SAYS.format(-9), "killed by signal 9, often for want of memory"),
        (DVC_SAYS.format(137), "killed by signal 9, often for want of memory"),
        ("import os; print('sft: 3 of 12', flush=True); os.kill(os.getpid(), 15)", "killed by signal 15"),
        ("raise ValueError('no such thing')", "ValueError: no such thing"),
        ("exit(7)", "ended with code 7"),
    ],
)
def test_why_a_job_failed_is_one_line(code, reason):
    assert run(job("a", code))["a"].reason == reason


def test_threads_are_shared_out_between_jobs():
    code = "import os; print(os.environ['OMP_NUM_THREADS'], 'threads')"
    rows = run(job("a", code), workers=2)
    assert rows["a"].log.read_text() == f"{max(1, (os.cpu_count() or 1) // 2)} threads\n"


def test_how_far_a_job_is_comes_from_what_it_says():
    rows = run(job("a", "print('sft: 3 of 12'); print('sft: 7 of 12')"))
    assert rows["a"].counts == (7, 12)


def test_an_interruption_ends_the_jobs_that_run(project):
    waits = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(600)"

    def interrupt(rows):
        if (project / "pid").exists() and (project / "pid").read_text():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(job("a", waits), watch=interrupt)
    assert not psutil.pid_exists(int((project / "pid").read_text()))


def test_two_runs_of_experiments_in_one_folder_are_refused():
    refused = []

    def second(rows):
        if not refused:
            with ThreadPoolExecutor(1) as other, pytest.raises(ConfigError, match="already running here") as caught:
                other.submit(engine.run_jobs, [job("b")], 1, lambda rows: None).result()
            refused.append(caught)

    run(job("a"), watch=second)
    assert refused


def test_turns_are_taken_one_after_another():
    order = []

    def work(number):
        with turn():
            order.append(number)
            time.sleep(0.05)
            order.append(number)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    assert order[::2] == order[1::2]
    assert len(order) == 6


@pytest.mark.parametrize("background", [False, True], ids=["as started", "where interruptions are ignored"])
def test_a_stage_whose_owner_is_gone_ends_by_itself(background):
    owner = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    name = f"{owner.pid} {birth(owner.pid)}"
    code = "import time; from flows.owner import end_with_owner; end_with_owner(); print('up', flush=True); time.sleep(600)"
    environment = {**os.environ, engine.OWNER: name, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    if background:
        command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *command]
    stage = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert stage.stdout is not None
    assert stage.stdout.readline() == b"up\n"
    owner.communicate(b"\n")
    assert stage.wait(120) not in (0, -signal.SIGKILL)
    stage.stdout.close()


def test_the_main_evaluation_takes_as_long_as_all_of_its_arms():
    usual = {"evaluate": 60.0, "sft": 100.0}
    jobs = [Job("evaluate", "evaluate", (), main=True, parts=5), Job("evaluate-1", "evaluate", ()), Job("sft-1", "sft", ())]
    assert seconds_left(jobs, usual) == 5 * 60 + 60 + 100
    assert parts_of("evaluate", Params()) == len(Params().evaluate.arms) > 1
    assert parts_of("sft", Params()) == 1


def test_how_long_stages_took_is_remembered(tmp_path):
    record = tmp_path / "seconds.jsonl"
    for seconds in (1000.0, *[10.0] * 5):
        note_seconds("sft", seconds, record=record)
    note_seconds("evaluate", 50.0, parts=5, record=record)
    record.write_text(record.read_text() + '{"torn')
    usual = usual_seconds(record)
    assert usual == {"sft": 10.0, "evaluate": 10.0}
    jobs = [Job("sft-1", "sft", ()), Job("evaluate-1", "evaluate", ()), Job("results-x", "results", ())]
    assert seconds_left(jobs, usual, workers=2) == 10.0
    assert seconds_left([*jobs, Job("grpo-1", "grpo", ())], usual) is None
