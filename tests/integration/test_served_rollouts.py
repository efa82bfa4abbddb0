"""GRPO with rollouts by servers that speak vLLM's token protocol: real training, with processes that are killed."""

import pytest
import torch
from safetensors.torch import load_file

from fusesearch.core.config import Compute, Validation
from fusesearch.training.served import ServedPolicy

pytestmark = pytest.mark.usefixtures("engine")

SLEEPS = Compute(options=["--enable-sleep-mode"])


@pytest.fixture
def train(params, reinforce):
    def run(name, compute=params.compute, **changes):
        return reinforce(name, given=params.model_copy(update={"compute": compute}), rollouts="vllm", **changes)

    return run


def test_grpo_trains_on_what_servers_sample_that_sleep_while_a_step_trains(tmp_path, train):
    rows = train("out", compute=SLEEPS, steps=2)
    assert [row["errored"] for row in rows] == [0, 0]
    assert [row["step"] for row in rows] == [1, 2]
    for row in rows:
        assert row["sampling/importance_sampling_ratio/capped"] == 0
        assert row["sampling/sampling_logp_difference/max"] < 1e-3
        assert {"reward", "kl", "f1", "publish_seconds", "reload_seconds", "rollout_seconds"} <= set(row)
        assert row["tokens_per_second"] > 0
        assert "mfu" not in row  # a CPU has no published peak
    assert (tmp_path / "out" / "checkpoint" / "model.safetensors").is_file()
    assert not (tmp_path / "out" / "weights").exists()
    asked = (tmp_path / "out" / "vllm.log").read_text().splitlines()
    woken = ["/wake_up?tags=weights", "/collective_rpc", "/wake_up?tags=kv_cache"]
    calls = [call for call in asked if call in ("/sleep?level=2", *woken)]
    assert calls == ["/collective_rpc"] * 2 + ["/sleep?level=2", *woken, "/sleep?level=2"]


@pytest.mark.parametrize(
    ("averaged", "published"), [pytest.param(0.0, [0, 0, 1, 2], marks=pytest.mark.rare), (0.5, [0, 0, 0, 1, 1, 2])]
)
def test_servers_validate_the_weights_of_each_step(tmp_path, train, fourth, monkeypatch, averaged, published):
    seen = []
    publish = ServedPolicy.publish

    def watched(self, model, step):
        seen.append((step, next(model.parameters()).detach().clone()))
        return publish(self, model, step)

    monkeypatch.setattr(ServedPolicy, "publish", watched)
    validation = Validation(every=1, prompts=2)
    rows = train("out", steps=2, prompts_per_step=1, learning_rate=0.05, averaged=averaged, validation=validation)
    assert [row["step"] for row in rows if row["validation/errored"] == 0] == [0, 1, 2]
    assert [step for step, _ in seen] == published
    last = load_file(tmp_path / "out" / "checkpoint" / "model.safetensors")
    assert any(torch.equal(seen[-1][1], value) for value in last.values())
