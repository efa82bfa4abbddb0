"""What veRL gets, and what is read of what it writes."""

import json
from functools import reduce
from operator import getitem
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from fusesearch.cli.profiles import load_profile
from fusesearch.core.config import Params, parse_params
from fusesearch.core.errors import ConfigError
from fusesearch.core.overrides import override
from fusesearch.core.schema import Score
from fusesearch.training.engines.verl_files import Noted, configured, noted
from fusesearch.training.engines.verl_training import FIGURES, Places, configuration, figures_in, last_error
from fusesearch.training.grpo import _arguments

ROOT = Path(__file__).parents[3]
WRITTEN = Path(__file__).with_name("verl_metrics.jsonl")
"""What veRL 0.9.1's file logger wrote in two steps on a CPU, with a validation before the first and after each."""


@pytest.fixture(autouse=True)
def _here(monkeypatch):
    monkeypatch.chdir(ROOT)


def written(params, **settings):
    changed = override(params, {"grpo.engine": "verl", **settings}, "test")
    places = Places(Path("/out"), Path("/sft"), Path("/repos"), Path("/cache"))
    return configuration(changed, changed.grpo, places, 500)


def test_lines_of_the_real_logger_become_columns_of_our_curve():
    rows = dict(figures_in(WRITTEN))
    assert list(rows) == [0, 1, 2]
    assert rows[0] == {}  # of a validation alone
    figures = rows[1]
    assert set(figures) == {*FIGURES}
    assert figures["loss"] == pytest.approx(-0.04512161)
    assert figures["reward"] == pytest.approx(0.52617186)
    assert figures["learning_rate"] == 5e-5


def test_a_line_that_is_not_whole_yet_is_read_later(tmp_path):
    path = tmp_path / "metrics.jsonl"
    assert figures_in(path) == []
    whole = WRITTEN.read_text()
    path.write_text(whole[:-10])
    assert [step for step, _ in figures_in(path)] == [0, 1]


def test_scores_of_a_step_come_by_instance_and_without_what_a_kill_cut_off(tmp_path):
    for process, (name, step) in enumerate([("b", 1), ("a", 1), ("a", 11), ("a", 2)]):
        Noted(step=step, held_out=False, score=Score(instance_id=name, reward=0.5)).append(tmp_path / f"{process % 2}.jsonl")
    with (tmp_path / "0.jsonl").open("a") as file:
        file.write('{"step":1,"held_out":fal')
    assert [(row.step, row.score.instance_id) for row in noted(tmp_path, 1)] == [(1, "a"), (1, "b")]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("\x1b[36m(TaskRunner pid=7)\x1b[0m ValueError: 8 GPUs is less\nShutting down\n", "ValueError: 8 GPUs is less"),
        ("x.RayTaskError(E): \x1b[36mray::run()\x1b[39m\n  File x\na.OutOfMemoryError: full\n", "a.OutOfMemoryError: full"),
        ("Killed\n\n", "Killed"),
        ("", "it wrote nothing"),
    ],
)
def test_the_error_of_a_log_is_its_last_exception(tmp_path, lines, said):
    (tmp_path / "log").write_text(lines)
    assert last_error(tmp_path / "log") == said


@pytest.mark.parametrize("name", ["paper-30b", "tooltrain-32b"])
def test_a_profile_and_its_configuration_agree(name):
    params = load_profile(name, ROOT)
    assert params.grpo.engine == "verl"
    said, laid = configured(params.grpo.verl_config), written(params)
    assert said["data.max_prompt_length"] + said["data.max_response_length"] == params.agent.max_context_tokens
    for key in ("rollout.n", "rollout.temperature", "actor.optim.lr", "actor.use_kl_loss"):
        value = reduce(getitem, key.split("."), laid["actor_rollout_ref"])
        assert type(value)(said[f"actor_rollout_ref.{key}"]) == value, key
    assert said["data.train_batch_size"] == laid["data"]["train_batch_size"]
    assert said["fusesearch.reward"] == laid["fusesearch"]["reward"]


