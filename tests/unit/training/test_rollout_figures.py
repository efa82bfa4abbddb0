"""What the training curve of GRPO says of the rollouts of a step."""

from types import SimpleNamespace

import pytest
import torch

from fusesearch.core.config import parse_params
from fusesearch.core.schema import Score
from fusesearch.training.architectures import CONFIGS
from fusesearch.training.grpo import Rollouts
from fusesearch.training.rollouts import Batch, degenerate, f1_first, headroom, reward_deviation, rollout_figures


def test_tool_success_is_over_all_calls_and_errored_rollouts_are_only_counted():
    rows = [
        Score(instance_id="a", f1=1.0, calls=4, failed_calls=1, redundancy=0.5, calls_per_turn=2.0),
        Score(instance_id="b", f1=0.0, calls=0, failed_calls=0, calls_per_turn=0.0),
        Score(instance_id="c", error="endpoint down"),
    ]
    found = rollout_figures(rows)
    assert (found["f1"], found["calls_per_turn"], found["errored"]) == (0.5, 1.0, 1.0)
    assert (found["tool_success"], found["failed_calls"], found["redundancy"]) == (0.75, 0.5, 0.5)
    assert "efficiency" not in found


def test_a_group_is_degenerate_when_its_known_rewards_are_equal():
    rewards = [1.0, 1.0, 0.0, 1.0, None, None, None, 0.5, 0.0, 0.0]
    assert degenerate(rewards, 2) == [0, 2, 3, 4]
    assert reward_deviation([Score(instance_id="i", reward=reward) for reward in rewards], 2) == pytest.approx(0.5 / 5)


def sampled(*rows):
    """Scores of rollouts, each given as F1, calls and reward."""
    names = ("f1", "calls", "reward")
    return [Score(instance_id="i", **dict(zip(names, row, strict=True)), error=None if row[1] else "x") for row in rows]


def test_where_all_answers_are_equally_good_e_has_no_say():
    alike, apart = [(0.7, 1, 0.7), (0.7, 3, 0.6), (None, None, None)], [(0.7, 1, 0.7), (1.0, 3, 0.9), (1.0, 2, 1.0)]
    assert f1_first(sampled(*alike, *apart), 3) == [pytest.approx(0.65), pytest.approx(0.65), None, 0.7, 0.9, 1.0]


def test_headroom_is_the_best_over_the_mean_and_calls_count_within_a_prompt():
    rows = [(0.2, 1, 0.2), (0.4, 3, 0.3), (1.0, 9, 0.9), (1.0, 9, 0.9), (None, None, None), (0.5, 4, 0.5)]
    found = headroom(sampled(*rows), 2)
    assert found.pop("headroom_low") < found["headroom"] < found.pop("headroom_high")
    assert found == pytest.approx({"headroom": 0.1 / 3, "flat": 2 / 3, "f1_per_call": 0.1})
    assert headroom([], 2) == {"headroom": 0.0, "flat": 0.0, "f1_per_call": 0.0}


@pytest.fixture
def on_gpu(monkeypatch):
    """Says which GPU this machine has."""

    def is_here(name):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: bool(name))
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda: name)

    return is_here


@pytest.mark.parametrize(("kl", "trained"), [(0.1, 44), (0.0, 24)])
def test_speed_counts_what_trains_and_the_share_of_a_peak_is_absent_without_one(on_gpu, kl, trained):
    section = parse_params({"grpo": {"group": 2, "kl": kl}}).grpo
    columns = {"prompt_ids": [[1] * 5] * 4, "completion_ids": [[2] * 5, [2] * 5, [2] * 5, [2] * 9]}
    rollouts = Rollouts(None, section)
    rollouts._batch = Batch(columns | {"score": [1.0, 1.0, 0.0, 1.0]}, [])
    config = SimpleNamespace(to_dict=lambda: CONFIGS["Qwen/Qwen3-0.6B"])
    on_gpu("NVIDIA H100 80GB HBM3")
    found = rollouts.speed(config)
    assert found["tokens_per_second"] * found["train_seconds"] == pytest.approx(trained)
    per_token = (6 * 0.596e9 + 6 * 28 * 2048 * 10) * (4 / 3 if kl else 1)
    assert found["mfu"] * found["train_seconds"] * 989e12 == pytest.approx(per_token * trained, rel=0.01)
    assert "mfu" not in rollouts.speed(SimpleNamespace(to_dict=lambda: {"model_type": "mamba"}))
    for gpu in ("", "Other"):
        on_gpu(gpu)
        assert "mfu" not in rollouts.speed(config)
