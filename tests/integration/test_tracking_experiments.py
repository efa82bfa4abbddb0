"""What MLflow keeps of an experiment, on a real SQLite store: compared, filtered and grouped by arm and seed, and once."""

import pytest

from tasks.core.config import Params
from tasks.core.schema import Answer, Location, Score, Trajectory
from tasks.core.storage import write_jsonl
from tasks.pipeline import tracking
from tasks.pipeline.tracking.episodes import TABLE, log_episodes
from tasks.pipeline.tracking.experiments import log_results
from tasks.pipeline.tracking.registry import CHAMPION, champion
from tasks.pipeline.tracking.store import make_client

pytestmark = pytest.mark.slow


def score(number, f1, arm):
    return Score(
        instance_id=f"i{number}", repo="o/r", arm=arm, f1=f1, reward=f1, efficiency=0.5, turns=2, calls=3, seconds=1.0,
        predicted_files=["a.py"] if f1 else [], true_files=["a.py"], true_functions=["a.py::f"],
    )  # fmt: skip


def scores(arm, *f1):
    return [score(number, value, arm) for number, value in enumerate(f1)]


def trajectories(path):
    rows = [
        Trajectory(
            instance_id=f"i{number}", repo="o/r", base_commit="c" * 40, localizer="fusesearch", model="m", system="s",
            issue="<script>alert(1)</script>", answer=Answer(modify=[Location(path="a.py")]),
        )
        for number in range(4)
    ]  # fmt: skip
    write_jsonl(path, rows)
    return path


def record(folder, arms, seeds=(0, 1), nodes=None):
    curve = folder / "curve.csv"
    curve.write_text("step,reward,note\n1,0.25,x\n2,0.5,\n")
    episodes = trajectories(folder / "episodes.jsonl")
    with tracking.experiment_run("reward", profile="nano", title="Reward", description="Which reward?") as parent:
        made = [
            tracking.arm_run(
                parent, arm, seed, nodes=nodes or {"grpo": f"grpo-{arm}{seed}"}, values={"grpo.reward": arm},
                scores=scores(arm, *f1), trajectories=episodes, curves={"grpo": curve}, stage="grpo", label=arm.upper(),
            )
            for arm, f1 in arms.items()
            for seed in seeds
        ]  # fmt: skip
        tracking.mark_current(parent, made)
    return parent


def children(parent):
    client = make_client(tracking.tracking_uri())
    runs = client.search_runs([client.get_experiment_by_name("fusesearch/reward").experiment_id])
    return client, [run for run in runs if run.data.tags.get("mlflow.parentRunId") == parent.run_id]


def test_an_experiment_has_a_child_per_arm_and_seed_that_stands_alone(tracked):
    parent = record(tracked, {"f1": [1.0, 0.0], "f1+e": [1.0, 1.0]})
    client, found = children(parent)
    assert {(run.data.tags["arm"], run.data.tags["seed"]) for run in found} == {(a, s) for a in ("f1", "f1+e") for s in "01"}
    assert {run.info.status for run in found} == {"FINISHED"}
    run = next(run for run in found if run.info.run_name == "F1+E seed 1")
    tags = run.data.tags
    assert (tags["experiment"], tags["kind"], tags["stage"], tags["node.grpo"]) == ("reward", "arm", "grpo", "grpo-f1+e1")
    assert (tags["profile"], tags["current"], len(tags["git.revision"])) == ("nano", "true", 40)
    assert run.data.params == {"arm": "f1+e", "seed": "1", "checkpoint": "grpo", "grpo.reward": "f1+e"}
    assert run.data.metrics["reward"] == 1.0
    curve = client.get_metric_history(run.info.run_id, "grpo/reward")
    assert [(point.step, point.value) for point in curve] == [(1, 0.25), (2, 0.5)]
    kept = {row.path for row in client.list_artifacts(run.info.run_id)}
    assert kept == {TABLE, "scores.jsonl", "episodes"}
    pages = client.list_artifacts(run.info.run_id, "episodes")
    assert len(pages) == 2  # of the instances that have a score
    assert "<script>" not in (tracked / client.download_artifacts(run.info.run_id, pages[0].path, str(tracked))).read_text()