@pytest.mark.parametrize("profile", ["small", "paper-4b", "reposearch-r1"])
@pytest.mark.parametrize(
    ("loss", "aggregated", "scaled"),
    [
        ("grpo", "seq-mean-token-mean", "group"),
        ("dr_grpo", "seq-mean-token-sum-norm", "none"),
        ("dapo", "token-mean", "f1_first"),
    ],
)
def test_one_profile_gives_both_engines_the_same_loss(tmp_path, profile, loss, aggregated, scaled):
    asked = {"grpo.loss_type": loss, "grpo.scale_rewards": scaled, "grpo.entropy_coef": 0.01}
    others = {"grpo.search.kind": "independent", "grpo.judge.model": "", "compute.ranks": 1, "grpo.min_headroom": 0.0}
    params = override(load_profile(profile, ROOT), asked | others, "test")
    log, model = tmp_path / "log.jsonl", torch.nn.Linear(1, 1)
    given = SimpleNamespace(params=params, section=params.grpo)
    run = SimpleNamespace(episodes=given, trimmed=False, log=log, model=model)
    ours, laid = _arguments(run), written(params)
    actor, rollout, algorithm = (*(laid["actor_rollout_ref"][name] for name in ("actor", "rollout")), laid["algorithm"])
    assert (ours.loss_type, actor["loss_agg_mode"]) == (loss, aggregated)
    assert algorithm["norm_adv_by_std_in_grpo"] is (ours.scale_rewards == "group")
    assert algorithm["filter_groups"] == {"enable": scaled == "f1_first", "metric": "f1"}
    theirs = (actor["entropy_coeff"], actor["kl_loss_coef"], actor["optim"]["lr"], actor["loss_scale_factor"])
    assert theirs == (ours.entropy_coef, ours.beta, ours.learning_rate, ours.max_completion_length)
    assert (rollout["n"], rollout["temperature"]) == (ours.num_generations, ours.temperature)


def test_params_are_laid_over_the_configuration():
    validated = {"every": 5, "prompts": 8}
    laid = written(Params(), **{"grpo.steps": 30, "grpo.alpha": 0.5, "grpo.kl": 0.0, "grpo.validation": validated, "seed": 7})
    assert laid["defaults"] == ["search", "_self_"]
    assert laid["fusesearch"] == {
        "repos": "/repos", "cache": "/cache", "settings": "/out/verl", "reward": "fusesearch",
        "alpha": 0.5, "beta": 0.0, "gamma": 0.2, "scores": "/out/verl/scores",
    }  # fmt: skip
    trainer = laid["trainer"]
    assert (trainer["total_training_steps"], trainer["total_epochs"]) == (30, 1)  # 62 steps of 8 prompts in an epoch of 500
    assert (trainer["save_freq"], trainer["test_freq"], trainer["max_actor_ckpt_to_keep"]) == (20, 5, 1)
    assert laid["data"]["seed"] == laid["actor_rollout_ref"]["rollout"]["seed"] == 7
    assert laid["actor_rollout_ref"]["actor"]["use_kl_loss"] is False
    assert laid["actor_rollout_ref"]["actor"]["loss_agg_mode"] == "seq-mean-token-mean"  # as TRL's loss_type grpo
    variables = laid["ray_kwargs"]["ray_init"]["runtime_env"]["env_vars"]
    assert variables["VERL_FILE_LOGGER_PATH"] == "/out/verl/metrics.jsonl"
    assert variables["PYTHONPATH"].startswith(str(ROOT))
    json.dumps(laid)


def test_a_configuration_is_read_with_those_it_is_made_of():
    said = configured("fusesearch-30b-a3b", ["trainer.nnodes=2", "+trainer.x=[1]"])
    assert (said["trainer.nnodes"], said["trainer.n_gpus_per_node"], said["trainer.x"]) == (2, 8, [1])
    assert said["actor_rollout_ref.rollout.name"] == "vllm"
    with pytest.raises(ConfigError, match="'nnodes' is not KEY=VALUE"):
        configured("search", ["nnodes"])
    with pytest.raises(
        ConfigError, match=r"no experiments/profiles/verl/loop.yaml: use one of fusesearch-30b-a3b, fusesearch-4b"
    ):
        configured("loop")


def test_what_only_our_own_trainer_does_is_refused():
    asked = {"engine": "verl", "lora": {"rank": 8}, "renamed": 0.5, "validation": {"every": 5}}
    with pytest.raises(ConfigError, match="engine verl trains without lora, renamed: that takes engine trl"):
        parse_params({"grpo": asked})
    with pytest.raises(ConfigError, match=r"engine verl trains without validation\.keep_best: that takes"):
        parse_params({"grpo": {"engine": "verl", "validation": {"every": 5, "keep_best": True}}})
