"""GRPO by veRL's trainer, of which a fake stands here."""

import json
import re
from pathlib import Path

import pytest
from safetensors.torch import load_file

from fusesearch.core.errors import ConfigError, DataError, InfrastructureError
from fusesearch.core.overrides import override
from fusesearch.core.storage import read_json, read_jsonl
from fusesearch.training.engines.verl_training import train_verl
from fusesearch.training.validation import FILE, Validated
from tests.fakes.verl_environment import fake_verl

SETTINGS = {"grpo.engine": "verl", "grpo.prompts_per_step": 2, "grpo.group": 2, "grpo.steps": 3, "grpo.learning_rate": 1e-5}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with the fake veRL, current."""
    fake_verl(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(params, instances, base, **settings):
    changed = override(params, SETTINGS | {f"grpo.{key.replace('__', '.')}": value for key, value in settings.items()}, "test")
    logged = []
    where = (Path("repos"), Path("snapshots"), Path("out"))
    figures = train_verl(changed, changed.grpo, instances, base, *where, on_log=logged.append)
    return figures, logged


def lines(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def weight(checkpoint):
    """The fake's weights are the number of their step."""
    return float(load_file(checkpoint / "model.safetensors")["model.embed_tokens.weight"].flatten()[0])


def test_it_leaves_what_our_own_trainer_leaves(project, params, instances, base):
    figures, logged = run(params, instances, base)
    assert (figures["instances"], figures["steps"], figures["f1"]) == (3, 3, 0.25)
    assert logged == lines("out/log.jsonl")
    assert [(row["step"], row["steps"]) for row in logged] == [(1, 3), (2, 3), (3, 3)]
    assert {name: logged[1][name] for name in ("loss", "kl", "grad_norm", "learning_rate", "reward", "step_time")} == {
        "loss": -0.0451, "kl": 0.002, "grad_norm": 1.0855, "learning_rate": 5e-5, "reward": 0.25, "step_time": 19.8884,
    }  # fmt: skip
    assert {name: logged[1][name] for name in ("f1", "efficiency", "turns", "calls", "errored", "reward_deviation")} == {
        "f1": 0.25, "efficiency": 0.5, "turns": 2, "calls": 3, "errored": 0, "reward_deviation": 0.25,
    }  # fmt: skip
    checkpoint = Path("out/checkpoint")
    assert weight(checkpoint) == 3
    assert read_json(checkpoint / "fusesearch.json")["agent"]["max_context_tokens"] == 400
    assert (checkpoint / "tokenizer.json").read_bytes() == (base / "tokenizer.json").read_bytes()
    assert read_json(checkpoint / "config.json")["dtype"] == "bfloat16"


def test_it_goes_on_after_the_last_saved_step(project, params, instances, base, monkeypatch):
    monkeypatch.setenv("FAKE_VERL", "dies=2")
    with pytest.raises(
        InfrastructureError, match=r"veRL ended with status 1 \(RuntimeError: CUDA out of memory, says the fake\)"
    ):
        run(params, instances, base, save_steps=1)
    assert [row["step"] for row in lines("out/log.jsonl")] == [1]
    monkeypatch.delenv("FAKE_VERL")
    figures, logged = run(params, instances, base, save_steps=1)
    # step 2 was saved before its line was written: nothing is known of it
    assert [row["step"] for row in logged] == [3]
    assert [row["step"] for row in lines("out/log.jsonl")] == [1, 3]
    assert figures["steps"] == 3


def test_validations_are_in_the_curve_and_beside_the_checkpoint(project, params, instances, fourth, base):
    figures, logged = run(params, instances, base, prompts_per_step=1, validation__every=1, validation__prompts=2)
    assert [row["step"] for row in logged] == [0, 1, 2, 3]
    assert [row["validation/reward"] for row in logged] == [0.25, 1.0, 0.5, 0.5]
    assert logged[1]["validation/reward_gain"] == 0.75
    assert logged[1]["validation/seconds"] == 4.0624
    assert (figures["instances"], figures["validation_instances"]) == (2, 2)
    assert [row.step for row in read_jsonl(Path("out/checkpoint") / FILE, Validated)] == [0, 1, 2, 3]


def test_a_checkpoint_that_is_missing_is_one_line(project, params, instances, base, monkeypatch):
    monkeypatch.setenv("FAKE_VERL", "saves_nothing")
    with pytest.raises(InfrastructureError, match="veRL ended after step 0 without an error"):
        run(params, instances, base)


def test_what_is_not_there_is_said_before_anything_starts(project, params, instances, base, tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match=r"there is no experiments/profiles/verl/nowhere.yaml: use one of fusesearch-30b-a3b"):
        run(params, instances, base, verl_config="nowhere")
    with pytest.raises(DataError, match=r"3 prompts are fewer than grpo.prompts_per_step: lower it to 3"):
        run(params, instances, base, prompts_per_step=4)
    other = tmp_path / "other"
    fake_verl(other, version="0.10.0")
    monkeypatch.chdir(other)
    with pytest.raises(ConfigError, match=re.escape(".venv-verl/bin/python has veRL 0.10.0, not 0.9.1: `make verl` makes")):
        run(params, instances, base)
    monkeypatch.chdir(tmp_path / "repos")
    with pytest.raises(ConfigError, match=r"veRL is not installed .*`make verl` makes its environment"):
        run(params, instances, base)
