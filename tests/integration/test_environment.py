"""The environment by itself: the same rollouts as GRPO's stage, and the page's script with TRL's own trainer."""

import importlib.util
import json
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file

from fusesearch import columns_of, load_tasks
from fusesearch.agents.models.transformers import TransformersModel
from fusesearch.core.errors import ConfigError, DataError
from fusesearch.core.schema import Expected, Truth
from fusesearch.core.storage import write_json
from fusesearch.training.rollouts import Episodes
from fusesearch.training.sft import describe_checkpoint
from tests.fakes.engines import SIDES, by_grpo, differences, script_of, setting

QUESTION = Truth(expected=Expected(family="default", kind="value", values=["4"]))


@pytest.fixture
def checkpoint(tmp_path, base, params):
    """The tiny checkpoint with its limits."""
    shutil.copytree(base, tmp_path / "checkpoint")
    describe_checkpoint(tmp_path / "checkpoint", params)
    return tmp_path / "checkpoint"


@pytest.fixture
def tasks(tmp_path, instances, checkpoint):
    return load_tasks(instances, tmp_path / "repos", tmp_path / "snapshots", settings=checkpoint)


def test_rollouts_are_those_of_the_grpo_stage(tasks, checkpoint, params):
    model = TransformersModel.load(checkpoint)
    ids, step = [name for name in tasks.instances for _ in range(4)], 7
    episodes = Episodes(params, params.grpo, tasks.instances, tasks.snapshot, model.tokenizer.eos_token_id)
    staged = episodes.make(ids, step, model)
    seed = (params.seed * 1_000_003 + step) * len(ids)
    own = tasks.rollouts(ids, model, params.grpo.temperature, seed)
    columns, logprobs = columns_of(own), staged.columns.pop("logprobs")
    for row, other in zip(columns.pop("logprobs"), logprobs, strict=True):
        assert row == pytest.approx(other, abs=1e-5)
    assert columns == staged.columns
    assert len({tuple(row.completion_ids) for row in own}) > 4
    assert all(len(row.completion_ids) == len(row.mask) == len(row.logprobs) for row in own)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_script_of_the_page_trains(tmp_path, tasks, checkpoint, monkeypatch):
    script = script_of("datasets import Dataset")
    for shown, here in {
        "artifacts/sft/checkpoint": checkpoint,
        "data/splits": tmp_path,
        "data/repos": tmp_path / "repos",
    }.items():
        script = script.replace(shown, str(here))
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(script.replace("lambda score, **_: score", "lambda score, **_: [float(n % 2) for n in range(len(score))]"), names)
    (saved,) = tmp_path.glob("trained/checkpoint-2")
    log = json.loads((saved / "trainer_state.json").read_text())["log_history"]
    assert [row["reward"] for row in log if "reward" in row] == [0.5, 0.5]
    before, after = (load_file(folder / "model.safetensors") for folder in (checkpoint, saved))
    assert any((before[name] != after[name]).any() for name in before)


def test_what_cannot_be_loaded_is_one_line(tmp_path, instances, tasks):
    with pytest.raises(DataError, match=r"is for agent\.toolset fusesearch: it takes issues with an exact truth"):
        tasks.of([row.model_copy(update={"truth": QUESTION}) for row in tasks.instances.values()])
    with pytest.raises(ConfigError, match="reward 'f2' is unknown"):
        load_tasks(instances, tmp_path / "repos", tmp_path / "snapshots", reward="f2")


@pytest.mark.rare
@pytest.mark.parametrize("engine", SIDES)
def test_episodes_are_those_of_grpo(engine, tmp_path, base, params, instances):
    if not importlib.util.find_spec(engine):
        pytest.skip(f"{engine} is not installed: it has an environment of its own")
    shutil.copytree(base, tmp_path / "checkpoint")
    settings = {"tools": params.tools.model_dump(), "agent": params.agent.model_dump()}
    write_json(tmp_path / "checkpoint" / "fusesearch.json", settings)
    where = {"instances": str(instances), "repos": str(tmp_path / "repos"), "cache": str(tmp_path / "snapshots")}
    with setting(tmp_path / "checkpoint", **where) as given:
        own, other = by_grpo(given), SIDES[engine](given)
    found = differences(own, other)
    assert found.pop("logprobs") < 1e-6
    assert found == {"episodes": 3, "prompt_ids": 0, "completion_ids": 0, "mask": 0, "reward": 0}


@pytest.mark.rare
@pytest.mark.parametrize("name", ["fusesearch-4b", "fusesearch-30b-a3b", "tooltrain-7b", "tooltrain-32b"])
def test_configurations_pass_the_checks_of_verl(name, base):
    pytest.importorskip("verl")
    from hydra import compose, initialize_config_dir
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    profiles = Path(__file__).parents[2] / "experiments" / "profiles" / "verl"
    with initialize_config_dir(str(profiles), version_base=None):
        changes = ["hydra.searchpath=[pkg://verl.trainer.config]", f"actor_rollout_ref.model.path={base}"]
        config = compose(name, changes)
    validate_config(config, need_reference_policy(config), need_critic(config))
    assert config.fusesearch.settings == str(base)
    assert config.actor_rollout_ref.rollout.prompt_length == config.data.max_prompt_length
