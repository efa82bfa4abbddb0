"""The whole pipeline as a user runs it: `dvc repro` with real packages, servers, stores and trainers, killed on the way.

The tests build on each other and run in the order of the file.
"""

import csv
import json

import httpx
import pytest
import yaml

import flows.run
from fusesearch.core.storage import read_instances, read_json
from tasks.running.places import MAIN
from tasks.stages import STAGES, TRAINED

pytestmark = [pytest.mark.timeout(1500)]


def test_wrong_inputs_end_with_one_clear_line(project, monkeypatch, capsys):
    def said(stage):
        with pytest.raises(SystemExit) as ended:
            flows.run.main([stage])
        assert ended.value.code == 1
        return [line for line in capsys.readouterr().err.splitlines() if "error:" in line or "Traceback" in line]

    monkeypatch.chdir(project.root)
    path = project.root / "params.yaml"
    good = path.read_text()
    path.write_text(good.replace("attempts_per_repository:", "attempts_per_repositry:", 1))
    assert said("split") == ["error: params.yaml: mine.attempts_per_repositry: Extra inputs are not permitted"]
    path.write_text(good)
    assert said("filter") == ["error: data/raw/pairs.parquet is missing: run the stage that makes it (`dvc repro`)"]


def test_killed_training_goes_on_from_its_last_checkpoint(project):
    def saved_a_step():
        return any((project.root / ".fusesearch/progress").glob("grpo-*/trainer/checkpoint-1/trainer_state.json"))

    project.kill_during(("dvc", "repro", "grpo"), saved_a_step)
    done = project.run("dvc", "repro")
    assert done.returncode == 0, done.stderr + done.stdout
    assert "Running stage 'sft'" not in done.stdout
    with (project.root / MAIN["grpo.curve"]).open() as handle:
        assert [row["step"] for row in csv.DictReader(handle)] == ["1", "2", "3"]
    made = [json.loads(line) for line in (project.root / MAIN["synthesize.candidates"]).read_text().splitlines()]
    assert len(made) == 4 * len(read_instances(project.root / MAIN["split.sft"]))


def test_every_artifact_is_there_and_nothing_unfinished(project):
    outputs = yaml.safe_load((project.root / "dvc.yaml").read_text())["stages"].values()
    for stage in outputs:
        for out in stage["outs"]:
            assert (project.root / (out if isinstance(out, str) else next(iter(out)))).exists()
    assert not list(project.root.rglob(".partial-*"))
    assert not list((project.root / ".fusesearch/progress").iterdir())
    figures = read_json(project.root / MAIN["evaluate.metrics"])
    assert {"base", "sft", "sft_rl", "lexical", "bm25"} <= figures.keys()
    assert figures["lexical"]["f1_macro"] > figures["base"]["f1_macro"]


def test_a_second_run_finds_nothing_to_do(project):
    assert project.run("dvc", "repro").stdout.count("didn't change, skipping") == len(STAGES)
    assert "Nothing to run" in project.run("tasks.running.forecast").stdout


def test_dvc_shows_metrics_and_plots(project):
    shown = json.loads(project.run("dvc", "metrics", "show", "--json").stdout)[""]["data"]
    assert shown["artifacts/split/metrics.json"]["data"]["validation_instances"] > 0
    plots = project.run("dvc", "plots", "show")
    assert plots.returncode == 0, plots.stderr
    assert (project.root / "dvc_plots/index.html").exists()


def test_prefect_shows_every_stage_on_one_server(project):
    url = read_json(project.root / ".fusesearch/prefect.json")["url"]
    assert httpx.get(url).is_success
    runs = httpx.post(f"{url}/api/flow_runs/filter", json={}).json()
    flows = {row["id"]: row["name"] for row in httpx.post(f"{url}/api/flows/filter", json={}).json()}
    completed = {flows[run["flow_id"]] for run in runs if run["state_type"] == "COMPLETED"}
    assert {name.replace("_", "-") for name in STAGES} <= completed
    assert [flows[run["flow_id"]] for run in runs if run["state_type"] == "CRASHED"].count("grpo") == 1
    assert not [run for run in runs if run["state_type"] == "RUNNING"]
    artifacts = {row["key"]: row for row in httpx.post(f"{url}/api/artifacts/filter", json={}).json()}
    assert artifacts["report-markdown"]["type"] == "markdown"
    assert {"mine-progress", "grpo-progress", "filter-drops", "select-drops", "sft-checkpoint"} <= artifacts.keys()


def test_mlflow_holds_one_parent_with_a_child_per_stage_and_arm(project):
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{project.root / 'mlflow.db'}")
    runs = client.search_runs([client.get_experiment_by_name("fusesearch").experiment_id])
    (parent,) = [run for run in runs if run.data.tags.get("kind") == "reproduction"]
    children = [run for run in runs if run.data.tags.get("mlflow.parentRunId") == parent.info.run_id]
    finished = {run.info.run_name for run in children if run.info.status == "FINISHED"}
    arms = {f"evaluate/{arm}" for arm in ("base", "sft", "sft+rl", "lexical", "bm25")}
    trained = {"sft": "sft: base on trajectories", "grpo": "grpo: sft on rl"}
    assert finished == {*(trained.get(stage, stage) for stage in STAGES), *arms}
    assert len(children) == len(finished)
    resumed = {run.info.run_name for run in children if run.data.tags.get("resumed")}
    assert resumed == {trained["grpo"]}
    grpo = next(run for run in children if run.info.run_name == trained["grpo"])
    assert [point.step for point in client.get_metric_history(grpo.info.run_id, "reward")] == [1, 2, 3]
    (model,) = client.search_registered_models()
    assert model.name == "fusesearch-nano"
    assert set(model.aliases) == {*TRAINED}
