"""Params that mean nothing are refused when they are read."""

import math

import pytest

from tasks.core.config import load_params, parse_params
from tasks.core.errors import ConfigError


@pytest.mark.parametrize("drawn", [[8, 2], [0, 3], [-3, 2]])
@pytest.mark.parametrize("key", ["calls_per_turn", "answers", "turns"])
def test_what_is_drawn_from_is_a_range_from_one_on(key, drawn):
    with pytest.raises(ConfigError, match=rf"synthesize\.{key}: .* is no range"):
        parse_params({"synthesize": {key: drawn}})


def test_one_number_twice_is_a_range():
    assert parse_params({"synthesize": {"calls_per_turn": [4, 4]}}).synthesize.calls_per_turn == (4, 4)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_number_that_is_none_is_refused(number):
    with pytest.raises(ConfigError, match=r"grpo\.alpha"):
        parse_params({"grpo": {"alpha": number}})


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "params.yaml").write_text("")
    with pytest.raises(ConfigError, match="is empty"):
        load_params(tmp_path / "params.yaml")
