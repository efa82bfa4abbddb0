"""Names in params are checked against the registries, and an unknown one is refused in one line with the known ones."""

import pytest

from flows.stage import running
from fusesearch.core.config import parse_params
from fusesearch.core.errors import ConfigError
from fusesearch.evaluation.environments import ENVIRONMENTS
from fusesearch.evaluation.grid import load_grid
from fusesearch.evaluation.names import check_names
from fusesearch.evaluation.rewards import NAMES
from tasks.running.node import Node, node_file, read_node

REWARDS = [*NAMES[:-1], "ndcg@5", "ndcg@10"]
TOOLSETS = "both, fusesearch, questions, repoqa, reposearcher"
WRONG = [
    ({"agent": {"toolset": "bash"}}, f"agent.toolset: agent.toolset 'bash' is unknown: use one of {TOOLSETS}"),
    (
        {"evaluate": {"agent": {"toolset": "bash"}}},
        f"evaluate.agent.toolset: agent.toolset 'bash' is unknown: use one of {TOOLSETS}",
    ),
    *(({"grpo": {"reward": name}}, f"grpo.reward: reward '{name}' is unknown") for name in ("nosuch", "ndcg@k", "ndcg@0", "F1")),
    (
        {"evaluate": {"cells": {"a": {"localizer": "bm26"}}}},
        "evaluate.cells.a: localizer 'bm26' is unknown: use one of fusesearch,",
    ),
    ({"evaluate": {"cells": {"a": {"localizer": "cosil"}}}}, "evaluate.cells.a: cosil asks a model: give checkpoint"),
    (
        {"evaluate": {"cells": {"a": {"localizer": "bm25", "checkpoint": "sft"}}}},
        "evaluate.cells.a: bm25 asks no model: leave out checkpoint",
    ),
]


def test_every_name_of_a_registry_can_be_given():
    for given in (*({"agent": {"toolset": name}} for name in ENVIRONMENTS), *({"grpo": {"reward": name}} for name in REWARDS)):
        assert check_names(parse_params(given), "params.yaml")


@pytest.mark.parametrize(("given", "said"), WRONG)
def test_an_unknown_name_is_refused_with_its_key_and_the_known_names(given, said):
    with pytest.raises(ConfigError) as refused:
        check_names(parse_params(given), "params.yaml")
    assert str(refused.value).startswith(f"params.yaml: {said}")
    assert "\n" not in str(refused.value)


def test_a_stage_refuses_an_unknown_name_before_it_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text("grpo: {reward: nosuch}")
    with (
        pytest.raises(ConfigError, match=r"^params\.yaml: grpo\.reward: reward 'nosuch' is unknown"),
        running(Node(stage="grpo")),
    ):
        pass
    wrong = Node(stage="sft", id="sft-00000000", params=parse_params({"agent": {"toolset": "bash"}}))
    node_file(wrong.id).parent.mkdir(parents=True)
    node_file(wrong.id).write_text(wrong.text())
    with pytest.raises(ConfigError, match=r"sft-00000000/params\.yaml: params\.agent\.toolset: "):
        read_node("sft", wrong.id)


def test_a_grid_file_refuses_an_unknown_name(tmp_path):
    path = tmp_path / "grid.yaml"
    path.write_text("{localizers: [bm25], benchmarks: [{name: b, instances: b.jsonl, repos: .}], agent: {toolset: bash}}")
    with pytest.raises(ConfigError, match=r"grid\.yaml: agent\.toolset: agent\.toolset 'bash' is unknown"):
        load_grid(path)
