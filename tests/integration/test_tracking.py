"""What MLflow has of finished runs, on a real SQLite store."""

import json
import shutil
from contextlib import suppress
from pathlib import Path

import mlflow.genai.datasets
import pytest
from typer.testing import CliRunner

from flows.__main__ import app
from fusesearch.core.config import Params
from fusesearch.core.errors import DataError, TrackingUnavailable
from fusesearch.core.schema import Answer, Instance, Location, Observation, Score, ToolCall, Trajectory, Truth, Turn, Usage
from fusesearch.core.storage import write_instances, write_jsonl, write_text
from fusesearch.evaluation.metrics import COUNTS, METRICS, aggregate
from fusesearch.reporting.experiment.results import read_results
from tasks.running.record import RunRecord, digests, reproduction_record, stage_record, write_record
from tasks.tracking import EXPERIMENT, Live, track, tracking_uri
from tasks.tracking.projection import RECORDED
from tasks.tracking.store import locked_client, make_client
from tests.fakes.local_server import LocalServer, by
from tests.fakes.waiting import wait_for

ROOT = Path(__file__).parents[2]


def runs(experiment=EXPERIMENT, **tags):
    client = make_client(tracking_uri())
    known = client.get_experiment_by_name(experiment)
    found = client.search_runs([known.experiment_id], order_by=["attributes.start_time ASC"]) if known else []
    return [run for run in found if all(run.data.tags.get(key) == value for key, value in tags.items())]


def stages(experiment=EXPERIMENT):
    return [run for run in runs(experiment) if run.data.tags["kind"] in ("stage", "node") and "arm" not in run.data.tags]


def history(run, name):
    return [(point.step, point.value) for point in make_client(tracking_uri()).get_metric_history(run.info.run_id, name)]


def artifacts(run, folder=None):
    return {row.path for row in make_client(tracking_uri()).list_artifacts(run.info.run_id, folder)}


def held_out(name):
    truth = Truth(files=["a.py"], functions=["a.py::f"])
    return Instance(instance_id=name, repo="o/r", base_commit="c", problem_statement="p", patch="x", truth=truth)


def begin(stage="mine", params=None, values=None, inputs=(), node=""):
    params = params or Params()
    parent = None if node else reproduction_record(params)
    if parent:
        write_record(parent)
    return stage_record(stage, params, values or {}, digests(inputs), node=node, parent=parent)


def run_stage(stage="mine", outputs=(), metrics=None, **more):
    """A stage that runs without any live run; returns its record."""
    return finish(begin(stage, **more), outputs, metrics)


def finish(began, outputs=(), metrics=None):
    done = began.complete(digests(outputs), metrics or {})
    write_record(done)
    track(done)
    return done


def curve(path, *rows):
    write_text(path, "step,epoch,reward,note\n" + "".join(f"{step},0.1,{value},x\n" for step, value in rows))
    return path


def traces(query=None):
    client = make_client(tracking_uri())
    known = client.get_experiment_by_name(EXPERIMENT)
    return client.search_traces(locations=[known.experiment_id], filter_string=query, order_by=["attributes.request_id"])


def models():
    """Name, status, tags and points of every logged model."""
    client = make_client(tracking_uri())
    found = client.search_logged_models([client.get_experiment_by_name(EXPERIMENT).experiment_id])
    points = [sorted((row.key, row.step, row.value, row.dataset_name) for row in model.metrics or []) for model in found]
    return [(model.name, str(model.status), model.tags, rows) for model, rows in zip(found, points, strict=True)]


def snapshot():
    """Everything that the store has of runs, versions and files."""
    client = make_client(tracking_uri())
    experiments = [row.experiment_id for row in client.search_experiments()]
    found = sorted(client.search_runs(experiments, max_results=1000), key=lambda run: run.info.run_id)
    points = [
        (run.info.run_id, name, [dict(row) for row in client.get_metric_history(run.info.run_id, name)])
        for run in found
        for name in run.data.metrics
    ]
    versions = [dict(row) for row in client.search_model_versions()]
    known = [[trace.to_dict() for trace in traces()], models(), [row.to_dict() for row in client.search_datasets()]]
    return [run.to_dictionary() for run in found], points, versions, known, [artifacts(run) for run in found]


