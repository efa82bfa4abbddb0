"""The table of stages, dvc.yaml, params and places agree with each other."""

import json
from pathlib import Path

import pytest
import yaml

from fusesearch.cli.profiles import load_profile
from fusesearch.core.config import Params, Subject, parse_params, section_of
from fusesearch.core.errors import ConfigError
from fusesearch.core.overrides import flat_params
from fusesearch.core.presets import FILTER_PRESETS, NO_PRESET
from fusesearch.data.sources.github.selection import BENCHMARKS
from tasks.running import deps
from tasks.running.places import MAIN
from tasks.stages import STAGES, stage_named

ROOT = Path(__file__).parents[3]


def faults_of(stage):
    """What a row names that does not exist."""
    known, earlier = flat_params(Params()), list(STAGES)[: list(STAGES).index(stage.name)]
    for name in stage.params:
        if not any(key == name or key.startswith(f"{name}.") for key in known):
            yield f"{stage.name}: no param {name}"
    for name in stage.inputs:
        if not (name.partition(".")[0] in earlier if name in MAIN else (ROOT / name).exists()):
            yield f"{stage.name}: no input {name}"
    named = {*stage.shows, *stage.shared}
    yield from (f"{stage.name}: shows or shares {name}, which it does not make" for name in named - set(stage.outputs))
    if not callable(stage.function()):
        yield f"{stage.name}: {stage.run} is no function"


def test_a_row_names_what_exists():
    assert [fault for stage in STAGES.values() for fault in faults_of(stage)] == []


def test_other_projects_take_models_and_data_by_name():
    named = deps.artifacts(Params())
    models = {name: row["path"] for name, row in named.items() if row["type"] == "model"}
    assert models == {"base": "experiments/nano/base", **{name: f"artifacts/{name}/checkpoint" for name in ("sft", "grpo")}}
    assert set(named) - set(models) == {"instances", "trajectories"}
    assert named["grpo"]["meta"] == {"prefect": "flow grpo", "mlflow": "models:/fusesearch-nano@grpo"}
    assert "base" not in deps.artifacts(parse_params({"model": {"base": "owner/on-the-hub"}}))


@pytest.mark.parametrize(
    ("stage", "params"),
    [
        ("mine", {"mine": {"source": "benchmark", "benchmark": {"files": ["FILE"]}}}),
        ("mine", {"mine": {"source": "git", "git": {"issues": ["FILE"]}}}),
        ("mine", {"split": {"benchmarks": ["FILE"]}}),
        ("split", {"split": {"benchmarks": ["FILE"]}}),
        ("split", {"split": {"without": ["FILE"]}}),
        ("sft", {"model": {"base": "FILE"}}),
        ("evaluate", {"evaluate": {"cells": {"own": {"checkpoint": "FILE"}}}}),
        ("evaluate", {"agent": {"options": {"encoder": "FILE"}}}),
    ],
)
def test_a_file_that_params_name_is_a_dependency_and_dvc_yaml_must_have_it(tmp_path, monkeypatch, stage, params):
    monkeypatch.chdir(ROOT)

    def read(name):
        return parse_params(json.loads(json.dumps(params).replace("FILE", name)))

    known = read(str(tmp_path))
    assert str(tmp_path) in STAGES[stage].reads(known)
    with pytest.raises(ConfigError, match=f"does not have {tmp_path} among the deps of {stage}.*--write"):
        deps.check_files(STAGES[stage], known)
    if stage in ("sft", "evaluate"):
        assert "owner/on-the-hub" not in STAGES[stage].reads(read("owner/on-the-hub"))
        deps.check_files(STAGES[stage], read("owner/on-the-hub"))


def missing(data, section=Params, prefix=""):
    """Params that ``data`` leaves to the defaults in the code, which DVC does not see."""
    for key in section.model_fields:
        if key not in data:
            yield f"{prefix}{key}"
        elif inner := section_of(section, key):
            yield from missing(data[key], inner, f"{prefix}{key}.")


GIVEN = yaml.safe_load((ROOT / "params.yaml").read_text())
PRESET = [f"filter.{key}" for key in NO_PRESET]


def test_params_yaml_has_every_param_but_those_that_the_preset_decides():
    assert (GIVEN["profile"], sorted(missing(GIVEN))) == ("nano", sorted(PRESET))
    left_out = {key for cell in GIVEN["evaluate"]["cells"].values() for key in missing(cell, Subject)}
    assert left_out <= {"checkpoint"}, "a cell that names no checkpoint has none"


def test_there_are_at_most_120_params():
    def leaves(value):
        return sum(map(leaves, value.values())) if isinstance(value, dict) else 1

    assert leaves(GIVEN) <= 120


def test_a_stage_sees_its_own_params_by_dotted_key():
    assert STAGES["split"].values(Params(data_seed=3))["data_seed"] == 3
    assert set(STAGES["select"].values(Params())) == {
        "select.min_f1", "select.min_efficiency", "select.per_instance", "select.max_trajectories", "agent.history_scope",
    }  # fmt: skip


def test_an_unknown_stage_is_one_clear_line():
    with pytest.raises(ConfigError, match="no stage 'nope': the stages are mine, filter"):
        stage_named("nope")


@pytest.mark.parametrize("name", ["small", "paper-4b", "paper-30b", "tooltrain-7b", "tooltrain-32b", "reposearch-r1"])
def test_no_larger_profile_inherits_what_only_a_tiny_student_needs(name):
    params = load_profile(name, ROOT)
    assert params.select.max_trajectories is None
    assert (params.sft.renamed_copies, params.sft.drills) == (0, 0)
    assert (params.grpo.renamed, params.grpo.scale_rewards, params.grpo.averaged) == (0, "group", 0)
    assert params.grpo.warmup_steps == 0, "in the first step of a warm-up, the learning rate is 0"
    assert params.agent.max_seconds
    assert (params.synthesize.answers, params.synthesize.turns) == (None, None)
    assert params.evaluate.concurrency >= 32 * params.compute.serve


def test_paper_profiles_hold_the_values_of_appendix_b_and_hold_out_repositories_by_share():
    for name in ("paper-4b", "paper-30b"):
        params = load_profile(name, ROOT)
        assert (params.split.validation_owners, params.split.validation) == ([], 0.05)
        assert set(params.filter.skip) == set(FILTER_PRESETS["fusesearch"]["skip"])
        assert (params.sft.learning_rate, params.sft.batch_size, params.sft.epochs) == (2e-5, 32, 1)
        assert (params.sft.warmup_ratio, params.sft.max_length, params.sft.optimizer) == (0.1, 32768, "adamw")
        assert params.grpo.learning_rate == (1e-5 if params.grpo.lora.rank else 1e-6)
        assert (params.grpo.kl, params.grpo.temperature) == (0.01, 0.7)
        assert (params.grpo.prompts_per_step, params.grpo.group, params.grpo.steps) == (32, 8, -(-15_000 // 32))
        assert (params.grpo.alpha, params.grpo.beta, params.grpo.gamma) == (0.8, 0.0, 0.2)
        assert params.agent.max_context_tokens == 49152 + 32768
        assert params.synthesize.calls_per_turn == (2, 8)


def test_no_history_of_the_fixes_is_of_an_owner_of_a_benchmark():
    params = load_profile("fixes", ROOT)
    repositories = [text.partition("=")[0] for text in params.mine.git.repositories]
    owners = {name.partition("/")[0].casefold() for name in repositories}
    assert not owners & {name.partition("/")[0] for name in BENCHMARKS}
    assert owners > {owner.casefold() for owner in params.split.validation_owners}
    assert len(set(repositories)) == 69
