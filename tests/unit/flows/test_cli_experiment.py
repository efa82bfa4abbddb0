"""``python -m flows experiment``: what it shows of files that are there, and what it refuses. What it runs: tests/end_to_end."""

import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from fusesearch.core.config import load_params
from fusesearch.core.errors import DataError
from fusesearch.core.text import duration
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
    for place in ("flows.cli.experiment_tables", "tasks.experiments.schedule", "tasks.running.dvc_command"):
        monkeypatch.setattr(f"{place}.up_to_date", lambda: set(names))


def nodes(stage):
    """Ids of the experiment's own nodes of a stage."""
    found = nodes_of(plan(load_experiment("filters"), load_params()))
    return [node.id for node in found if node.id and node.stage == stage]


def make(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")


def row_of(text, *words):
    return next(line for line in text.splitlines() if all(word in line for word in words))


def test_the_list_says_what_is_left(project, run):
    shown = run("experiment", "list")
    assert shown.exit_code == 0, shown.output
    assert row_of(shown.output, "filters").split()[:5] == ["filters", "Filters", "2", "0,1", "0"]


def test_the_status_tells_the_main_pipelines_nodes_from_own_and_started_ones(project, run, monkeypatch):
    made, started = nodes("select")[:2]
    current(monkeypatch, "mine", "filter", "split", "select", made)
    (project / f".fusesearch/progress/{started}-0123456789abcdef").mkdir(parents=True)
    shown = run("experiment", "status", "filters").output
    states = [word for line in shown.splitlines() for word in line.split() if word in ("main", "made", "started")]
    assert {"main", "made", "started"} <= set(states)
    assert "F1 [both]" in shown


def test_an_arm_is_finished_if_dvc_finds_nothing_changed_that_it_builds_on(project, run, monkeypatch):
    stages = ["mine", "filter", "split", "synthesize", "select", "sft", "evaluate"]
    current(monkeypatch, *stages)
    assert "1 of 4" in row_of(run("experiment", "list").output, "filters")
    current(monkeypatch, *set(stages) - {"select"})
    assert "0 of 4" in row_of(run("experiment", "list").output, "filters")
    assert row_of(run("experiment", "status", "filters").output, "F1 [both]", " 0 ").split()[-4:] == ["main", "-", "main", "main"]


def test_the_status_says_how_far_a_node_is_that_another_terminal_started(project, run):
    for name, counted in zip(nodes("evaluate"), ("evaluate: 12 of 50", "evaluate: 49 of 50"), strict=False):
        make(project / f".fusesearch/progress/{name}-0123456789abcdef/runs.json")
        log = project / f".fusesearch/experiments/{name}.log"
        make(log)
        log.write_text(f"evaluate: 3 of 50\n{counted}\n")
    os.utime(log, (0, 0))  # of a process before the one at work
    shown = run("experiment", "status", "filters").output
    assert "12 of 50" in shown
    assert "49 of 50" not in shown
    assert " started " in shown.split("started:")[0]


def test_a_dry_run_lists_what_would_run_and_writes_nothing(project, run):
    before = sorted(project.rglob("*"))
    shown = run("experiment", "run", "filters", "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert "mine (main pipeline): none, seed 0; F1 [both], seed 0 and 2 more" in shown.output
    assert all(f"  {name}: " in shown.output for name in [*nodes("evaluate"), "results-filters"])
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
    folder = project / "experiments/guidance"
    shutil.copytree(ROOT / "experiments/guidance", folder)
    shutil.copytree(ROOT / "experiments/reference", project / "experiments/reference")
    made = read_results(folder).inputs
    found = load_experiment("guidance")
    current(monkeypatch, *(task.name for task in tasks_of([(found, plan(found, PARAMS))], PARAMS)))
    monkeypatch.setattr(schedule, "outcomes", lambda experiment, current: [])
    monkeypatch.setattr(schedule, "scores_digest", lambda runs: made)
    assert schedule.pending_tasks([found])[0] == []
    os.utime(folder / "experiment.yaml", (2e9, 2e9))
    assert [task.name for task in schedule.pending_tasks([found])[0]] == ["results-guidance"]
    os.utime(folder / "experiment.yaml", (0, 0))
    monkeypatch.setattr(schedule, "scores_digest", lambda runs: "other")
    assert [task.name for task in schedule.pending_tasks([found])[0]] == ["results-guidance"]


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


def test_all_stands_for_every_experiment_and_one_named_twice_is_shown_once(project, run):
    shutil.copytree(project / "experiments/filters", project / "experiments/more")
    shown = [line.strip() for line in run("experiment", "status", "all").output.splitlines()]
    assert [line for line in shown if line in ("filters", "more")] == ["filters", "more"]
    twice = run("experiment", "status", "more", "more").output
    assert twice == run("experiment", "status", "more").output
    assert "filters" not in twice


def test_the_tables_of_all_experiments_are_of_those_that_have_results(project, run, monkeypatch):
    shutil.copytree(ROOT / "experiments/guidance", project / "experiments/guidance")
    shown = run("experiment", "table", "all")
    assert shown.exit_code == 0
    assert (project / "experiments/guidance/RESULTS.md").read_text() in shown.output
    assert "filters: no results yet" in shown.output
    monkeypatch.setattr("flows.cli.experiment.sys", SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True)))
    words = " ".join(run("experiment", "table", "guidance").output.split())
    results = read_results(project / "experiments/guidance")
    assert all(f"{100 * arm.figures['f1_macro'].estimate:.1f} " in words for arm in results.arms)
    assert words.count(" after Holm ") == len(results.claims)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("status", "absent"), 1, "there is no experiment 'absent'"),
        (("run", "absent"), 1, "there is no experiment 'absent'"),
        (("run", "filters", "--seeds", "0,7"), 1, "seed 7 is not among the seeds"),
        (("run", "filters", "--seeds", "zero"), 2, "not a list of numbers"),
        (("table", "filters"), 1, "python -m flows experiment run filters"),
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


@pytest.mark.parametrize(("seconds", "shown"), [(12.4, "12 s"), (100, "2 min"), (3600, "1 h 00 min"), (7505, "2 h 05 min")])
def test_a_duration_is_as_exact_as_it_is_known(seconds, shown):
    assert duration(seconds) == shown