def test_stages_of_a_reproduction_share_one_parent(tracked):
    run_stage("mine", values={"mine.workers": 2}, metrics={"pairs": 3, "kinds": {"swap": 1}, "note": "no number", "absent": None})
    (tracked / "dvc.lock").write_text("schema: '2.0'\nstages: {}\n")  # written by DVC between stages
    run_stage("filter")
    (parent,) = runs(kind="reproduction")
    children = runs(**{"mlflow.parentRunId": parent.info.run_id})
    assert [run.data.tags["stage"] for run in children] == ["mine", "filter"]
    assert children[0].data.params == {"mine.workers": "2"}
    counted = {key: value for key, value in children[0].data.metrics.items() if "seconds" not in key}
    assert counted == {"pairs": 3.0, "kinds.swap": 1.0}
    assert parent.data.params["sft.optimizer"] == Params().sft.optimizer
    assert {run.info.status for run in [parent, *children]} == {"FINISHED"}

    run_stage("mine", params=Params(seed=1))
    (tracked / "rows.jsonl").write_text("{}\n{}\n")
    run_stage("mine", params=Params(seed=1))
    assert len(runs(kind="reproduction")) == 3


@pytest.mark.parametrize(
    ("node", "experiment", "kind"), [("", EXPERIMENT, "stage"), ("sft-1a2b3c4d", "fusesearch/nodes", "node")]
)
def test_a_run_says_what_it_was_made_from(tracked, node, experiment, kind):
    split = tracked / "data/splits/validation.parquet"
    write_instances(split, [held_out(str(number)) for number in range(3)])
    done = run_stage("sft", params=Params(seed=7), inputs=[split, tracked / "rows.jsonl"], node=node)
    (made,) = runs(experiment, stage="sft")
    tags = made.data.tags
    assert (tags["kind"], tags.get("node", "")) == ("node" if node else "stage", node)
    assert ("mlflow.parentRunId" in tags) is not bool(node)
    assert (tags["git.revision"], tags["git.dirty"], tags["profile"], tags["seed"]) == (done.git_revision, "true", "nano", "7")
    assert tags["dvc.revision"] == digests([Path("dvc.lock")])["dvc.lock"]
    found = {Path(row.dataset.name).name: row for row in made.inputs.dataset_inputs}
    assert {name: row.tags[0].value for name, row in found.items()} == {"validation.parquet": "validation", "rows.jsonl": "sft"}
    assert found["validation.parquet"].dataset.source_type == "local"
    assert found["rows.jsonl"].dataset.digest == digests([tracked / "rows.jsonl"])[str(tracked / "rows.jsonl")]


def reproduced(tracked):
    """Records of a training stage and of its checkpoint's evaluation."""
    folder, split, start = Path("artifacts/grpo"), Path("data/splits/validation.parquet"), Path("artifacts/sft/checkpoint")
    curve(folder / "curve.csv", (1, 0.25), (2, 0.5))
    write_text(folder / "times.csv", "step,train_seconds\n1,3.5\n2,3.25\n")
    for name in ("drops.json", "weights.bin", "checkpoint/config.json"):
        write_text(folder / name, "{}")
    start.mkdir(parents=True)
    write_instances(tracked / split, [held_out("i0"), held_out("i1")])
    made = [folder / name for name in ("curve.csv", "checkpoint", "drops.json", "weights.bin")]
    trained = run_stage("grpo", outputs=made, inputs=[start, Path("rows.jsonl")])
    cells = {"evaluate.cells": {"rl": {"localizer": "fusesearch", "checkpoint": "grpo"}}}
    scores = evaluated(Path("artifacts/evaluate"), rl=[0.0, 1.0])
    return trained, run_stage(
        "evaluate", outputs=[scores], inputs=[folder / "checkpoint", split], values=cells, metrics={"a": 0.5}
    )


def test_curves_tables_and_checkpoints_come_from_the_artifacts(tracked):
    reproduced(tracked)
    (made,) = runs(stage="grpo")
    assert history(made, "reward") == [(1, 0.25), (2, 0.5)]
    assert history(made, "train_seconds") == [(1, 3.5), (2, 3.25)]  # a file beside the curve, of which DVC knows nothing
    assert artifacts(made) == {"checkpoint", "drops.json"}
    client = make_client(tracking_uri())
    version = client.get_model_version_by_alias("fusesearch-nano", "grpo")
    assert (str(version.version), version.run_id, version.source.endswith("/checkpoint")) == ("1", made.info.run_id, True)
    assert made.info.run_name == "grpo: sft on rows"

    checkpoint = Path("artifacts/grpo/checkpoint")
    (checkpoint / "config.json").write_text("{ }")
    run_stage("grpo", outputs=[checkpoint])
    (checkpoint / "config.json").write_text("{}")
    run_stage("grpo", values={"a": 1}, outputs=[checkpoint])
    assert str(client.get_model_version_by_alias("fusesearch-nano", "grpo").version) == "1"  # it is that checkpoint again
    assert len(client.search_model_versions("name = 'fusesearch-nano'")) == 2


