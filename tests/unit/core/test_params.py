"""Params that mean nothing are refused when they are read."""

import math

import pytest

from fusesearch.core.config import Params, load_params, overlay, parse_params
from fusesearch.core.errors import ConfigError
from fusesearch.core.overrides import differences, flat_params, override


@pytest.mark.parametrize("drawn", [[8, 2], [0, 3], [-3, 2]])
@pytest.mark.parametrize("key", ["calls_per_turn", "answers", "turns"])
def test_a_drawn_range_starts_at_one_or_above(key, drawn):
    with pytest.raises(ConfigError, match=rf"synthesize\.{key}: .* is not a range"):
        parse_params({"synthesize": {key: drawn}})


def test_one_number_twice_is_a_range():
    assert parse_params({"synthesize": {"calls_per_turn": [4, 4]}}).synthesize.calls_per_turn == (4, 4)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_nan_and_infinity_are_rejected(number):
    with pytest.raises(ConfigError, match=r"grpo\.alpha"):
        parse_params({"grpo": {"alpha": number}})


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "params.yaml").write_text("")
    with pytest.raises(ConfigError, match="is empty"):
        load_params(tmp_path / "params.yaml")


def test_a_preset_in_an_override_sets_the_values_that_the_override_leaves_out():
    strict = override(Params(), {"filter.preset": "strict"}, "arm").filter
    assert (strict.max_files, strict.near_duplicate, strict.min_issue_chars) == (5, 0.85, 100)
    given = override(Params(), {"filter.max_files": 9, "filter.preset": "strict"}, "arm").filter
    assert (given.max_files, given.near_duplicate) == (9, 0.85)
    assert override(override(Params(), {"filter.preset": "strict"}, "a"), {"seed": 1}, "b").filter == strict


def test_a_preset_in_an_overlay_wins_over_the_values_below_it():
    below = {"filter": {"min_issue_chars": 40, "max_files": 15, "single_file": True}}
    merged = parse_params(overlay(below, {"filter": {"preset": "tooltrain"}})).filter
    assert (merged.min_issue_chars, merged.max_files, merged.single_file) == (100, 15, True)
    assert parse_params(overlay(below, {"filter": {"preset": "strict", "max_files": 7}})).filter.max_files == 7


def test_a_param_whose_value_is_a_mapping_is_replaced_as_a_whole():
    named = override(Params(), {"split.aliases": {"a/b": "c/d"}}, "arm")
    assert named.split.aliases == {"a/b": "c/d"}
    assert flat_params(named)["split.aliases"] == {"a/b": "c/d"}
    assert override(named, {"split.aliases": {}}, "arm").split.aliases == {}
    assert override(named, {"split.aliases": {"e/f": "g/h"}}, "arm").split.aliases == {"e/f": "g/h"}
    with pytest.raises(ConfigError, match=r"no param 'split\.aliases\.a/b'"):
        override(named, {"split.aliases.a/b": "x"}, "arm")


@pytest.mark.parametrize(
    "changes", [{"filter.preset": "strict", "filter.max_files": 15}, {"split.aliases": {"a/b": "c/d"}}, {"filter.max_files": 3}]
)
def test_differences_are_what_an_override_needs(changes):
    base = Params()
    wanted = override(base, changes, "arm")
    assert override(base, differences(flat_params(wanted), flat_params(base)), "arm") == wanted


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ({"localizer": "bm26"}, "localizer 'bm26' is unknown: use one of fusesearch,"),
        ({"localizer": "cosil"}, "cosil asks a model: give checkpoint"),
        ({"localizer": "bm25", "checkpoint": "sft"}, "bm25 asks no model: leave out checkpoint"),
        ({"localizer": "bm25", "temperature": 1}, "temperature: Extra inputs"),
    ],
)
def test_a_cell_is_a_localizer_with_the_model_it_asks(cell, says):
    with pytest.raises(ConfigError, match=says):
        parse_params({"evaluate": {"cells": {"a": cell}}})


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"compute": {"ranks": 3}, "grpo": {"optimizer": "adamw"}}, "sft has 32 sequences per step, which is not a multiple"),
        ({"compute": {"ranks": 2}, "grpo": {"prompts_per_step": 3}}, "grpo has 24 sequences per step"),
        ({"compute": {"ranks": 4, "machines": 3}}, "compute.ranks = 4 is not a multiple of compute.machines = 3"),
        ({"compute": {"ranks": 2}, "sft": {"optimizer": "muon"}}, "sft.optimizer adamw: Muon needs whole matrices"),
        ({"grpo": {"lora": {"rank": 4}, "optimizer": "muon"}}, "grpo.optimizer adamw: Muon needs whole matrices"),
        ({"grpo": {"lora": {"rank": 4}, "averaged": 0.5}}, "only with grpo.averaged 0"),
        ({"sft": {"lora": {"rank": -1}}}, "sft.lora.rank"),
    ],
)
def test_options_that_ranks_or_adapters_exclude_are_rejected(changes, fault):
    with pytest.raises(ConfigError, match=fault):
        parse_params(changes)


def test_runs_without_ranks_or_adapters_are_the_runs_made_before_they_existed():
    data = Params().model_dump(mode="json")
    assert not {"lora", "padding_free", "refill"} & (data["sft"].keys() | data["grpo"].keys())
    assert "ranks" not in data["compute"]
    changed = override(Params(), {"sft.lora.rank": 8, "compute.ranks": 2}, "test")
    assert (changed.sft.lora.rank, changed.compute.ranks) == (8, 2)
