"""veRL and verifiers, where one of them is installed: the same episodes as GRPO's own stage."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

from fusesearch.core.config import Params
from fusesearch.core.storage import write_json
from tests.trials.engines import SIDES, by_grpo, differences, setting


@pytest.mark.rare
@pytest.mark.parametrize("engine", SIDES)
def test_episodes_are_those_of_grpo(engine: str, tmp_path: Path, base: Path, params: Params, instances: Path) -> None:
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


@pytest.mark.parametrize(("engine", "said"), [("verl", "veRL is not installed"), ("verifiers", "verifiers is not installed")])
def test_without_it_there_is_one_line(engine: str, said: str) -> None:
    from fusesearch.core.errors import ConfigError

    if importlib.util.find_spec(engine):
        pytest.skip(f"{engine} is installed")
    with pytest.raises(ConfigError, match=said):
        importlib.import_module(f"fusesearch.training.engines.{engine}")


@pytest.mark.rare
@pytest.mark.parametrize("name", ["fusesearch-4b", "fusesearch-30b-a3b", "tooltrain-7b", "tooltrain-32b"])
def test_configurations_pass_the_checks_of_verl(name: str, base: Path) -> None:
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
