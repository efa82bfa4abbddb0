"""Rollouts by the model that trains, in processes: the same as without, and one line when a process dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from fusesearch.core.config import Params
from fusesearch.core.errors import InfrastructureError
from fusesearch.core.storage import read_instances
from fusesearch.training import local
from fusesearch.training.local import Local
from fusesearch.training.rollouts import Episodes
from fusesearch.training.trainer import load_student
from tests.fakes.training import snapshots_in

Made = tuple[Local, Episodes, list[str], Any]


@pytest.fixture
def made(tmp_path: Path, params: Params, instances: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
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


def test_processes_make_the_same_rollouts_and_one_that_dies_ends_the_step_in_one_line(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    rollouts, episodes, ids, trainer = made
    trainer.model.train()
    apart = rollouts(episodes, ids, trainer)
    assert rollouts._pool is not None
    assert trainer.model.training
    monkeypatch.setattr(local, "LEAST", 3)
    alone = rollouts(episodes, ids, trainer)
    assert {name: apart.columns[name] for name in apart.columns if name != "logprobs"} == {
        name: alone.columns[name] for name in alone.columns if name != "logprobs"
    }
    for one, other in zip(apart.columns["logprobs"], alone.columns["logprobs"], strict=True):
        assert one == pytest.approx(other, abs=1e-4)
    assert [(s.instance_id, s.reward, s.turns) for s in apart.scores] == [
        (s.instance_id, s.reward, s.turns) for s in alone.scores
    ]
    assert len({tuple(row) for row in apart.columns["completion_ids"]}) > 1

    monkeypatch.setattr(local, "LEAST", 2)
    for pid in list(rollouts._pool._processes):
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(InfrastructureError, match="a process that makes rollouts died"):
        rollouts(episodes, ids, trainer)
