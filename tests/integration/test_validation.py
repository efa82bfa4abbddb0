"""GRPO with validation on a tiny random model: what it measures, what it leaves alone, and what a killed run does with it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from fusesearch.core.config import Params
from fusesearch.core.errors import DataError
from fusesearch.core.storage import read_instances, read_jsonl, write_instances
from fusesearch.evaluation.metrics import mean_of
from fusesearch.training import grpo
from fusesearch.training.grpo import train_grpo
from fusesearch.training.rollouts import Batch, Episodes
from fusesearch.training.trainer import load_student
from fusesearch.training.validation import Validated, reserve
from tests.fakes.training import Killed, snapshots_in, stop_at

Weights = dict[str, torch.Tensor]
Rows = list[dict[str, float]]
Train = Callable[..., Weights]


@pytest.fixture
def train(tmp_path: Path, params: Params, instances: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> Train:
    """Trains four steps of one prompt with rewards that move the weights, in the folder of a name. Returns the weights."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(grpo, "rollout_reward", lambda score, **_: [float(n % 2) for n in range(len(score))])
    every = [row.model_copy(update={"instance_id": f"i{n}"}) for n, row in enumerate(read_instances(instances) * 3)]
    write_instances(instances, every)
    snapshot = snapshots_in(tmp_path)

    def run(
        name: str, pool: Path = instances, on_log: Callable[[dict[str, float]], None] = lambda row: None, **changes: Any
    ) -> Weights:
        validation = params.grpo.validation.model_copy(update={"prompts": 2, **changes.pop("validation", {})})
        settings = {"steps": 4, "prompts_per_step": 1, "learning_rate": 0.05, "validation": validation, **changes}
        train_grpo(params, params.grpo.model_copy(update=settings), pool, base, snapshot, tmp_path / name, on_log=on_log)
        return load_file(tmp_path / name / "checkpoint" / "model.safetensors")

    return run


def rows_of(folder: Path) -> Rows:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def timeless(rows: Rows) -> Rows:
    return [
        {key: value for key, value in row.items() if not key.endswith(("seconds", "per_second", "step_time"))} for row in rows
    ]


