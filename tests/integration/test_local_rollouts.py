"""Rollouts by the model that trains, in processes: the same as without, and one line when a process dies."""

from __future__ import annotations

import os
import pickle
import signal
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from fusesearch.core.errors import InfrastructureError
from fusesearch.core.storage import read_instances
from fusesearch.training import local
from fusesearch.training.local import Local
from fusesearch.training.rollouts import Episodes
from fusesearch.training.trainer import load_student
from tests.fakes.training import snapshots_in


@pytest.fixture
def made(tmp_path, params, instances, base, monkeypatch):
    """Two processes for two prompts of two rollouts each."""
    monkeypatch.setattr(local, "LEAST", 2)
    monkeypatch.setattr(local, "cores", lambda: 2)
    model, tokenizer = load_student(base)
    with torch.no_grad():
        model.lm_head.weight.mul_(3)  # other weights than the checkpoint's
    row = read_instances(instances)[0]
    tasks = {name: row.model_copy(update={"instance_id": name}) for name in ("one", "two")}
    snapshot = snapshots_in(tmp_path)
    trainer = SimpleNamespace(
        model=model, accelerator=SimpleNamespace(unwrap_model=lambda own: own), state=SimpleNamespace(global_step=3)
    )
    episodes = Episodes(params, params.grpo, tasks, snapshot, tokenizer.eos_token_id)
    with Local(tokenizer) as rollouts:
        yield rollouts, episodes, ["one", "one", "two", "two"], trainer


def assert_same(one, other):
    assert {name: one.columns[name] for name in one.columns if name != "logprobs"} == {
        name: other.columns[name] for name in other.columns if name != "logprobs"
    }
    for logprobs, others in zip(one.columns["logprobs"], other.columns["logprobs"], strict=True):
        assert logprobs == pytest.approx(others, abs=1e-4)
    assert [(s.instance_id, s.reward, s.turns) for s in one.scores] == [(s.instance_id, s.reward, s.turns) for s in other.scores]
    assert len({tuple(row) for row in one.columns["completion_ids"]}) > 1


class InThisProcess:
    """Does at once what a pool of processes would do."""

    def __init__(self, *_, **__):
        self._processes: dict[int, Any] = {}

    def submit(self, work, *arguments):
        made = work(*pickle.loads(pickle.dumps(arguments)))
        return SimpleNamespace(result=lambda: made)

    def shutdown(self, **_):
        pass


def test_parts_make_the_same_rollouts_as_all_at_once(made, monkeypatch):
    rollouts, episodes, ids, trainer = made
    monkeypatch.setattr(local, "ProcessPoolExecutor", InThisProcess)
    trainer.model.train()
    apart = rollouts(episodes, ids, trainer)
    assert rollouts._pool is not None
    assert trainer.model.training
    monkeypatch.setattr(local, "LEAST", 3)
    assert_same(apart, rollouts(episodes, ids, trainer))


@pytest.mark.rare
def test_processes_make_the_same_rollouts_and_one_that_dies_ends_the_step_in_one_line(made, monkeypatch):
    rollouts, episodes, ids, trainer = made
    apart = rollouts(episodes, ids, trainer)
    monkeypatch.setattr(local, "LEAST", 3)
    assert_same(apart, rollouts(episodes, ids, trainer))
    monkeypatch.setattr(local, "LEAST", 2)
    assert rollouts._pool is not None
    for pid in list(rollouts._pool._processes):
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(InfrastructureError, match="a process that makes rollouts died"):
        rollouts(episodes, ids, trainer)
