"""`doctor --profile` for `grpo.engine: verl`: memory of the cluster, and veRL's own pieces."""

import socket
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
    assert all(checks[name].ok for name in ("gpu", "grpo memory", "vllm memory", "grpo host memory"))
    assert "on each of 4 x 8 GPUs at 20,480 tokens a pass" in checks["grpo memory"].detail
    assert "holds 64 rollouts of 15,000 tokens at once: 512 on all 8, of 256 of a step" in checks["vllm memory"].detail
    assert "grpo lengths" not in checks


def test_what_verl_has_no_room_for_names_its_options():
    one = verl(**{"compute.verl_options": ["trainer.nnodes=1", "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=40960"]})
    assert one["grpo memory"].hint.startswith("compute.verl_options: [actor_rollout_ref.actor.ppo_max_token_len_per_gpu=")
    kept = "actor_rollout_ref.actor.fsdp_config"
    beside = [f"{kept}.optimizer_offload=false", f"{kept}.param_offload=false", "trainer.nnodes=1"]
    beside = verl(**{"compute.verl_options": [*beside, "actor_rollout_ref.rollout.gpu_memory_utilization=0.9"]})
    assert not beside["vllm memory"].ok
    assert "beside 42.7 GiB of training on each" in beside["vllm memory"].detail
    assert "gpu_memory_utilization=0.45" in beside["vllm memory"].hint
    short = verl(**{"compute.verl_options": ["data.max_response_length=1024"]})["grpo lengths"]
    assert (short.ok, short.detail.partition(",")[0]) == (False, "50")


def test_verl_and_its_cluster_are_looked_for(monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    checks = verl()
    assert "`make verl` makes its environment" in checks["verl"].hint
    assert checks["ray"].detail == "no address of a cluster of 4 machines"
    assert "`ray start --head`" in checks["ray"].hint
    assert "ray" not in verl(**{"compute.verl_options": ["trainer.nnodes=1"]})
    with socket.socket() as head:
        head.bind(("127.0.0.1", 0))
        head.listen()
        assert verl(**{"compute.ray_address": f"127.0.0.1:{head.getsockname()[1]}"})["ray"].ok
    assert not verl(**{"compute.ray_address": "127.0.0.1:9"})["ray"].ok