def test_recorded_again_nothing_changes_and_what_is_new_takes_its_place(tracked):
    parent = record(tracked, {"f1": [1.0, 0.0]})
    _, before = children(parent)
    again = record(tracked, {"f1": [1.0, 0.0]})
    assert again.run_id == parent.run_id
    _, after = children(parent)
    assert [run.to_dictionary() for run in after] == [run.to_dictionary() for run in before]

    record(tracked, {"f1": [1.0, 1.0]}, seeds=[0])
    _, found = children(parent)
    states = {(run.data.tags["seed"], run.data.metrics["reward"], run.data.tags["current"]) for run in found}
    assert states == {("0", 0.5, "false"), ("0", 1.0, "true"), ("1", 0.5, "false")}

    record(tracked, {"f1": [1.0, 0.0]})
    _, found = children(parent)
    states = {(run.data.tags["seed"], run.data.metrics["reward"], run.data.tags["current"]) for run in found}
    assert states == {("0", 0.5, "true"), ("0", 1.0, "false"), ("1", 0.5, "true")}


def test_only_what_the_newest_results_are_made_of_is_current(tracked):
    parent = record(tracked, {"f1": [1.0, 0.0], "gone": [1.0, 1.0]})
    record(tracked, {"f1": [0.0, 0.0]}, seeds=[0], nodes={"grpo": "grpo-of-other-params"})
    _, found = children(parent)
    current = [run for run in found if run.data.tags["current"] == "true"]
    assert len(found) == 5
    assert [(run.data.tags["arm"], run.data.tags["seed"], run.data.metrics["reward"]) for run in current] == [("f1", "0", 0.0)]


def test_a_recording_that_was_cut_off_goes_on(tracked):
    from tasks.pipeline.tracking import experiments

    def killed(*_):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as cut:
        cut.setattr(experiments, "curve_points", killed)
        with pytest.raises(KeyboardInterrupt):
            record(tracked, {"f1": [1.0, 0.0]}, seeds=[0])
    parent = record(tracked, {"f1": [1.0, 0.0]}, seeds=[0])
    client, (run,) = children(parent)
    assert run.info.status == "FINISHED"
    assert len(client.get_metric_history(run.info.run_id, "f1_macro")) == 1
    assert len(client.get_metric_history(run.info.run_id, "grpo/reward")) == 2


def test_results_stand_with_the_parent(tracked):
    folder = tracked / "results"
    (folder / "figures").mkdir(parents=True)
    for name in ("RESULTS.md", "table.csv", "figures/forest.svg", "experiment.yaml"):
        (folder / name).write_text("x")
    with tracking.experiment_run("reward", profile="nano") as parent:
        log_results(parent, folder, {"detectable_difference": 0.04}, verdict="undecided at this scale")
    client = make_client(tracking.tracking_uri())
    run = client.get_run(parent.run_id)
    assert {row.path for row in client.list_artifacts(parent.run_id)} == {"RESULTS.md", "table.csv", "figures"}
    assert run.data.metrics == {"detectable_difference": 0.04}
    assert run.data.tags["verdict"] == "undecided at this scale"


def evaluate(folder, name, quality, base=0.2):
    """An evaluation of one new checkpoint beside the base model: who is the champion afterwards?"""
    checkpoint = folder / name
    checkpoint.mkdir(exist_ok=True)
    (checkpoint / "config.json").write_text(name)
    with tracking.stage_run("evaluate", Params(), {}, ()) as run:
        version = run.register("fusesearch-nano", checkpoint, {"stage": name})
        arms = {}
        for arm, f1 in (("base", base), (name, quality)):
            with run.arm(arm) as child:
                log_episodes(child, scores(arm, *[f1] * 12))
            arms[arm] = child
        return version, run.contend("fusesearch-nano", {checkpoint: arms[name]}, arms["base"])


def test_the_champion_moves_only_by_a_paired_win(tracked):
    assert evaluate(tracked, "worse", 0.1) == ("1", "")
    assert evaluate(tracked, "sft", 0.5) == ("2", "2")
    assert evaluate(tracked, "same", 0.5) == ("3", "2")
    assert evaluate(tracked, "grpo", 0.75) == ("4", "4")
    assert evaluate(tracked, "grpo", 0.75) == ("4", "4")
    client = make_client(tracking.tracking_uri())
    best, before = champion(client, "fusesearch-nano"), client.get_model_version("fusesearch-nano", "2")
    assert best.tags["champion.because"].startswith("version 4 (grpo) beats version 2 (sft): +0.250 F1 [")
    assert before.tags["champion.until"] == best.tags["champion.because"]
    assert client.get_registered_model("fusesearch-nano").tags[CHAMPION] == best.tags["champion.because"]
    assert "does not beat version 2" in client.get_model_version("fusesearch-nano", "3").description
