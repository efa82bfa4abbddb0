"""``fusesearch experiment``: what it shows of files that are there, and what it refuses. What it runs: tests/end_to_end."""

import io
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from tasks.cli import experiment_run, experiment_table
from tasks.cli.experiment_run import left_of
from tasks.cli.experiment_state import duration
from tasks.core.config import load_params
from tasks.pipeline import layout
from tasks.pipeline.experiments.engine import Progress
from tasks.pipeline.experiments.jobs import Job, jobs_of
from tasks.pipeline.experiments.locks import alone
from tasks.pipeline.experiments.plan import plan
from tasks.pipeline.experiments.results import read_results
from tasks.pipeline.experiments.spec import load_experiment
from tasks.pipeline.pipeline import stage_outs
from tasks.pipeline.timing import note_seconds

ROOT = Path(__file__).parents[3]
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
    return tmp_path


def make(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")


def row_of(text, *words):
    return next(line for line in text.splitlines() if all(word in line for word in words))


def test_the_list_says_what_is_left(project, run):
    shown = run("experiment", "list")
    assert shown.exit_code == 0, shown.output
    assert row_of(shown.output, "filters").split()[:5] == ["filters", "Filters", "2", "0,1", "0"]


def test_the_status_tells_the_main_pipelines_runs_from_own_and_begun_ones(project, run):
    make(project / layout.SELECTED)
    make(project / layout.SELECT_DROPS)
    make(project / layout.SELECT_PLANE)
    own = [name for name in plan_of(project, run) if name.startswith("select-")]
    for name in ("trajectories.jsonl", "drops.json", "plane.csv"):
        make(project / layout.NODES / own[0] / name)
    (project / f".fusesearch/progress/{own[1]}-0123456789abcdef").mkdir(parents=True)
    shown = run("experiment", "status", "filters").output
    states = [word for line in shown.splitlines() for word in line.split() if word in ("main", "made", "begun")]
    assert {"main", "made", "begun"} <= set(states)
    assert "F1 [both]" in shown


def test_all_stands_for_every_experiment_and_one_named_twice_is_shown_once(project, run):
    shutil.copytree(project / "experiments/filters", project / "experiments/more")
    shown = [line.strip() for line in run("experiment", "status", "all").output.splitlines()]
    assert [line for line in shown if line in ("filters", "more")] == ["filters", "more"]
    twice = run("experiment", "status", "more", "more").output
    assert twice == run("experiment", "status", "more").output
    assert "filters" not in twice


def test_the_status_says_how_far_a_run_is_that_another_terminal_started(project, run):
    names = [name for name in plan_of(project, run) if name.startswith("evaluate-")]
    for name, counted in zip(names, ("evaluate: 12 of 50", "evaluate: 49 of 50"), strict=False):
        make(project / f".fusesearch/progress/{name}-0123456789abcdef/runs.json")
        log = project / f".fusesearch/experiments/{name}.log"
        make(log)
        log.write_text(f"evaluate: 3 of 50\n{counted}\n")
    os.utime(log, (0, 0))  # of a process before the one at work
    shown = run("experiment", "status", "filters").output
    assert "12 of 50" in shown
    assert "49 of 50" not in shown
    assert " begun " in shown.split("begun:")[0]


def test_the_jobs_of_an_experiment_know_how_many_arms_they_evaluate(project):
    params = load_params()
    experiment = load_experiment("filters")
    parts = {job.name: job.parts for job in jobs_of([(experiment, plan(experiment, params))], params) if job.stage == "evaluate"}
    assert parts.pop("evaluate") == len(params.evaluate.arms)
    assert set(parts.values()) == {1}


def test_a_finished_run_writes_the_page_over_all_experiments(project, run, monkeypatch):
    left = [Job("sft-1", "sft", ())]
    monkeypatch.setattr(experiment_run, "left_to_do", lambda experiments, seeds: (left, 1))
    page = project / "experiments/RESULTS.md"
    assert run("experiment", "run", "filters", "--dry-run").exit_code == 0
    monkeypatch.setattr(experiment_run.engine, "run_jobs", lambda jobs, *_: [Progress(jobs[0], "failed")])
    assert run("experiment", "run", "filters").exit_code == 1
    assert not page.exists()
    monkeypatch.setattr(experiment_run.engine, "run_jobs", lambda jobs, *_: [Progress(jobs[0], "done")])
    assert run("experiment", "run", "filters").exit_code == 0
    assert "Results of the experiments" in page.read_text()


def test_nothing_is_changed_under_experiments_that_run(project, run):
    with ThreadPoolExecutor(1) as other, alone():
        refused = other.submit(run, "experiment", "run", "filters", "--profile", "small").result()
        assert (refused.exit_code, "already running here" in refused.output) == (1, True)
        assert other.submit(run, "experiment", "plan").result().exit_code == 1
    assert (project / "params.yaml").read_text() == (ROOT / "params.yaml").read_text()
    assert not (project / "experiments/dvc.yaml").exists()


def test_the_tables_of_all_experiments_are_of_those_that_have_results(project, run):
    shutil.copytree(ROOT / "experiments/guidance", project / "experiments/guidance")
    shown = run("experiment", "table", "all")
    assert shown.exit_code == 0
    assert (project / "experiments/guidance/RESULTS.md").read_text() in shown.output
    assert "filters: no results yet" in shown.output
    console = Console(width=80, file=io.StringIO())
    console.print(*experiment_table.shown(load_experiment("guidance")), sep="\n")
    words = " ".join(console.file.getvalue().split())
    assert "…" not in words
    results = read_results(project / "experiments/guidance")
    assert all(f"{100 * arm.figures['f1_macro'].estimate:.1f} [" in words for arm in results.arms)
    assert words.count(" after Holm ") == len(results.claims)


def test_what_a_job_waits_for_is_said_once(capsys):
    lines = experiment_run._Lines(1, 1)
    row = Progress(Job("grpo", "grpo", ()), "running")
    for state, held, reason in (("running", 0, ""), ("waiting", 1, "waits"), ("running", 1, "waits"), ("waiting", 2, "waits")):
        row.state, row.held, row.reason = state, held, reason
        lines([row])
    assert [line.split(";")[0] for line in capsys.readouterr().err.splitlines()] == ["[0/1] grpo: running", "[0/1] grpo: waits"]


def test_what_the_pipeline_made_with_other_params_is_not_taken_for_todays(project, run):
    for out in (stage_outs().keys() - {layout.TRAJECTORIES}) | {layout.TRAJECTORIES / "sft.jsonl"}:
        make(project / out)
    params = yaml.safe_load((project / "params.yaml").read_text())
    recorded = {"select": params["select"], "agent.history_scope": params["agent"].get("history_scope", "turn")}
    (project / "dvc.lock").write_text(yaml.safe_dump({"stages": {"select": {"params": {"params.yaml": recorded}}}}))
    assert "1 of 4" in row_of(run("experiment", "list").output, "filters")
    params["select"]["min_f1"] = 0.95
    (project / "params.yaml").write_text(yaml.safe_dump(params))
    assert "0 of 4" in row_of(run("experiment", "list").output, "filters")
    assert row_of(run("experiment", "status", "filters").output, "F1 [both]", " 0 ").split()[-4:] == ["main", "-", "main", "main"]


@pytest.mark.parametrize(("read", "finished"), [("new", "1 of 4"), ("old", "0 of 4")])
def test_what_was_made_of_an_older_checkpoint_is_not_taken_for_todays(project, run, read, finished):
    for out in (stage_outs().keys() - {layout.TRAJECTORIES}) | {layout.TRAJECTORIES / "sft.jsonl"}:
        make(project / out)
    checkpoint = next(str(out) for out, stage in stage_outs().items() if stage == "sft" and "checkpoint" in out.name)
    stages = {
        "sft": {"outs": [{"path": checkpoint, "md5": "new"}]},
        "evaluate": {"deps": [{"path": checkpoint, "md5": read}, {"path": "params.yaml", "md5": "any"}]},
    }
    (project / "dvc.lock").write_text(yaml.safe_dump({"stages": stages}))
    assert finished in row_of(run("experiment", "list").output, "filters")


def plan_of(project, run):
    assert run("experiment", "plan").exit_code == 0
    assert "nothing to change" in run("experiment", "plan").output
    return list(yaml.safe_load((project / "experiments/dvc.yaml").read_text())["stages"])


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("status", "absent"), 1, "there is no experiment 'absent'"),
        (("run", "absent"), 1, "there is no experiment 'absent'"),
        (("run", "absent", "--profile", "small"), 1, "there is no experiment 'absent'"),
        (("run", "filters", "--seeds", "0,7"), 1, "seed 7 is not among the seeds"),
        (("run", "filters", "--seeds", "zero"), 2, "no list of numbers"),
        (("run", "filters", "--profile", "huge"), 1, "no profile 'huge'"),
        (("run", "filters", "--profile", "small", "--dry-run"), 2, "fusesearch profile use small"),
        (("table", "filters"), 1, "fusesearch experiment run filters"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(project, run, arguments, code, said):
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
def test_what_results_would_stumble_over_is_told_before_anything_runs(project, run, changes, said):
    (project / "experiments/filters/experiment.yaml").write_text(yaml.safe_dump({**EXPERIMENT, **changes}))
    done = run("experiment", "run", "filters")
    assert done.exit_code == 1
    assert said in " ".join(done.output.split())
    assert not (project / "experiments/dvc.yaml").exists()


@pytest.mark.parametrize(
    ("seconds", "shown"), [(None, "not known yet"), (12.4, "12 s"), (100, "2 min"), (3600, "1 h 00 min"), (7505, "2 h 05 min")]
)
def test_a_duration_is_as_exact_as_it_is_known(seconds, shown):
    assert duration(seconds) == shown


def test_the_time_left_counts_what_runs_as_partly_done(project):
    jobs = [Job("sft-1", "sft", ()), Job("sft-2", "sft", ()), Job("sft-3", "sft", ())]
    rows = [Progress(jobs[0], "done"), Progress(jobs[1], "running", seconds=300), Progress(jobs[2])]
    assert left_of(rows, workers=1) == "time left not known yet"
    note_seconds("sft", 600)
    assert left_of(rows, workers=1) == "15 min left"
