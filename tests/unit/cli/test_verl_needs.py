"""`doctor --profile` for `grpo.engine: verl`: memory of the cluster, and veRL's own pieces."""

from dataclasses import replace
from pathlib import Path

from fusesearch.cli.checks import PROFILE, Machine, Place
from fusesearch.cli.profiles import load_profile
from fusesearch.core.overrides import override

ROOT = Path(__file__).parents[3]
EIGHT = Machine(8, 80 * 2**30, "NVIDIA H100 80GB HBM3")


def verl(**settings):
    params = override(load_profile("paper-30b", ROOT), settings, "test")
    place = Place(params, ROOT, replace(EIGHT, host=900 * 2**30))
    return {check.name: check for each in PROFILE for check in each(place)}


def test_verl_shares_a_model_out_over_the_gpus_of_all_machines():
    checks = verl()
    assert all(checks[name].ok for name in ("gpu", "grpo memory"))
    assert "on each of 4 x 8 GPUs at 20,480 tokens a pass" in checks["grpo memory"].detail


def test_what_verl_has_no_room_for_names_its_options():
    one = verl(**{"compute.verl_options": ["trainer.nnodes=1", "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=40960"]})
    assert one["grpo memory"].hint.startswith("compute.verl_options: [actor_rollout_ref.actor.ppo_max_token_len_per_gpu=")


def test_verl_and_its_cluster_are_looked_for(monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    checks = verl()
    assert "`make verl` makes its environment" in checks["verl"].hint
    assert checks["ray"].detail == "no address of a cluster of 4 machines"
    assert "`ray start --head`" in checks["ray"].hint
    assert "ray" not in verl(**{"compute.verl_options": ["trainer.nnodes=1"]})
    monkeypatch.setenv("RAY_ADDRESS", "head:6379")
    assert verl()["ray"].ok
