"""dvc.yaml, params and artifact paths agree with each other."""

import importlib.util
from pathlib import Path

import pytest
import yaml

from tasks.cli.profiles import load_profile
from tasks.core.config import FILTER_PRESETS, Params, load_params, overlay, parse_params
from tasks.core.errors import ConfigError
from tasks.core.overrides import flatten
from tasks.pipeline import layout
from tasks.pipeline.pipeline import stage_names, stage_spec

ROOT = Path(__file__).parents[3]
DVC = ROOT / "dvc.yaml"
STAGES = stage_names(DVC)


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_depends_on_params_that_exist(stage):
    spec = stage_spec(stage, DVC)
    known = flatten(Params().model_dump(mode="json"))
    for name in spec.params:
        assert any(key == name or key.startswith(f"{name}.") for key in known)


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_depends_on_code_that_exists_and_on_outputs_of_earlier_stages(stage):
    stages = yaml.safe_load(DVC.read_text())["stages"]
    before = STAGES[: STAGES.index(stage)]
    made = [row for name in before for row in (*stages[name]["outs"], *stages[name].get("metrics", []))]
    earlier = {row if isinstance(row, str) else next(iter(row)) for row in made}
    for path in stage_spec(stage, DVC).deps:
        assert (ROOT / path).exists() or path.as_posix() in earlier or path.as_posix() == "experiments/nano/base"


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_is_its_flow_and_reports_where_metrics_are_looked_for(stage):
    entry = yaml.safe_load(DVC.read_text())["stages"][stage]
    module = entry["cmd"].split()[2]
    assert importlib.util.find_spec(module) is not None
    assert entry["metrics"] == [{layout.metrics_path(stage).as_posix(): {"cache": False}}]


def test_a_stage_sees_its_own_params_flattened():
    assert stage_spec("split", DVC).values(Params(data_seed=3))["data_seed"] == 3
    assert set(stage_spec("select", DVC).values(Params())) == {
        "select.min_f1", "select.min_efficiency", "select.max_trajectories", "agent.history_scope",
    }  # fmt: skip


def test_inputs_are_data_not_code():
    assert Path("data/splits/rl.parquet") in stage_spec("grpo", DVC).inputs
    assert all(path.parts[0] in ("data", "artifacts", "experiments") for path in stage_spec("grpo", DVC).inputs)


def test_an_unknown_stage_is_one_clear_line():
    with pytest.raises(ConfigError, match="no stage 'nope': it has mine, filter"):
        stage_spec("nope", DVC)


@pytest.mark.parametrize("text", ["", "stages: [", "stages:\n"])
def test_a_damaged_pipeline_is_a_config_error(tmp_path, text):
    (tmp_path / "dvc.yaml").write_text(text)
    with pytest.raises(ConfigError):
        stage_spec("mine", tmp_path / "dvc.yaml")


def test_params_are_the_nano_profile():
    assert load_params(ROOT / "params.yaml").profile == "nano"


@pytest.mark.parametrize("path", sorted((ROOT / "experiments/profiles").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_committed_profile_loads(path):
    base, change = (yaml.safe_load(file.read_text()) for file in (ROOT / "params.yaml", path))
    params = parse_params(overlay(base, change), source=path.name)
    assert params.profile == path.stem
    assert params.grpo.group == 8


@pytest.mark.parametrize("name", ["small", "paper-4b", "paper-30b"])
def test_no_larger_profile_inherits_what_only_a_tiny_student_needs(name):
    params = load_profile(name, ROOT)
    assert params.select.max_trajectories is None
    assert (params.sft.renamed_copies, params.sft.drills) == (0, 0)
    for section in (params.grpo, params.grpo_from_base):
        assert (section.renamed, section.scale_rewards, section.averaged) == (0, "group", 0)


@pytest.mark.parametrize("name", ["paper-4b", "paper-30b"])
def test_paper_profiles_hold_out_repositories_by_share_and_filter_by_the_papers_rules(name):
    params = load_profile(name, ROOT)
    assert (params.split.validation_owners, params.split.validation) == ([], 0.05)
    assert set(params.filter.skip) == set(FILTER_PRESETS["fusesearch"]["skip"])


def test_paper_profiles_hold_the_values_of_appendix_b():
    base = yaml.safe_load((ROOT / "params.yaml").read_text())
    for name in ("paper-4b", "paper-30b"):
        change = yaml.safe_load((ROOT / f"experiments/profiles/{name}.yaml").read_text())
        params = parse_params(overlay(base, change))
        assert (params.sft.learning_rate, params.sft.batch_size, params.sft.epochs) == (2e-5, 32, 1)
        assert (params.sft.warmup_ratio, params.sft.max_length, params.sft.optimizer) == (0.1, 32768, "adamw")
        assert (params.grpo.learning_rate, params.grpo.kl, params.grpo.temperature) == (1e-6, 0.01, 0.7)
        assert (params.grpo.prompts_per_step, params.grpo.group, params.grpo.steps) == (32, 8, -(-15_000 // 32))
        assert (params.grpo.alpha, params.grpo.beta, params.grpo.gamma) == (0.8, 0.0, 0.2)
        assert params.agent.max_context_tokens == 49152 + 32768
        assert params.synthesize.calls_per_turn == (2, 8)
