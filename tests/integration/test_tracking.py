"""What MLflow remembers of a reproduction, on a real SQLite store."""

import json
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from tasks.core.config import Params
from tasks.core.digests import file_digest
from tasks.core.errors import DataError, TrackingUnavailable
from tasks.core.schema import Instance, Score
from tasks.core.storage import write_instances
from tasks.evaluation.metrics import aggregate
from tasks.pipeline import tracking
from tasks.pipeline.tracking import outbox, stages
from tasks.pipeline.tracking.store import make_client
from tasks.pipeline.tracking.writes import Write, Writer


@pytest.fixture
def project(tracked):
    return tracked


def runs(**tags):
    from mlflow import MlflowClient

    client = MlflowClient(tracking.tracking_uri())
    experiment = client.get_experiment_by_name(tracking.EXPERIMENT)
    found = client.search_runs([experiment.experiment_id], order_by=["attributes.start_time ASC"])
    return [run for run in found if all(run.data.tags.get(key) == value for key, value in tags.items())]


def record(stage="mine", params=None, values=None, inputs=(), **more):
    return tracking.stage_run(stage, params or Params(), values or {}, inputs, **more)


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
def test_a_reproduction_whose_first_stage_was_cut_off_at_once_has_its_params(project, monkeypatch):
    def cut(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(stages, "create", cut)
        with pytest.raises(KeyboardInterrupt), record("mine"):
            pytest.fail("it was cut off")
    with record("mine"):
        pass
    (parent,) = runs(kind="reproduction")
    assert parent.data.params["sft.optimizer"] == Params().sft.optimizer


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
def test_datasets_say_what_they_are_for_and_what_is_in_them(project):
    split = project / "data/splits/validation.parquet"
    write_instances(split, [Instance(instance_id="i", repo="o/r", base_commit="c", problem_statement="p", patch="")] * 3)
    with record("evaluate", inputs=[split, project / "rows.jsonl"]):
        pass
    (made,) = runs(stage="evaluate")
    found = {Path(row.dataset.name).name: row for row in made.inputs.dataset_inputs}
    contexts = {name: row.tags[0].value for name, row in found.items()}
    assert contexts == {"validation.parquet": "validation", "rows.jsonl": "evaluate"}
    assert json.loads(found["validation.parquet"].dataset.profile) == {"num_rows": 3}
    assert "problem_statement" in found["validation.parquet"].dataset.schema
    assert found["validation.parquet"].dataset.source_type == "local"


@pytest.mark.slow
def test_a_left_run_goes_on_and_no_step_is_there_twice(project):
    with suppress(DataError), record("grpo") as left:
        left.log({"reward": 1.0}, step=1)
        left.log({"reward": 2.0}, step=2)
        raise DataError("the machine went away")
    assert [run.info.status for run in runs(stage="grpo")] == ["FAILED"]
    with record("grpo", left=left.record) as again:
        for step in (2, 3):
            again.log({"reward": float(step), "seconds": 7.0}, step=step)
    (made,) = runs(stage="grpo")
    assert (made.info.status, made.info.run_id, made.data.tags["resumed"]) == ("FINISHED", left.run_id, "true")
    points = again.client.get_metric_history(made.info.run_id, "reward")
    assert [(point.step, point.value) for point in points] == [(1, 1.0), (2, 2.0), (3, 3.0)]

    with record("grpo", params=Params(seed=9), left=left.record):
        pass
    assert len(runs(stage="grpo")) == 2


@pytest.mark.slow
def test_a_killed_run_that_nobody_goes_on_in_is_closed_and_so_is_its_reproduction(project):
    with record("grpo") as left:
        pass
    for open_run in (left, left.parent):
        left.client.update_run(open_run.run_id, status="RUNNING")
    with record("grpo", params=Params(seed=9), left=left.record) as run:
        pass
    status = {row.info.run_id: row.info.status for row in runs()}
    assert [status[row.run_id] for row in (left, left.parent)] == ["KILLED", "KILLED"]
    assert [status[row.run_id] for row in (run, run.parent)] == ["FINISHED", "FINISHED"]


@pytest.mark.slow
def test_a_node_of_an_experiment_has_a_run_of_its_own(project):
    with record("sft", params=Params(seed=3), values={"sft.epochs": 2}, node="sft-1a2b3c4d"):
        pass
    client = make_client(tracking.tracking_uri())
    (made,) = client.search_runs([client.get_experiment_by_name("fusesearch/nodes").experiment_id])
    tags = made.data.tags
    assert (tags["node"], tags["stage"], tags["seed"], tags["kind"]) == ("sft-1a2b3c4d", "sft", "3", "node")
    assert "mlflow.parentRunId" not in tags
    assert not tracking.REPRODUCTION.exists()


@pytest.mark.slow
def test_every_write_can_be_made_twice(project):
    sent = []

    class Twice(Writer):
        def apply(self, write):
            sent.append(write)
            super().apply(write)
            return super().apply(write)

    (project / "note.txt").write_text("n")
    with record("sft", values={"a": 1}, inputs=[project / "rows.jsonl"]) as run:
        run.outbox.writer.__class__ = Twice
        run.log({"loss": 0.5}, step=1)
        run.log({"examples": 3})
        run.log_table({"instance_id": ["a"]}, "rows.json")
        run.log_file(project / "note.txt")
        run.log_text("x", "page.html")
        run.describe("words")
        with run.arm("sft"):
            pass
    assert {"metrics", "table", "file", "text", "tags", "create", "status"} <= {write.kind for write in sent}
    (made,) = runs(stage="sft", arm="sft")
    (made,) = [row for row in runs(stage="sft") if "arm" not in row.data.tags]
    for name in ("loss", "examples"):
        assert len(run.client.get_metric_history(made.info.run_id, name)) == 1
    table = run.client.download_artifacts(made.info.run_id, "rows.json", str(project))
    assert json.loads(Path(table).read_text())["data"] == [["a"]]


def test_runs_that_name_the_same_dataset_at_once_all_have_it(project):
    uri = tracking.tracking_uri()
    writers = {f"run-{number}": Writer(uri) for number in range(8)}
    for key, writer in writers.items():
        writer.apply(Write(store=uri, run=key, kind="create", data={"experiment": "x", "name": key, "tags": {}}))
    together = threading.Barrier(len(writers))

    def name_it(key: str) -> None:
        row = {"name": "splits", "digest": "d", "context": "training", "rows": 1}
        together.wait()
        writers[key].apply(Write(store=uri, run=key, kind="inputs", data={"datasets": [row]}))

    with ThreadPoolExecutor(len(writers)) as pool:
        list(pool.map(name_it, writers))  # MLflow refuses some of them the first time
    for key, writer in writers.items():
        (found,) = writer.client.get_run(writer.id_of(key)).inputs.dataset_inputs
        assert found.dataset.digest == "d"


@pytest.mark.slow
def test_system_metrics_are_recorded_where_they_are_switched_on(project, monkeypatch):
    monkeypatch.setenv("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "true")
    monkeypatch.setenv("MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL", "0.2")
    with record("sft") as run:
        deadline = time.monotonic() + 60
        while not any(name.startswith("system/") for name in run.client.get_run(run.run_id).data.metrics):
            assert time.monotonic() < deadline
            time.sleep(0.2)
    assert "system/cpu_utilization_percentage" in run.client.get_run(run.run_id).data.metrics


@pytest.mark.parametrize(
    ("stage", "switch", "expected"),
    [("sft", None, True), ("sft", "false", False), ("mine", None, False), ("mine", "true", True)],
)
def test_system_metrics_are_those_of_training_unless_somebody_says_otherwise(monkeypatch, stage, switch, expected):
    started = []
    monkeypatch.setattr(stages, "_monitor", lambda run: started.append(run))
    monkeypatch.delenv(stages.SYSTEM, raising=False)
    if switch:
        monkeypatch.setenv(stages.SYSTEM, switch)
    with stages.system_metrics(SimpleNamespace(run_id="1"), stage):
        pass
    assert bool(started) == expected


@pytest.mark.slow
def test_training_goes_on_where_nothing_can_be_measured(project, monkeypatch):
    import psutil

    monkeypatch.setattr(psutil, "net_io_counters", lambda: None)
    with record("sft") as run:
        run.log({"examples": 3})
    assert runs(stage="sft")[0].info.status == "FINISHED"


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


@pytest.mark.slow
def test_an_experiment_that_was_deleted_is_restored_and_recorded_in(project, caplog):
    with record("mine") as run:
        run.client.delete_experiment(run.client.get_run(run.run_id).info.experiment_id)
    with record("filter"):
        pass
    assert "MLflow's experiment fusesearch was deleted" in caplog.text
    assert [run.info.status for run in runs(stage="filter")] == ["FINISHED"]


@pytest.mark.slow
def test_files_that_the_store_has_no_place_for_keep_nothing_else_from_it(project):
    make_client(tracking.tracking_uri()).create_experiment(tracking.EXPERIMENT, artifact_location="mlflow-artifacts:/1")
    with record("mine") as run:
        run.log_text("a page", "page.html")
        run.log({"pairs": 3})
    (made,) = runs(stage="mine")
    assert (made.info.status, made.data.metrics) == ("FINISHED", {"pairs": 3.0})
    ((_, left),) = outbox._left()
    assert [write.kind for write in left] == ["text"]
