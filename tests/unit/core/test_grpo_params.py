"""What GRPO params must agree on."""

import pytest

from fusesearch.core.config import parse_params
from fusesearch.core.errors import ConfigError


def test_a_step_is_a_whole_number_of_micro_batches() -> None:
    with pytest.raises(ConfigError, match="is not a multiple of micro_batch = 5"):
        parse_params({"grpo": {"prompts_per_step": 2, "group": 4, "micro_batch": 5}})


def test_a_micro_batch_larger_than_a_step_is_cut_to_it() -> None:
    assert parse_params({"grpo": {"prompts_per_step": 1, "group": 4, "micro_batch": 16}}).grpo.micro_batch == 16
