"""Which runs arms, seeds and experiments share, and the file that DVC reads of them."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.core.config import Params, Subject, load_params
from fusesearch.core.overrides import flatten, override
from fusesearch.core.storage import write_text
from fusesearch.evaluation.metrics import METRICS
from fusesearch.reporting.experiment.figures import FIGURES
from tasks.experiments import dvc_file
from tasks.experiments.paper import REFERENCE
from tasks.experiments.plan import built_on, nodes_of, plan
from tasks.experiments.schedule import tasks_of, with_dependents
from tasks.experiments.spec import Experiment, experiment_names, load_experiment
from tasks.running.node import node_file, read_node
from tasks.running.places import MAIN
from tasks.stages import STAGES

ROOT = Path(__file__).parents[4]
PARAMS = load_params(ROOT / "params.yaml")


@pytest.fixture(autouse=True)
def at_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def experiment(**arms):
    return Experiment(
        name="test", title="t", question="q", hypothesis="h", arms=arms, seeds=[PARAMS.seed, PARAMS.seed + 1],
        metrics=["f1_macro"], primary="f1_macro",
    )  # fmt: skip


def planned(seed=PARAMS.seed, **arms):
    rows = plan(experiment(**arms), PARAMS, [seed])
    return {row.arm: row for row in rows}


def test_an_arm_equal_to_the_params_uses_the_main_pipeline():
    (row,) = planned(joint={}).values()
    assert list(row.nodes) == ["mine", "filter", "split", "synthesize", "select", "sft", "evaluate"]
    assert not any(node.id for node in row.nodes.values())
    assert row.scores == MAIN["evaluate.scores"]
    assert row.trajectories == MAIN["evaluate.cells"] / "sft/trajectories.jsonl"
    assert row.curves == {"sft": MAIN["sft.curve"]}


def test_an_arm_runs_what_it_changes_and_what_builds_on_that():
    row = planned(none={"set": {"select.min_f1": 0.0}})["none"]
    own = {stage: node for stage, node in row.nodes.items() if node.id}
    assert list(own) == ["select", "sft", "evaluate"]
    assert own["select"].params == override(PARAMS, {"select.min_f1": 0.0}, "test")
    assert own["sft"].params == PARAMS, "what a stage does not read is as in params.yaml"
    assert own["sft"].origins == {"select": own["select"].folder}
    assert own["evaluate"].params.evaluate.cells == {"sft": Subject(checkpoint="sft")}
    assert row.scores == own["evaluate"].folder / "scores.jsonl"


def test_an_agent_that_evaluates_otherwise_or_a_localizer_that_asks_the_trained_model_trains_nothing():
    row = planned(short={"set": {"evaluate.agent": {"max_turns": 2}}})["short"]
    assert [stage for stage, node in row.nodes.items() if node.id] == ["evaluate"]
    row = planned(asked={"checkpoint": "sft", "localizer": "cosil"})["asked"]
    (evaluate,) = (node for node in row.nodes.values() if node.id)
    assert evaluate.params.evaluate.cells == {"sft": Subject(localizer="cosil", checkpoint="sft")}
    assert row.trajectories == evaluate.folder / "cells/sft/trajectories.jsonl"


def test_arms_share_the_runs_before_they_differ():
    arms = {f"a{value}": {"checkpoint": "grpo", "set": {"grpo.beta": value}} for value in (0.1, 0.2)}
    first, second = planned(seed=PARAMS.seed + 1, **arms).values()
    shared = {stage for stage in first.nodes if first.nodes[stage] == second.nodes[stage]}
    assert shared == {"mine", "filter", "split", "synthesize", "select", "sft"}
    assert first.nodes["sft"].id
    assert not first.nodes["split"].id, "data are shared by all seeds"


def test_reinforcing_the_base_model_is_a_run_without_sft():
    row = planned(rl={"checkpoint": "grpo", "set": {"grpo.start": "base", "grpo.steps": 25}})["rl"]
    assert list(row.nodes) == ["mine", "filter", "split", "grpo", "evaluate"]
    assert row.nodes["grpo"].id
    assert row.trajectories == row.nodes["evaluate"].folder / "cells/sft+rl/trajectories.jsonl"


def test_the_same_run_is_the_same_node_however_it_is_said_and_no_seeds_are_all_seeds():
    said = planned(a={"set": {"select.min_f1": 0}}, b={"set": {"select.min_f1": 0.0, "grpo.steps": 3}})
    assert said["a"].nodes == said["b"].nodes
    found = experiment(joint={})
    assert plan(found, PARAMS, []) == plan(found, PARAMS) == plan(found, PARAMS, found.seeds)


def test_an_arm_that_the_main_pipeline_does_not_evaluate_has_a_run_of_its_own():
    params = override(PARAMS, {"evaluate.cells": {"base": {"checkpoint": "base"}}}, "test")
    rows = {row.arm: row for row in plan(experiment(sft={}, base={"checkpoint": "base"}), params, [params.seed])}
    assert rows["sft"].nodes["evaluate"].id
    assert not rows["base"].nodes["evaluate"].id


NUMBERS = [key for key, value in flatten(PARAMS.model_dump(mode="json")).items() if isinstance(value, float) and 0 < value < 1]


@given(key=st.sampled_from(sorted(NUMBERS)), checkpoint=st.sampled_from(["base", "sft", "grpo"]))
def test_a_run_is_the_main_pipelines_exactly_if_nothing_it_depends_on_was_changed(key, checkpoint):
    value = flatten(PARAMS.model_dump(mode="json"))[key]
    row = planned(arm={"checkpoint": checkpoint, "set": {key: value / 2}})["arm"]
    reads = {stage for stage in row.nodes if key in STAGES[stage].values(PARAMS)}
    for stage, node in row.nodes.items():
        below = {name for name in built_on(node, PARAMS) if "-" in name}
        assert bool(node.id) == (stage in reads or bool(below))


def test_committed_experiments_name_what_exists():
    for found in map(load_experiment, experiment_names()):
        assert set(found.metrics) <= METRICS.keys(), found.name
        assert set(found.figures) <= FIGURES.keys(), found.name
        assert not found.paper or (REFERENCE / found.paper.table).is_file(), found.name
        if not found.finished:
            assert all(set(row.nodes) <= set(STAGES) for row in plan(found, PARAMS, found.seeds[:1])), found.name


def test_dvc_sees_all_values_of_a_node(tmp_path, monkeypatch):
    """In the file that the node reads: its own values, and the defaults."""
    node = planned(none={"set": {"select.min_f1": 0.0}})["none"].nodes["select"]
    committed = dvc_file.render([node], PARAMS)
    stages = yaml.safe_load(committed[dvc_file.TARGET])["stages"]
    assert stages["select"]["do"]["params"] == [{"artifacts/nodes/${key}/params.yaml": list(STAGES["select"].params)}]
    assert yaml.safe_load(committed[dvc_file.NODES_FILE]) == {
        "select": {node.id: ["data/splits/sft.parquet", "data/synthesized/trajectories.jsonl"]}
    }
    monkeypatch.chdir(tmp_path)
    write_text(node_file(node.id), node.text())
    assert read_node(node.stage, node.id) == node
    values = yaml.safe_load(node.text())
    assert {key: values[key] for key in Params.model_fields} == node.params.model_dump(mode="json")


def test_jobs_come_after_those_they_need_and_results_before_what_only_the_next_experiment_needs():
    pairs = [(row, plan(row, PARAMS, [0])) for row in map(load_experiment, ("filtering", "stages"))]
    tasks = tasks_of(pairs, PARAMS)
    names = [task.name for task in tasks]
    assert len(names) == len(set(names))
    for place, task in enumerate(tasks):
        assert set(task.needs) <= set(names[:place])
    first = {node.name for node in nodes_of(pairs[0][1])}
    assert first <= set(names[: names.index("results-filtering")])
    assert names[names.index("results-filtering") + 1] not in first
    assert names[-1] == "results-stages"
    assert {node.name for _, rows in pairs for node in nodes_of(rows)} <= set(names)


def test_runs_that_build_on_a_changed_run_are_stale():
    found = load_experiment("filtering")
    tasks = tasks_of([(found, plan(found, PARAMS, [0, 1]))], PARAMS)
    own = next(task.name for task in tasks if task.name.startswith("select-"))
    for changed in (set(), {"mine"}, {"split", own}, {own}, {"evaluate"}):
        stale = with_dependents(tasks, changed)
        assert changed & {task.name for task in tasks} <= stale
        for task in tasks:
            assert (task.name in stale) == (task.name in changed or bool(stale & set(task.needs)))
