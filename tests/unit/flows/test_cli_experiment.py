"""``python -m flows experiment``: what it shows of files that are there, and what it refuses. What it runs: tests/end_to_end."""

import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from fusesearch.core.config import load_params
from fusesearch.core.errors import DataError
from fusesearch.reporting.experiment.results import read_results
from tasks.experiments import schedule
from tasks.experiments.plan import nodes_of, plan
from tasks.experiments.schedule import experiments_lock, tasks_of
from tasks.experiments.spec import load_experiment

ROOT = Path(__file__).parents[3]
PARAMS = load_params(ROOT / "params.yaml")
EXPERIMENT = {
    "title": "Filters", "question": "q", "hypothesis": "h", "seeds": [0, 1],
    "arms": {"none": {"set": {"select.min_f1": 0.0}}, "joint": {"label": "F1 [both]"}},
    "metrics": ["f1_macro"], "primary": "f1_macro",
}  # fmt: skip


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name in ("dvc.yaml", "params.yaml"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "experiments/profiles", tmp_path / "experiments/profiles")
    folder = tmp_path / "experiments/filters"
    folder.mkdir(parents=True)
    (folder / "experiment.yaml").write_text(yaml.safe_dump(EXPERIMENT, sort_keys=False))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    current(monkeypatch)
    return tmp_path


def current(monkeypatch, *names):
    """What DVC finds up to date."""
    monkeypatch.setattr("tasks.experiments.schedule.up_to_date", lambda: set(names))


def nodes(stage):
    """Ids of the experiment's own nodes of a stage."""
    found = nodes_of(plan(load_experiment("filters"), load_params()))
    return [node.id for node in found if node.id and node.stage == stage]


def test_the_list_says_what_is_finished(project, run):
    folder = project / "experiments/past"
    folder.mkdir()
    (folder / "experiment.yaml").write_text(yaml.safe_dump({**EXPERIMENT, "finished": "v1"}))
    shown = run("experiment", "list").output.splitlines()
    assert [" ".join(line.split()) for line in shown[1:]] == [
        "filters 2 2 17 15 min nothing yet Filters",
        "past 2 2 - finished nothing yet Filters",
    ]
    assert "past is finished" in run("experiment", "run", "past").output
    assert "past" not in run("experiment", "run", "all", "--dry-run").output


def test_a_dry_run_lists_what_would_run_and_writes_nothing(project, run):
    before = sorted(project.rglob("*"))
    shown = run("experiment", "run", "filters", "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert "mine (main pipeline), 5 min: none, seed 0; F1 [both], seed 0 and 2 more" in shown.output
    assert all(f"  {name}, " in shown.output for name in [*nodes("evaluate"), "results-filters"])
    assert sorted(project.rglob("*")) == before


def test_a_finished_run_writes_the_page_over_all_experiments_and_a_failed_one_does_not(project, run, monkeypatch):
    def fail(*_):
        raise DataError("sft-1 failed: no memory")

    page = project / "experiments/RESULTS.md"
    monkeypatch.setattr("flows.experiments.run_experiments", fail)
    failed = run("experiment", "run", "filters")
    assert (failed.exit_code, page.exists()) == (1, False)
    assert "fusesearch: sft-1 failed: no memory" in failed.output
    monkeypatch.setattr("flows.experiments.run_experiments", lambda *_: None)
    assert run("experiment", "run", "filters").exit_code == 0
    assert "Results of the experiments" in page.read_text()


def test_results_are_written_again_if_scores_or_the_experiment_changed(project, monkeypatch):
    folder = project / "experiments/stages"
    shutil.copytree(ROOT / "experiments/stages", folder)
    shutil.copytree(ROOT / "experiments/reference", project / "experiments/reference")
    made = read_results(folder).inputs
    found = load_experiment("stages")
    current(monkeypatch, *(task.name for task in tasks_of([(found, plan(found, PARAMS))], PARAMS)))
    monkeypatch.setattr(schedule, "outcomes", lambda experiment, current: [])
    monkeypatch.setattr(schedule, "scores_digest", lambda runs: made)
    os.utime(folder / "experiment.yaml", (0, 0))
    assert schedule.pending_tasks([found])[0] == []
    os.utime(folder / "experiment.yaml", (2e9, 2e9))
    assert [task.name for task in schedule.pending_tasks([found])[0]] == ["results-stages"]
    os.utime(folder / "experiment.yaml", (0, 0))
    monkeypatch.setattr(schedule, "scores_digest", lambda runs: "other")
    assert [task.name for task in schedule.pending_tasks([found])[0]] == ["results-stages"]


def test_nothing_is_changed_under_experiments_that_run(project, run):
    with ThreadPoolExecutor(1) as other, experiments_lock():
        refused = other.submit(run, "experiment", "run", "filters").result()
        assert (refused.exit_code, "already running here" in refused.output) == (1, True)
    assert (project / "params.yaml").read_text() == (ROOT / "params.yaml").read_text()
    assert not (project / "experiments/dvc.yaml").exists()


def test_one_that_waits_runs_after_the_one_before(project):
    order = []

    def work(number):
        with experiments_lock(wait=True):
            order.append(number)
            time.sleep(0.05)
            order.append(number)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    assert order[::2] == order[1::2]
    assert len(order) == 6


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("run", "absent"), 1, "there is no experiment 'absent'"),
        (("run", "filters", "--seeds", "0,7"), 1, "seed 7 is not among the seeds"),
        (("run", "filters", "--seeds", "zero"), 2, "not a list of numbers"),
    ],
)
def test_invalid_experiment_commands_fail_in_one_line(project, run, arguments, code, said):
    done = run("experiment", *arguments)
    assert done.exit_code == code
    assert said in " ".join(done.output.split())
    assert (project / "params.yaml").read_text() == (ROOT / "params.yaml").read_text()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"metrics": ["f1_macro", "f2"]}, "there is no metric 'f2'"),
        ({"figures": ["pie"]}, "there is no figure 'pie'"),
        ({"paper": {"table": "none.csv"}}, "none.csv cannot be read"),
        ({"arms": {"a": {"set": {"seed": 3}}}}, "seed is set by seeds"),
    ],
)
def test_problems_of_the_results_are_reported_before_anything_runs(project, run, changes, said):
    (project / "experiments/filters/experiment.yaml").write_text(yaml.safe_dump({**EXPERIMENT, **changes}))
    done = run("experiment", "run", "filters")
    assert done.exit_code == 1
    assert said in " ".join(done.output.split())
    assert not (project / "experiments/dvc.yaml").exists()
