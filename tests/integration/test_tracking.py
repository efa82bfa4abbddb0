"""What MLflow remembers of a reproduction, on a real SQLite store."""

import subprocess

import pytest

from tasks import tracking
from tasks.core.config import Params
from tasks.core.errors import DataError, TrackingUnavailable
from tasks.core.progress import file_digest
from tasks.core.schema import Score
from tasks.evaluation.metrics import aggregate


@pytest.fixture
def project(tracked):
    return tracked


def runs(**tags):
    from mlflow import MlflowClient

    client = MlflowClient(tracking.tracking_uri())
    experiment = client.get_experiment_by_name(tracking.EXPERIMENT)
    found = client.search_runs([experiment.experiment_id], order_by=["attributes.start_time ASC"])
    return [run for run in found if all(run.data.tags.get(key) == value for key, value in tags.items())]


def record(stage="mine", params=None, values=None, inputs=()):
    return tracking.stage_run(stage, params or Params(), values or {}, inputs)


@pytest.mark.slow
def test_stages_of_a_reproduction_share_one_parent(project):
    with record("mine", values={"mine.workers": 2}) as run:
        run.log({"pairs": 3, "note": "no number", "absent": None})
    (project / "dvc.lock").write_text("schema: '2.0'\nstages: {}\n")  # written by DVC between stages
    with record("filter"):
        pass
    (parent,) = runs(kind="reproduction")
    children = runs(**{"mlflow.parentRunId": parent.info.run_id})
    assert [run.data.tags["stage"] for run in children] == ["mine", "filter"]
    assert children[0].data.params == {"mine.workers": "2"}
    assert children[0].data.metrics == {"pairs": 3.0}
    assert parent.data.params["sft.optimizer"] == Params().sft.optimizer
    assert {run.info.status for run in [parent, *children]} == {"FINISHED"}

    with record("mine", params=Params(seed=1)):
        pass
    (project / "rows.jsonl").write_text("{}\n{}\n")
    with record("mine", params=Params(seed=1)):
        pass
    assert len(runs(kind="reproduction")) == 3


@pytest.mark.slow
def test_a_run_says_what_it_was_made_from(project):
    with record("sft", params=Params(seed=7), inputs=[project / "rows.jsonl"]) as run:
        for step in (1, 2):
            run.log({"loss": 1 / step}, step=step)
    (made,) = runs(stage="sft")
    head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    tags = made.data.tags
    assert (tags["git.revision"], tags["git.dirty"], tags["profile"], tags["seed"]) == (head, "false", "nano", "7")
    assert tags["dvc.revision"] == file_digest(project / "dvc.lock")
    (dataset,) = made.inputs.dataset_inputs
    assert dataset.dataset.digest == file_digest(project / "rows.jsonl")
    curve = run.client.get_metric_history(made.info.run_id, "loss")
    assert [(point.step, point.value) for point in curve] == [(1, 1.0), (2, 0.5)]


@pytest.mark.slow
def test_arms_have_their_figures_under_fixed_names(project):
    scores = [
        Score(
            instance_id="i", f1=1.0, reward=1.0, efficiency=1.0, efficiency_call=0.5, turns=2, calls=2, calls_per_turn=2.0,
            failed_calls=0, seconds=1.0, seconds_model=0.5, seconds_tools=0.3, seconds_waiting=0.2, tokens_context=10,
            tokens_billed=20, tokens_prompt=15, tokens_completion=5, redundancy=0.0, redundancy_call=0.5, f1_best=1.0,
            predicted_files=["a"], true_files=["a"], predicted_functions=["a::f"], true_functions=["a::f"],
        )
    ]  # fmt: skip
    figures = tracking.summary(aggregate(scores))
    assert set(figures) == set(tracking.METRICS)
    with record("evaluate") as run, run.arm("sft+rl") as arm:
        arm.log(figures)
    (made,) = runs(arm="sft+rl")
    assert made.data.metrics == figures
    assert made.data.tags["mlflow.parentRunId"] == runs(kind="reproduction")[0].info.run_id


@pytest.mark.slow
def test_a_checkpoint_becomes_versions_of_one_model(project):
    checkpoint = project / "checkpoint"
    checkpoint.mkdir()
    (checkpoint / "config.json").write_text("{}")
    with record("sft") as run:
        assert [run.register("student", checkpoint) for _ in range(2)] == ["1", "1"]
        (checkpoint / "config.json").write_text("{ }")
        assert run.register("student", checkpoint, alias="sft") == "2"
        version = run.client.get_model_version_by_alias("student", "sft")
    assert version.run_id == run.run_id
    assert version.source.endswith("/checkpoint")


@pytest.mark.slow
def test_a_failed_stage_is_failed_and_so_is_its_parent(project):
    with pytest.raises(DataError), record("mine"):
        raise DataError("nothing was found")
    assert {run.info.status for run in runs()} == {"FAILED"}
    with record("mine"):
        pass
    assert [run.info.status for run in runs(kind="reproduction")] == ["FINISHED"]


@pytest.mark.slow
def test_a_server_that_is_down_is_one_clear_line(project, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    with pytest.raises(TrackingUnavailable, match=r"MLflow server at http://127\.0\.0\.1:9 does not answer") as caught, record():
        pass
    assert "\n" not in str(caught.value)
