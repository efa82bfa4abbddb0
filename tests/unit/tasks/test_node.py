"""Runs of stages beside the main pipeline: their command lines, params, places and dependencies."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.core.config import Params
from fusesearch.core.errors import ConfigError
from tasks.running.node import Node, parse_node
from tasks.running.places import MAIN, NODES
from tasks.stages import BASE, STAGES, TRAINED

SFT = Node(stage="sft", id="sft-0a1b2c3d", set={"sft.epochs": 2.0, "seed": 1}, origins={"select": NODES / "select-00000000"})


@given(
    digest=st.from_regex(r"[0-9a-f]{8}", fullmatch=True),
    changes=st.dictionaries(
        st.from_regex(r"[a-z_]+(\.[a-z_]+){0,2}", fullmatch=True),
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.lists(st.integers()),
    ),
    origins=st.dictionaries(st.sampled_from(list(STAGES)), st.from_regex(r"[a-z/=-]+", fullmatch=True).map(Path)),
)
def test_a_node_comes_back_from_its_command_line(digest, changes, origins):
    node = Node(stage="select", id=f"select-{digest}", set=changes, origins=origins)
    assert parse_node("select", node.arguments()) == node


def test_without_arguments_it_is_the_main_pipelines_run():
    node = parse_node("sft", [])
    assert (node.name, node.folder, node.places, node.params(Params())) == ("sft", None, MAIN, Params())
    assert node.inputs(Params()) == [MAIN["select.trajectories"], Path("experiments/nano/base")]
    assert node.arguments() == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["--node"],
        ["--node=grpo-00000000"],
        ["--node=sft-../../x"],
        ["--node=sft-0000000"],
        ["--set=sft.epochs=2"],
        ["--node=", "--set=sft.epochs=2"],
        ["--node=sft-00000000", "--set=sft.epochs"],
        ["--node=sft-00000000", "--set=sft.epochs=[1"],
        ["--node=sft-00000000", "--from=nowhere=x"],
        ["--nodes=sft-00000000"],
        ["from-base"],
    ],
)
def test_a_wrong_command_line_is_refused_in_one_line(arguments):
    with pytest.raises(ConfigError) as refused:
        parse_node("sft", arguments)
    assert "\n" not in str(refused.value)


def test_a_node_writes_into_its_folder_and_reads_where_its_inputs_were_made():
    assert SFT.places["sft.checkpoint"] == NODES / "sft-0a1b2c3d/checkpoint"
    assert SFT.places["sft.metrics"] == NODES / "sft-0a1b2c3d/metrics.json"
    assert SFT.places["select.trajectories"] == NODES / "select-00000000/trajectories.jsonl"
    assert SFT.places["synthesize.candidates"] == MAIN["synthesize.candidates"]
    assert (SFT.params(Params()).sft.epochs, SFT.params(Params()).seed) == (2.0, 1)


@pytest.mark.parametrize("stage", STAGES)
def test_no_two_files_of_a_stage_share_a_place_in_its_folder(stage):
    outputs = Node(stage=stage, id=f"{stage}-00000000").outputs
    assert len(set(outputs)) == len(outputs)
    assert {path.parent for path in outputs} == {NODES / f"{stage}-00000000"}


def test_a_node_depends_on_the_files_of_the_nodes_it_builds_on():
    deps = SFT.deps(SFT.params(Params()))
    assert NODES / "select-00000000/trajectories.jsonl" in deps
    assert MAIN["select.trajectories"] not in deps
    assert Path("fusesearch/training/sft.py") in deps


def test_an_evaluation_depends_on_the_models_of_its_cells_only():
    node = Node(stage="evaluate", id="evaluate-00000000", set={"evaluate.cells": {"own": {"checkpoint": "sft"}}})
    deps = node.deps(node.params(Params()))
    models = {*(MAIN[f"{stage}.checkpoint"] for stage in TRAINED), Path(Params().model.base)}
    assert models & set(deps) == {MAIN["sft.checkpoint"]}


def test_reinforcing_depends_on_the_model_it_starts_from_only():
    models = {"base": Path(BASE), "sft": MAIN["sft.checkpoint"]}
    for start, model in models.items():
        node = Node(stage="grpo", id="grpo-00000000", set={"grpo.start": start})
        assert set(models.values()) & set(node.deps(node.params(Params()))) == {model}