def score(number, f1, arm):
    return Score(
        instance_id=f"i{number}", repo="o/r", arm=arm, f1=f1, reward=f1, efficiency=0.5, turns=2, calls=3, seconds=1.0,
        tokens_prompt=80, tokens_completion=10, tokens_billed=90,
        predicted_files=["a.py"] if f1 else [], true_files=["a.py"], true_functions=["a.py::f"],
    )  # fmt: skip


def evaluated(folder, **arms):
    """The scores of all arms of an evaluation, and their episodes."""
    scores = [score(number, value, arm) for arm, values in arms.items() for number, value in enumerate(values)]
    write_jsonl(folder / "scores.jsonl", scores)
    for arm in arms:
        own = [row for row in scores if row.arm == arm]
        write_jsonl(folder / "cells" / arm / "scores.jsonl", own)
        write_jsonl(folder / "cells" / arm / "trajectories.jsonl", [episode(row.instance_id) for row in own])
    return folder / "scores.jsonl"


def episode(instance):
    """A call that fails beside one that does not, then the answer."""
    calls = [ToolCall(id=str(number), name="grep", arguments={"pattern": "f"}) for number in range(2)]
    seen = [Observation(call_id="0", output="/repo/a.py:1:def f", seconds=0.5), Observation(call_id="1", output="no", error="x")]
    usage = Usage(prompt_tokens=40, completion_tokens=5, seconds=1.5)
    turns = [Turn(text="look", calls=calls, observations=seen, usage=usage, seconds_tools=0.5), Turn(text="é", usage=usage)]
    answer = Answer(modify=[Location(path="a.py", function="f")])
    return Trajectory(
        instance_id=instance, localizer="fusesearch", system="", issue="f is wrong", turns=turns, answer=answer, seconds=4
    )


def test_every_evaluated_episode_is_a_trace_to_search(tracked):
    run_stage("evaluate", outputs=[evaluated(Path("artifacts/evaluate"), base=[0.0, 1.0], sft=[1.0])])
    assert len(traces()) == 3
    (failed,) = traces("feedback.f1 < 0.5 and tags.arm = 'base'")
    info = failed.info
    assert (info.trace_metadata["mlflow.sourceRun"], info.request_preview) == (runs(arm="base")[0].info.run_id, "f is wrong")
    values = {row.name: (row.feedback or row.expectation).value for row in info.assessments}
    truth = {"files": ["a.py"], "functions": ["a.py::f"]}
    assert values == {"f1": 0.0, "efficiency": 0.5, "reward": 0.0, "truth": truth}
    names = {span.span_id: span.name for span in failed.data.spans}
    seen = [
        (span.name, names.get(span.parent_id), span.span_type, (span.end_time_ns - span.start_time_ns) / 1e9, span.outputs)
        for span in sorted(failed.data.spans, key=lambda span: (span.name, span.start_time_ns, str(span.outputs)))
    ]
    grep = ("grep", "turn 1", "TOOL")
    assert seen == [
        ("episode", None, "AGENT", 4.0, ["a.py::f"]), (*grep, 0.5, "/repo/a.py:1:def f"), (*grep, 0.0, "no"),
        ("turn 1", "episode", "LLM", 2.0, "look"), ("turn 2", "episode", "LLM", 1.5, "é"),
    ]  # fmt: skip
    assert [span.outputs for span in failed.data.spans if span.status.status_code == "ERROR"] == ["no"]
    assert info.token_usage["total_tokens"] == 90


def test_every_evaluated_arm_has_its_figures(tracked):
    path = evaluated(Path("artifacts/evaluate"), base=[0.0] * 12, sft=[number / 12 for number in range(12)])
    run_stage("evaluate", outputs=[path])
    (parent,) = runs(kind="reproduction")
    made = {run.data.tags["arm"]: run for run in runs(**{"mlflow.parentRunId": parent.info.run_id}) if "arm" in run.data.tags}
    assert set(made) == {"base", "sft"}
    arm = made["sft"]
    assert (arm.info.run_name, arm.info.status, arm.data.tags["stage"]) == ("evaluate/sft", "FINISHED", "evaluate")
    figures = aggregate([score(number, number / 12, "sft") for number in range(12)])
    assert arm.data.metrics == {key: value for key, value in figures.items() if value is not None}
    assert set(arm.data.metrics) <= {*METRICS, *COUNTS}


