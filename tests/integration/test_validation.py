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
from fusesearch.training.rollouts import Batch, Episodes
from fusesearch.training.trainer import load_student
from fusesearch.training.validation import Validated, reserve
from tests.fakes.training import Killed, stop_at

Weights = dict[str, torch.Tensor]
Rows = list[dict[str, float]]
Train = Callable[..., Weights]


@pytest.fixture
def train(tmp_path: Path, params: Params, instances: Path, reinforce, monkeypatch: pytest.MonkeyPatch) -> Train:  # type: ignore[no-untyped-def]
    """Trains four steps of one prompt with rewards that move the weights, in the folder of a name. Returns the weights."""
    monkeypatch.setattr(grpo, "rollout_reward", lambda score, **_: [float(n % 2) for n in range(len(score))])
    every = [row.model_copy(update={"instance_id": f"i{n}"}) for n, row in enumerate(read_instances(instances) * 3)]
    write_instances(instances, every)

    def run(name: str, pool: Path = instances, **changes: Any) -> Weights:
        validation = params.grpo.validation.model_copy(update={"prompts": 2, **changes.pop("validation", {})})
        usual = {"steps": 4, "prompts_per_step": 1, "learning_rate": 0.05, "validation": validation}
        reinforce(name, pool=pool, **usual | changes)
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


class Watched:
    """A run with validations before the first step, after the third and after the last, whose weights are averaged over half."""

    def __init__(self, train: Train, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder / "with"
        self.drawn: list[bool] = []
        self.asked: list[tuple[float, Weights]] = []
        add, make = grpo.Validator._add, Episodes.make

        def state() -> Any:
            return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()

        def added(validator: Any, step: int, trainer: Any) -> bool:
            before = state()
            best = add(validator, step, trainer)
            self.drawn.append(state() != before)
            return best

        def made(episodes: Episodes, ids: list[str], step: int, policy: Any, positions: Any = None) -> Batch:
            weights = {name: value.clone() for name, value in policy.model.state_dict().items()}
            self.asked.append((episodes.section.temperature, weights))
            return make(episodes, ids, step, policy, positions)

        monkeypatch.setattr(grpo.Validator, "_add", added)
        monkeypatch.setattr(Episodes, "make", made)
        self.weights = train("with", validation={"every": 3}, averaged=0.5)
        monkeypatch.setattr(Episodes, "make", make)
        self.rows = rows_of(self.folder)


def test_a_validation_is_greedy_by_the_weights_of_its_step_and_changes_nothing(
    train: Train, tmp_path: Path, params: Params, instances: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training, held_out = reserve(read_instances(instances), 2, params.seed)
    write_instances(tmp_path / "rest.parquet", training)
    watched = Watched(train, tmp_path, monkeypatch)
    without = train("without", tmp_path / "rest.parquet", averaged=0.5)
    assert equal(watched.weights, without)
    assert watched.drawn == [False] * 3
    assert [{key: value for key, value in row.items() if "validation/" not in key} for row in timeless(watched.rows)][
        1:
    ] == timeless(rows_of(tmp_path / "without"))
    assert not {row.instance_id for row in training} & {row.instance_id for row in held_out}

    validations = [{name: weights[name] for name in without} for temperature, weights in watched.asked if temperature == 0]
    assert equal(validations[0], load_file(base / "model.safetensors"))
    assert equal(validations[-1], without)  # the mean of the last steps, which the run leaves

    assert [row["step"] for row in watched.rows] == [0, 1, 2, 3, 4]
    assert [row["step"] for row in watched.rows if "validation/turns" in row] == [0, 3, 4]
    first = watched.rows[0]
    assert first.keys() - {"step", "steps"} == {key for key in first if key.startswith("validation/")}
    assert (first["validation/f1_gain"], first["validation/f1_gain_low"], first["validation/f1_gain_high"]) == (0, 0, 0)
    every = list(read_jsonl(watched.folder / "checkpoint/validation.jsonl", Validated))
    assert [row.step for row in every] == [0, 3, 4]
    assert len({tuple(score.instance_id for score in row.scores) for row in every}) == 1
    for validated, logged in zip(every, [row for row in watched.rows if "validation/turns" in row], strict=True):
        for name, field in {"turns": "turns", "tokens": "tokens_context", "efficiency": "efficiency", "reward": "reward"}.items():
            assert logged[f"validation/{name}"] == pytest.approx(mean_of(validated.scores, field))


@pytest.mark.parametrize("killed_at", [3, pytest.param(0, marks=pytest.mark.rare), pytest.param(2, marks=pytest.mark.rare)])
def test_a_killed_run_neither_loses_nor_doubles_a_validation(train: Train, tmp_path: Path, killed_at: int) -> None:
    def scores(name: str) -> list[tuple[int, list[float]]]:
        rows = read_jsonl(tmp_path / name / "checkpoint/validation.jsonl", Validated)
        return [(row.step, [score.f1 for score in row.scores]) for row in rows]

    changes = {"validation": {"every": 1, "keep_best": True}, "save_steps": 2, "averaged": 0.5, "steps": 3}
    whole = train("whole", **changes)
    assert [step for step, _ in scores("whole")] == [0, 1, 2, 3]
    with pytest.raises(Killed):
        train("cut", on_log=stop_at(killed_at), **changes)
    assert equal(whole, train("cut", **changes))
    assert timeless(rows_of(tmp_path / "cut")) == timeless(rows_of(tmp_path / "whole"))
    assert scores("cut") == scores("whole")


@pytest.mark.parametrize(
    ("rewards", "best"),
    [
        ([0.25, 0.5, 0.5], 2),
        pytest.param([0.5, 0.25, 0.125], 0, marks=pytest.mark.rare),
        pytest.param([0.25, 0.25, 0.5], 4, marks=pytest.mark.rare),
    ],
)
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
