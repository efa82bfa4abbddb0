"""Runs of stages beside the main pipeline: their command lines, params, places and dependencies."""

from pathlib import Path

import pytest
import yaml

from fusesearch.core.config import Params
from fusesearch.core.errors import ConfigError
from fusesearch.core.overrides import override
from fusesearch.core.storage import write_text
from tasks.running.node import Node, node_file, parse_node
from tasks.running.places import MAIN, NODES
from tasks.stages import BASE, TRAINED

SFT = Node(
    stage="sft", id="sft-0a1b2c3d", params=override(Params(), {"sft.epochs": 2.0, "seed": 1}, "test"),
    origins={"select": NODES / "select-00000000"},
)  # fmt: skip


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes a node's file below the working directory, with other keys where they are given."""
    monkeypatch.chdir(tmp_path)

    def write(node=SFT, **changes):
        write_text(node_file(node.id), yaml.safe_dump({**yaml.safe_load(node.text()), **changes}))

    return write


def test_a_node_comes_back_from_its_file(written):
    written()
    assert parse_node("sft", ["--node=sft-0a1b2c3d"]) == SFT
    assert yaml.safe_load(node_file(SFT.id).read_text())["sft"]["epochs"] == 2.0


def test_without_arguments_it_is_the_main_pipelines_run():
    node = parse_node("sft", [])
    assert (node.name, node.folder, node.places, node.params) == ("sft", None, MAIN, None)
    assert node.inputs(Params()) == [MAIN["select.trajectories"], Path("experiments/nano/base")]


@pytest.mark.parametrize(("base", "read"), [("experiments/smol/base", ["experiments/smol/base"]), ("org/model", [])])
def test_the_base_model_that_is_read_is_the_params_own(base, read):
    params = override(Params(), {"model.base": base}, "test")
    assert parse_node("sft", []).inputs(params) == [MAIN["select.trajectories"], *map(Path, read)]
    from_base = override(params, {"grpo.start": "base"}, "test")
    assert [path for path in parse_node("grpo", []).inputs(from_base) if path not in MAIN.values()] == [*map(Path, read)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--node"], "usage: "),
        (["--node=grpo-00000000"], "is not the id of a node of sft"),
        (["--node=sft-../../x"], "is not the id of a node of sft"),
        (["--node=sft-0000000"], "is not the id of a node of sft"),
        (["--node=sft-00000000"], "params.yaml is missing: run `python -m tasks.experiments.dvc_file`"),
        (["--nodes=sft-0a1b2c3d"], "usage: "),
        (["--node=sft-0a1b2c3d", "--set=sft.epochs=2"], "usage: "),
        (["from-base"], "usage: "),
    ],
)
def test_a_wrong_command_line_is_refused_in_one_line(written, arguments, says):
    written()
    with pytest.raises(ConfigError, match=says) as refused:
        parse_node("sft", arguments)
    assert "\n" not in str(refused.value)


def test_a_node_writes_into_its_folder_and_reads_where_its_inputs_were_made():
    assert SFT.places["sft.checkpoint"] == NODES / "sft-0a1b2c3d/checkpoint"
    assert SFT.places["sft.metrics"] == NODES / "sft-0a1b2c3d/metrics.json"
    assert SFT.places["select.trajectories"] == NODES / "select-00000000/trajectories.jsonl"
    assert SFT.places["synthesize.candidates"] == MAIN["synthesize.candidates"]


def test_a_node_depends_on_the_files_of_the_nodes_it_builds_on():
    deps = SFT.deps(Params())
    assert NODES / "select-00000000/trajectories.jsonl" in deps
    assert MAIN["select.trajectories"] not in deps
    assert Path(".fusesearch/code/sft.txt") in deps


def test_an_evaluation_depends_on_the_models_of_its_cells_only_and_reinforcing_on_the_one_it_starts_from():
    params = override(Params(), {"evaluate.cells": {"own": {"checkpoint": "sft"}}}, "test")
    deps = Node(stage="evaluate", id="evaluate-00000000", params=params).deps(Params())
    models = {*(MAIN[f"{stage}.checkpoint"] for stage in TRAINED), Path(Params().model.base)}
    assert models & set(deps) == {MAIN["sft.checkpoint"]}
    models = {"base": Path(BASE), "sft": MAIN["sft.checkpoint"]}
    for start, model in models.items():
        node = Node(stage="grpo", id="grpo-00000000", params=override(Params(), {"grpo.start": start}, "test"))
        assert set(models.values()) & set(node.deps(Params())) == {model}
