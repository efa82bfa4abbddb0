"""What GRPO params must agree on."""

import pytest

from fusesearch.core.config import Params, as_recorded, parse_params
from fusesearch.core.errors import ConfigError


def test_a_step_is_a_whole_number_of_micro_batches() -> None:
    with pytest.raises(ConfigError, match="is not a multiple of micro_batch = 5"):
        parse_params({"grpo": {"prompts_per_step": 2, "group": 4, "micro_batch": 5}})


def test_a_micro_batch_larger_than_a_step_is_cut_to_it() -> None:
    assert parse_params({"grpo": {"prompts_per_step": 1, "group": 4, "micro_batch": 16}}).grpo.micro_batch == 16


@pytest.mark.parametrize(
    ("grpo", "says"),
    [
        ({"validation": {"keep_best": True}}, "keep_best needs validations: set every"),
        ({"validation": {"every": -1}}, "greater than or equal to 0"),
        ({"validation": {"every": 5, "prompts": 1}}, "greater than or equal to 2"),
        (
            {"validation": {"every": 5}, "averaged": 0.4, "ahead": 1, "rollouts": "vllm"},
            "validate averaged weights cannot make rollouts ahead",
        ),
    ],
)
def test_validations_that_cannot_be_are_refused(grpo: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        parse_params({"grpo": grpo})


def test_without_validation_what_is_recorded_is_what_earlier_runs_recorded() -> None:
    assert "validation" not in as_recorded(Params())["grpo"]
    assert as_recorded(parse_params({"grpo": {"validation": {"every": 5}}}))["grpo"]["validation"] == {
        "every": 5, "prompts": 32, "keep_best": False,
    }  # fmt: skip