def test_a_checkpoint_is_a_model_with_its_metrics_by_step_and_held_out_issues_are_a_dataset(tracked):
    trained, scored = reproduced(tracked)
    ((name, status, tags, points),) = models()
    assert (name, status, tags["digest"]) == ("nano-grpo-seed-0", "READY", trained.outputs["artifacts/grpo/checkpoint"])
    assert json.loads(tags["mlflow.modelVersions"]) == [{"name": "fusesearch-nano", "version": "1"}]
    by_step = [("reward", 0, 0.5, "data/splits/validation.parquet"), ("reward", 1, 0.25, None), ("reward", 2, 0.5, None)]
    assert [point for point in points if point[0] == "reward"] == by_step
    (dataset,) = make_client(tracking_uri()).search_datasets()
    assert dataset.tags["dvc.md5"] == scored.inputs["data/splits/validation.parquet"]
    found = mlflow.genai.datasets.get_dataset(dataset_id=dataset.dataset_id).to_df()
    assert {row["instance_id"] for row in found["inputs"]} == {"i0", "i1"}
    assert all("patch" not in row for row in found["inputs"])
    assert found["expectations"][0] == {"files": ["a.py"], "functions": ["a.py::f"]}


def test_recording_twice_changes_nothing(tracked):
    trained, scored = reproduced(tracked)
    before = snapshot()
    for done in (trained, scored):
        track(done)
    assert snapshot() == before
    client = make_client(tracking_uri())
    for run in runs():  # without the mark that it is there, everything is looked at again
        if RECORDED in run.data.tags:
            client.delete_tag(run.info.run_id, RECORDED)
    said = CliRunner().invoke(app, ["track"])
    assert (said.exit_code, said.stdout.partition(" recorded")[0]) == (0, "3 of 3 runs")
    runs_after, *after = snapshot()
    assert after == list(before[1:])
    assert [row["data"]["metrics"] for row in runs_after] == [row["data"]["metrics"] for row in before[0]]


def test_an_empty_store_is_filled_from_records_and_artifacts(tracked, empty_store, caplog):
    run_stage("evaluate", outputs=[evaluated(Path("artifacts/evaluate"), base=[0.0, 1.0])])
    stale = Path("artifacts/select/drops.json")
    write_text(stale, "{}")
    run_stage("select", outputs=[stale])
    stale.write_text("{ }")  # another run has written it since
    Path("mlflow.db").write_bytes(empty_store.read_bytes())
    said = CliRunner().invoke(app, ["track"])
    assert (said.exit_code, said.stdout) == (0, f"3 of 3 runs recorded in {tracking_uri()}, 0 were there\n")
    named = {run.info.run_name for run in runs() if run.data.tags["kind"] != "reproduction"}
    assert named == {"evaluate", "evaluate/base", "select"}
    (select,) = runs(stage="select")
    assert artifacts(select) == set()
    assert CliRunner().invoke(app, ["track"]).stdout.startswith("0 of 3 runs recorded")


@pytest.mark.parametrize("killed", [False, True])
def test_live_points_and_the_curve_make_one_run_also_after_a_kill(tracked, killed):
    rows = [{"step": 0, "validation/f1": 0.5}, {"step": 1, "reward": 0.25, "note": "x"}]

    def live_run(rows, error=None):
        began = begin("grpo", inputs=[Path("rows.jsonl")])
        with suppress(DataError), Live(began) as live:
            for row in rows:
                live.log(row)
            wait_for(lambda: stages() and len(history(stages()[0], "reward")) == len(rows) - 1)
            assert {run.info.status for run in runs()} == {"RUNNING"}
            if error:
                raise error
        return began

    if killed:
        live_run(rows, DataError("the machine went away"))
        wait_for(lambda: {run.info.status for run in runs()} == {"FAILED"})
        make_client(tracking_uri()).update_run(stages()[0].info.run_id, status="RUNNING")  # as a killed process leaves it
    began = live_run([*rows, {"step": 2, "reward": 0.5}] if killed else rows)
    finish(began, [curve(Path("artifacts/grpo/curve.csv"), (1, 0.25), (2, 0.5))], {"examples": 3})
    (made,) = stages()
    assert (made.info.status, made.data.tags.get("resumed")) == ("FINISHED", "true" if killed else None)
    assert (history(made, "reward"), history(made, "validation/f1")) == ([(1, 0.25), (2, 0.5)], [(0, 0.5)])
    assert made.data.metrics["examples"] == 3.0


def test_a_deleted_run_stays_deleted(tracked):
    done = run_stage("mine")
    (mine,) = runs(stage="mine")
    make_client(tracking_uri()).delete_run(mine.info.run_id)
    track(done)
    assert runs(stage="mine") == []


