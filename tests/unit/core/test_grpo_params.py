"""What GRPO params must agree on."""

import pytest

from fusesearch.core.config import parse_params
from fusesearch.core.errors import ConfigError
from fusesearch.evaluation.rewards import NAMES, make_reward


def test_a_step_is_a_whole_number_of_micro_batches() -> None:
    with pytest.raises(ConfigError, match="is not a multiple of micro_batch = 5"):
        parse_params({"grpo": {"prompts_per_step": 2, "group": 4, "micro_batch": 5}})


def test_a_micro_batch_larger_than_a_step_is_cut_to_it() -> None:
    assert parse_params({"grpo": {"prompts_per_step": 1, "group": 4, "micro_batch": 16}}).grpo.micro_batch == 16


@pytest.mark.parametrize("name", [*NAMES[:-1], "ndcg@5", "ndcg@10"])
def test_every_reward_can_be_chosen(name) -> None:
    assert make_reward(parse_params({"grpo": {"reward": name}}).grpo.reward)


@pytest.mark.parametrize("name", ["nosuch", "ndcg@k", "ndcg@0", "F1"])
def test_an_unknown_reward_is_rejected_before_anything_runs(name) -> None:
    with pytest.raises(ConfigError, match=r"grpo\.reward"):
        parse_params({"grpo": {"reward": name}})
