"""The grid of the evaluate stage."""

import pytest

from fusesearch.core.config import parse_params
from fusesearch.core.errors import ConfigError
from fusesearch.core.schema import Instance
from fusesearch.core.storage import write_instances
from tasks.evaluate import held_out_grid
from tasks.running.places import MAIN


def test_an_agent_may_be_evaluated_otherwise_than_it_was_trained(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_instances(
        MAIN["split.validation"], [Instance(instance_id="i", repo="o/n", base_commit="c", problem_statement="It breaks.")]
    )
    params = parse_params({"agent": {"max_turns": 5, "mode": "sequential"}, "evaluate": {"agent": {"max_turns": 2}}})
    agent = held_out_grid(params, MAIN).agent
    assert (agent.max_turns, agent.mode, params.agent.max_turns) == (2, "sequential", 5)


def test_an_invalid_agent_value_is_reported_at_once():
    with pytest.raises(ConfigError, match="max_turn"):
        parse_params({"evaluate": {"agent": {"max_turn": 2}}})
