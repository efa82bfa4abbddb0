"""Params that mean nothing are refused when they are read."""

import math
from pathlib import Path

import pytest
from dvc.utils.serialize import load_yaml

from fusesearch.core.config import Params, load_params, overlay, parse_params, read_mapping
from fusesearch.core.errors import ConfigError
from fusesearch.core.overrides import flat_params, override
from fusesearch.evaluation.grid import load_grid

ROOT = Path(__file__).parents[3]


def test_a_drawn_range_starts_at_one_or_above_and_may_be_one_number_twice():
    for key in ("calls_per_turn", "answers", "turns"):
        for drawn in ([8, 2], [0, 3], [-3, 2]):
            with pytest.raises(ConfigError, match=rf"synthesize\.{key}: .* is not a range"):
                parse_params({"synthesize": {key: drawn}})
    assert parse_params({"synthesize": {"calls_per_turn": [4, 4]}}).synthesize.calls_per_turn == (4, 4)


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "params.yaml").write_text("")
    with pytest.raises(ConfigError, match="is empty"):
        load_params(tmp_path / "params.yaml")


@pytest.mark.parametrize("load", [load_params, load_grid, read_mapping])
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("seed: 1\ngrpo: {}\nseed: 7\n", 'line 3: found duplicate key "seed"'),
        ("grpo:\n  alpha: 1\n  alpha: 2\n", 'line 3: found duplicate key "alpha"'),
        ("mine: {since: 2024-99-99}\n", "month must be in"), ("seed: [\n", "line 2: expected the node content"),
        ("seed: " + "[" * 5000, "recursion"), ("seed: !!bool maybe\n", "'maybe'"),
    ],
)  # fmt: skip
def test_a_key_that_stands_twice_and_what_is_no_yaml_is_one_line(load, text, fault, tmp_path):
    path = tmp_path / "file.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"^[^\n]*file\.yaml is not valid YAML: [^\n]*$") as refused:
        load(path)
    assert fault in str(refused.value)


def test_dvc_records_the_values_that_a_file_is_read_as(tmp_path):
    odd = tmp_path / "odd.yaml"
    odd.write_text("a: 010\nb: 1:30\nc: yes\nd: 1e-5\ne: 5E-05\nf: 0o17\ng: on\nh: 1_000\ni: '010'\nj: 12e3\nl: [no, 0b1]\n")
    older = tmp_path / "older.yaml"
    older.write_text(f"# params\n%YAML 1.1\n---\n{odd.read_text()}")
    for path in [odd, older, ROOT / "params.yaml", *ROOT.glob("experiments/profiles/*.yaml"), *ROOT.glob("experiments/*/*.yaml")]:
        assert read_mapping(path) == load_yaml(path), path
    assert read_mapping(odd) | {"c": "yes", "a": 10, "d": 1e-5, "b": "1:30"} == read_mapping(odd)


def test_a_preset_in_an_override_sets_the_values_that_the_override_leaves_out():
    strict = override(Params(), {"filter.preset": "strict"}, "arm").filter
    assert (strict.max_files, strict.near_duplicate, strict.min_issue_chars) == (5, 0.85, 100)
    given = override(Params(), {"filter.max_files": 9, "filter.preset": "strict"}, "arm").filter
    assert (given.max_files, given.near_duplicate) == (9, 0.85)
    assert override(override(Params(), {"filter.preset": "strict"}, "a"), {"seed": 1}, "b").filter == strict


def test_a_preset_in_an_overlay_wins_over_the_values_below_it():
    below = {"filter": {"min_issue_chars": 40, "max_files": 15}}
    merged = parse_params(overlay(below, {"filter": {"preset": "tooltrain"}})).filter
    assert (merged.min_issue_chars, merged.max_files) == (100, 15)
    assert parse_params(overlay(below, {"filter": {"preset": "strict", "max_files": 7}})).filter.max_files == 7


def test_a_param_whose_value_is_a_mapping_is_replaced_as_a_whole():
    named = override(Params(), {"agent.options": {"a": "b"}}, "arm")
    assert named.agent.options == {"a": "b"}
    assert flat_params(named)["agent.options"] == {"a": "b"}
    assert override(named, {"agent.options": {}}, "arm").agent.options == {}
    assert override(named, {"agent.options": {"e": "f"}}, "arm").agent.options == {"e": "f"}
    with pytest.raises(ConfigError, match=r"no param 'agent\.options\.a'"):
        override(named, {"agent.options.a": "x"}, "arm")


@pytest.mark.parametrize(
    "changes", [{"filter.preset": "strict", "filter.max_files": 15}, {"agent.options": {"a": "b"}}, {"sft.lora.rank": 0}]
)
def test_all_values_of_some_params_make_them_of_any_others(changes):
    wanted = override(Params(), changes, "arm")
    for other in (Params(), override(Params(), {"filter.preset": "tooltrain", "sft.lora.rank": 8}, "base")):
        assert override(other, flat_params(wanted), "arm") == wanted


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"compute": {"ranks": 3}}, "sft has 32 sequences per step, which is not a multiple"),
        ({"compute": {"ranks": 2}, "grpo": {"prompts_per_step": 3}}, "grpo has 24 sequences per step"),
        ({"compute": {"ranks": 2}, "sft": {"optimizer": "muon"}}, "sft.optimizer adamw: Muon needs whole matrices"),
        ({"sft": {"lora": {"rank": 4}, "optimizer": "muon"}}, "sft.optimizer adamw: Muon needs whole matrices"),
        ({"grpo": {"lora": {"rank": 4}, "averaged": 0.5}}, "only with grpo.averaged 0"),
        ({"sft": {"lora": {"rank": -1}}}, "sft.lora.rank"),
        ({"grpo": {"alpha": math.nan}}, r"grpo\.alpha"),
        ({"evaluate": {"agent": {"max_turn": 2}}}, "max_turn"),
        ({"grpo": {"alpha": math.inf}}, r"grpo\.alpha"),
        ({"grpo": {"prompts_per_step": 2, "group": 4, "micro_batch": 5}}, "is not a multiple of micro_batch = 5"),
        ({"grpo": {"validation": {"keep_best": True}}}, "keep_best needs validations: set every"),
        ({"grpo": {"validation": {"every": -1}}}, "greater than or equal to 0"),
        ({"grpo": {"validation": {"every": 5, "prompts": 1}}}, "greater than or equal to 2"),
    ],
)
def test_values_that_cannot_be_or_exclude_each_other_are_rejected(changes, fault):
    with pytest.raises(ConfigError, match=fault):
        parse_params(changes)


def test_a_micro_batch_larger_than_a_step_is_cut_to_it():
    assert parse_params({"grpo": {"prompts_per_step": 1, "group": 4, "micro_batch": 16}}).grpo.micro_batch == 16