def equal(first: Weights, second: Weights) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_validation_changes_no_weight_and_draws_no_random_number(
    train: Train, tmp_path: Path, params: Params, instances: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[bool] = []
    add = grpo.Validator._add

    def watched(self: Any, step: int, trainer: Any) -> bool:
        def state() -> Any:
            return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()

        before = state()
        best = add(self, step, trainer)
        drawn.append(state() != before)
        return best

    monkeypatch.setattr(grpo.Validator, "_add", watched)
    training, held_out = reserve(read_instances(instances), 2, params.seed)
    write_instances(tmp_path / "rest.parquet", training)
    with_it = train("with", validation={"every": 2})
    without = train("without", tmp_path / "rest.parquet")
    assert equal(with_it, without)
    assert drawn == [False] * 3
    assert [
        {key: value for key, value in row.items() if "validation/" not in key} for row in timeless(rows_of(tmp_path / "with"))
    ][1:] == timeless(rows_of(tmp_path / "without"))
    assert not {row.instance_id for row in training} & {row.instance_id for row in held_out}


def test_it_validates_before_the_first_step_every_few_and_after_the_last(train: Train, tmp_path: Path) -> None:
    train("out", validation={"every": 3})
    rows = rows_of(tmp_path / "out")
    assert [row["step"] for row in rows] == [0, 1, 2, 3, 4]
    assert [row["step"] for row in rows if "validation/turns" in row] == [0, 3, 4]
    first = rows[0]
    assert first.keys() - {"step", "steps"} == {key for key in first if key.startswith("validation/")}
    assert (first["validation/f1_gain"], first["validation/f1_gain_low"], first["validation/f1_gain_high"]) == (0, 0, 0)
    every = list(read_jsonl(tmp_path / "out/checkpoint/validation.jsonl", Validated))
    assert [row.step for row in every] == [0, 3, 4]
    assert len({tuple(score.instance_id for score in row.scores) for row in every}) == 1
    for validated, logged in zip(every, [row for row in rows if "validation/turns" in row], strict=True):
        for name, field in {"turns": "turns", "tokens": "tokens_context", "efficiency": "efficiency", "reward": "reward"}.items():
            assert logged[f"validation/{name}"] == pytest.approx(mean_of(validated.scores, field))


def test_it_answers_greedily_by_the_weights_of_its_step(
    train: Train, tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[float, Weights]] = []
    make = Episodes.make

    def watched(self: Episodes, ids: list[str], step: int, policy: Any, positions: Any = None) -> Batch:
        asked.append((self.section.temperature, {name: value.clone() for name, value in policy.model.state_dict().items()}))
        return make(self, ids, step, policy, positions)

    monkeypatch.setattr(Episodes, "make", watched)
    last = train("out", validation={"every": 4}, averaged=0.5)
    validations = [{name: weights[name] for name in last} for temperature, weights in asked if temperature == 0]
    assert len(validations) == 2
    assert equal(validations[0], load_file(base / "model.safetensors"))
    assert equal(validations[1], last)  # the mean of the last steps, which the run leaves


def test_a_killed_run_neither_loses_nor_doubles_a_validation(train: Train, tmp_path: Path) -> None:
    def scores(name: str) -> list[tuple[int, list[float]]]:
        rows = read_jsonl(tmp_path / name / "checkpoint/validation.jsonl", Validated)
        return [(row.step, [score.f1 for score in row.scores]) for row in rows]

    changes = {"validation": {"every": 1, "keep_best": True}, "save_steps": 2, "averaged": 0.5}
    whole = train("whole", **changes)
    assert [step for step, _ in scores("whole")] == [0, 1, 2, 3, 4]
    for killed_at in (0, 2, 3):
        with pytest.raises(Killed):
            train(f"cut {killed_at}", on_log=stop_at(killed_at), **changes)
        assert equal(whole, train(f"cut {killed_at}", **changes))
        assert timeless(rows_of(tmp_path / f"cut {killed_at}")) == timeless(rows_of(tmp_path / "whole"))
        assert scores(f"cut {killed_at}") == scores("whole")


@pytest.mark.parametrize(("rewards", "best"), [([0.5, 0.25, 0.125], 0), ([0.25, 0.5, 0.5], 2), ([0.25, 0.25, 0.5], 4)])
def test_the_best_step_is_kept_the_first_of_several(
    train: Train, tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch, rewards: list[float], best: int
) -> None:
    left = iter(rewards)
    saved: dict[int, Weights] = {}
    add = grpo.Validator._add

    def scored(self: Any, step: int, trainer: Any) -> bool:
        reward = next(left)
        batch_of = self._batch_of
        monkeypatch.setattr(self, "_batch_of", lambda trainer: _rewarded(batch_of(trainer), reward))
        saved[step] = {name: value.clone() for name, value in trainer.model.state_dict().items()}
        try:
            return add(self, step, trainer)
        finally:
            self._batch_of = batch_of

    monkeypatch.setattr(grpo.Validator, "_add", scored)
    kept = train("out", validation={"every": 2, "keep_best": True})
    assert equal(kept, {name: saved[best][name] for name in kept})
    assert not equal(kept, {name: saved[{0: 2, 2: 4, 4: 0}[best]][name] for name in kept})
    assert load_student(tmp_path / "out" / "checkpoint")
    assert (tmp_path / "out/checkpoint/fusesearch.json").is_file()


def _rewarded(batch: Any, reward: float) -> Any:
    return grpo.replace(batch, scores=[score.model_copy(update={"reward": reward}) for score in batch.scores])


def test_a_pool_without_prompts_to_spare_is_refused_in_one_line(train: Train) -> None:
    with pytest.raises(DataError, match=r"the rl split has 9 instances, and grpo.validation.prompts takes 9 of them: lower it"):
        train("out", validation={"every": 1, "prompts": 9})