def test_files_that_the_store_has_no_place_for_keep_nothing_else_from_it(tracked, caplog):
    make_client(tracking_uri()).create_experiment(EXPERIMENT, artifact_location="mlflow-artifacts:/1")
    page = Path("artifacts/report/report.md")
    write_text(page, "# Report")
    run_stage("report", outputs=[page], metrics={"pairs": 3})
    (made,) = runs(stage="report")
    assert (made.info.status, made.data.metrics["pairs"]) == ("FINISHED", 3.0)
    assert runs(kind="reproduction")[0].data.metrics["pairs"] == 3.0
    assert caplog.text.count("`python -m flows track`") == 1
    assert CliRunner().invoke(app, ["track"]).exit_code == 1


def arms(folder, values, seeds=(0, 1), nodes=None):
    """Records of an experiment: an arm per name and seed, which scored ``values``."""
    parent = RunRecord(kind="experiment", key="experiment-key", name="Reward", experiment="reward", profile="nano")
    made = []
    for arm, f1 in values.items():
        for seed in seeds:
            place = folder / f"{arm}{seed}"
            path = evaluated(place / "evaluate", **{arm: f1})
            node = (nodes or {}).get("grpo", f"grpo-{arm}{seed}")
            made.append(RunRecord(
                kind="arm", name=f"{arm.upper()} seed {seed}", experiment="reward", arm=arm, seed=seed, profile="nano",
                stage="grpo", params={"arm": arm, "seed": seed}, parent=parent.key,
                tags={"label": arm.upper(), "evaluated": arm, "node.grpo": node},
                outputs=digests([path, curve(folder / f"grpo-{seed:08}/curve.csv", (1, 0.25), (2, 0.5))]),
                key=f"{arm}{seed}{f1}{node}".replace(" ", ""),
            ))  # fmt: skip
    folder = folder / "results"
    for name in ("RESULTS.md", "figures/forest.svg"):
        write_text(folder / name, "x")
    files = digests([folder / "RESULTS.md", folder / "figures"])
    parent = parent.model_copy(update={"current": [row.key for row in made], "outputs": files, "tags": {"verdict": "undecided"}})
    for row in (parent, *made):
        write_record(row)
    for row in (*made, parent):
        track(row)


def test_an_experiment_has_a_child_per_arm_and_seed_and_the_newest_are_current(tracked):
    arms(tracked / "artifacts", {"f1": [1.0, 0.0], "gone": [1.0, 1.0]})
    arms(tracked / "artifacts", {"f1": [0.0, 0.0]}, seeds=[0], nodes={"grpo": "grpo-of-other-params"})
    (parent,) = runs("fusesearch/reward", kind="experiment")
    assert (artifacts(parent), parent.data.tags["verdict"]) == ({"RESULTS.md", "figures"}, "undecided")
    found = runs("fusesearch/reward", **{"mlflow.parentRunId": parent.info.run_id})
    assert {run.info.status for run in found} == {"FINISHED"}
    assert history(found[0], "grpo/reward") == [(1, 0.25), (2, 0.5)]
    current = [run for run in found if run.data.tags["current"] == "true"]
    assert len(found) == 5
    assert [(run.data.tags["arm"], run.data.tags["seed"], run.data.metrics["reward"]) for run in current] == [("f1", "0", 0.0)]


def test_a_server_that_rejects_the_credentials_says_what_to_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    guarded = by(lambda request, _: (200 if request.path == "/health" else 401, "You are not authenticated."))
    hint = "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"
    with LocalServer(guarded) as server, pytest.raises(TrackingUnavailable, match=hint), locked_client(server.address) as client:
        client.search_experiments()


def test_committed_results_of_an_experiment_are_runs_to_compare_until_it_runs_here(tracked):
    for name in ("params.yaml", "experiments/stages/experiment.yaml", "experiments/stages/results.json"):
        (tracked / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tracked / name)
    results = read_results(tracked / "experiments/stages")
    for made in (1 + sum(len(arm.seeds) for arm in results.arms), 0):
        assert CliRunner().invoke(app, ["track"]).stdout.startswith(f"{made} of ")
    arm = results.arm("sft+rl")
    (run,) = runs("fusesearch/stages", arm="sft+rl", seed="1")
    assert (run.data.tags["committed"], run.data.tags["git.revision"]) == ("true", results.revision.partition("+")[0])
    assert run.data.params == {"arm": "sft+rl", "seed": "1", "grpo.start": "sft"}
    assert {name: run.data.metrics[name] for name in arm.figures} == {name: row.by_seed[1] for name, row in arm.figures.items()}
    (study,) = runs("fusesearch/stages", kind="experiment")
    assert run.data.tags["mlflow.parentRunId"] == study.info.run_id
    assert results.summary in study.data.tags["mlflow.note.content"]
