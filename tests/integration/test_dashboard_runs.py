"""Training runs in a real MLflow store, as the dashboard reads them."""

from pathlib import Path

import pytest
from mlflow import MlflowClient
from streamlit.testing.v1 import AppTest

from dashboards.reading.runs import run_curve, training_runs
from tasks.core.errors import TrackingUnavailable
from tasks.pipeline.tracking import EXPERIMENT

APP = Path(__file__).parents[2] / "dashboards/app.py"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    root = tmp_path_factory.mktemp("store")
    client = MlflowClient(f"sqlite:///{root / 'mlflow.db'}")
    for name, stage in ((EXPERIMENT, "grpo"), (f"{EXPERIMENT}/nodes", "sft"), (EXPERIMENT, "mine"), ("another", "grpo")):
        found = client.get_experiment_by_name(name)
        experiment = found.experiment_id if found else client.create_experiment(name)
        tags = {"stage": stage, "profile": "nano", "seed": "3"} | ({"node": "sft-0123abcd"} if stage == "sft" else {})
        run = client.create_run(experiment, tags=tags)
        for step in range(3):
            client.log_metric(run.info.run_id, "reward", step / 2, step=step)
        client.log_metric(run.info.run_id, "stage_seconds", 9.0)
    return root


def test_runs_of_training_stages_are_found_with_what_tells_them_apart(store, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    found = training_runs(store)
    assert [(run.stage, run.label.rpartition(" · ")[0]) for run in found] == [
        ("sft", "sft-0123abcd · nano · seed 3"),
        ("grpo", "grpo · nano · seed 3"),
    ]


def test_a_run_s_histories_are_a_curve_and_single_figures_are_not(store, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    curve = run_curve(store, training_runs(store)[1])
    assert curve.rows == [{"step": 0.0, "reward": 0.0}, {"step": 1.0, "reward": 0.5}, {"step": 2.0, "reward": 1.0}]


def test_a_run_in_mlflow_is_laid_over_the_curves_of_the_page(store, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.chdir(store)
    page = AppTest.from_file(str(APP), default_timeout=300).run()
    page.switch_page("screens/training.py").run()
    page.toggle(key="mlflow").set_value(True).run()
    run = training_runs(store)[1]
    page.multiselect(key="runs").select(run.run_id).run()
    assert not page.exception
    assert list(page.dataframe[0].value["run"]) == [run.label]


def test_a_server_that_does_not_answer_is_one_clear_error(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    with pytest.raises(TrackingUnavailable, match=r"127\.0\.0\.1:9 does not answer: .*make serve"):
        training_runs(tmp_path)


def test_a_file_that_is_no_store_is_one_clear_error(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / "mlflow.db").write_text("not a database, but long enough to look like one to a careless reader" * 9)
    with pytest.raises(TrackingUnavailable, match=r"MLflow at sqlite.* failed"):
        training_runs(tmp_path)
