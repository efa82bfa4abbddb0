"""GRPO with validation on a tiny random model: what it measures, what it leaves alone, and what a killed run does with it."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from fusesearch.core.config import load_params
from fusesearch.core.errors import DataError
from fusesearch.core.overrides import override
from fusesearch.core.storage import read_instances, read_jsonl, write_instances
from fusesearch.evaluation import harness
from fusesearch.evaluation.metrics import mean_of
from fusesearch.training import grpo
from fusesearch.training.rollouts import Episodes
from fusesearch.training.trainer import load_student
from fusesearch.training.validation import Validated, reserve
from tasks.grpo import reinforce as grpo_stage
from tasks.running.node import Job, Node
from tasks.running.places import Places
from tests.fakes.training import Killed, stop_at

ROOT = Path(__file__).parents[2]


@pytest.fixture
def train(tmp_path, params, instances, reinforce, monkeypatch):
    """Trains four steps of one prompt with rewards that move the weights, in the folder of a name. Returns the weights."""
    monkeypatch.setattr(grpo, "rollout_reward", lambda score, **_: [float(n % 2) for n in range(len(score))])
    every = [row.model_copy(update={"instance_id": f"i{n}"}) for n, row in enumerate(read_instances(instances) * 3)]
    write_instances(instances, every)

    def run(name, pool=instances, **changes):
        validation = params.grpo.validation.model_copy(update={"prompts": 2, **changes.pop("validation", {})})
        usual = {"steps": 4, "prompts_per_step": 1, "learning_rate": 0.05, "validation": validation}
        reinforce(name, pool=pool, **usual | changes)
        return load_file(tmp_path / name / "checkpoint" / "model.safetensors")

    return run


def rows_of(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def timeless(rows):
    return [
        {key: value for key, value in row.items() if not key.endswith(("seconds", "per_second", "step_time"))} for row in rows
    ]


def equal(first, second):
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_a_validation_is_greedy_by_the_weights_of_its_step_and_changes_nothing(
    train, tmp_path, params, instances, base, monkeypatch
):
    """Validations are before the first step, after the third and after the last, of a run whose weights are a mean."""
    drawn = []
    asked = []
    add, make = grpo.Validator._add, Episodes.make

    def state():
        return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()

    def added(validator, step, trainer):
        before = state()
        best = add(validator, step, trainer)
        drawn.append(state() != before)
        return best

    def made(episodes, ids, step, policy, positions=None):
        if not episodes.section.temperature:
            asked.append({name: value.clone() for name, value in policy.model.state_dict().items()})
        return make(episodes, ids, step, policy, positions)

    training, held_out = reserve(read_instances(instances), 2, params.seed)
    write_instances(tmp_path / "rest.parquet", training)
    assert not {row.instance_id for row in training} & {row.instance_id for row in held_out}
    with monkeypatch.context() as patch:
        patch.setattr(grpo.Validator, "_add", added)
        patch.setattr(Episodes, "make", made)
        weights = train("with", validation={"every": 3}, averaged=0.5)
    without = train("without", tmp_path / "rest.parquet", averaged=0.5)
    rows = rows_of(tmp_path / "with")
    assert equal(weights, without)
    assert drawn == [False] * 3
    plain = [{key: value for key, value in row.items() if "validation/" not in key} for row in timeless(rows)]
    assert plain[1:] == timeless(rows_of(tmp_path / "without"))
    greedy = [{name: found[name] for name in without} for found in asked]
    assert equal(greedy[0], load_file(base / "model.safetensors"))
    assert equal(greedy[-1], without)  # the mean of the last steps, which the run leaves

    validated = [row for row in rows if "validation/turns" in row]
    assert ([row["step"] for row in rows], [row["step"] for row in validated]) == ([0, 1, 2, 3, 4], [0, 3, 4])
    assert rows[0].keys() - {"step", "steps"} == {key for key in rows[0] if key.startswith("validation/")}
    assert [rows[0][f"validation/f1_gain{end}"] for end in ("", "_low", "_high")] == [0, 0, 0]
    every = list(read_jsonl(tmp_path / "with/checkpoint/validation.jsonl", Validated))
    assert [row.step for row in every] == [0, 3, 4]
    assert len({tuple(score.instance_id for score in row.scores) for row in every}) == 1
    for found, logged in zip(every, validated, strict=True):
        for name, field in {"turns": "turns", "tokens": "tokens_context", "efficiency": "efficiency", "reward": "reward"}.items():
            assert logged[f"validation/{name}"] == pytest.approx(mean_of(found.scores, field))


@pytest.mark.parametrize("killed_at", [3, pytest.param(0, marks=pytest.mark.rare), pytest.param(2, marks=pytest.mark.rare)])
def test_a_killed_run_neither_loses_nor_doubles_a_validation(train, tmp_path, killed_at):
    def scores(name):
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


@pytest.mark.parametrize("rewards", [[0.25, 0.5, 0.5], pytest.param([0.5, 0.25, 0.125], marks=pytest.mark.rare)])
def test_the_best_step_is_kept_the_first_of_several(train, tmp_path, monkeypatch, rewards):
    """Of the steps 0, 2 and 4."""
    left, best = iter(rewards), 2 * rewards.index(max(rewards))
    saved = {}
    add = grpo.Validator._add

    def scored(self, step, trainer):
        reward, batch_of = next(left), self._batch_of

        def rewarded(trainer):
            batch = batch_of(trainer)
            return grpo.replace(batch, scores=[score.model_copy(update={"reward": reward}) for score in batch.scores])

        saved[step] = {name: value.clone() for name, value in trainer.model.state_dict().items()}
        with monkeypatch.context() as patch:
            patch.setattr(self, "_batch_of", rewarded)
            return add(self, step, trainer)

    monkeypatch.setattr(grpo.Validator, "_add", scored)
    kept = train("out", validation={"every": 2, "keep_best": True})
    assert equal(kept, {name: saved[best][name] for name in kept})
    assert not equal(kept, {name: saved[4][name] for name in kept})
    assert load_student(tmp_path / "out" / "checkpoint")
    assert (tmp_path / "out/checkpoint/fusesearch.json").is_file()


def test_a_student_below_what_needs_no_training_is_not_trained_and_one_at_least_as_good_is(instances, tmp_path, monkeypatch):
    """Nano's own base model, which finds nothing here, beside the ranker, and beside what is never right."""
    monkeypatch.chdir(tmp_path)
    places = Places(root=tmp_path)
    every = [
        row.model_copy(update={"instance_id": f"{row.instance_id}-{n}"}) for n in (1, 2) for row in read_instances(instances)
    ]
    write_instances(places["split.rl"], every)
    (tmp_path / "repos").rename(places["mine.repos"])
    short = {"steps": 1, "prompts_per_step": 1, "group": 2, "micro_batch": 2, "start": "base", "renamed": 0}
    short |= {"validation.every": 1, "validation.floor": "ranker"}
    changes = {f"grpo.{name}": value for name, value in short.items()} | {"model.base": str(ROOT / "experiments/nano/base")}
    job = Job(Node(stage="grpo"), override(load_params(ROOT / "params.yaml"), changes, "test"), places, tmp_path / "scratch")
    with pytest.raises(
        DataError,
        match=r"student has F1 0\.0 on 3 held-out fixes, ranker has 100\.0 \(difference -100\.0 \[.*use ranker as it is",
    ):
        grpo_stage(job)
    assert not places["grpo.checkpoint"].exists()

    scored = harness.scored

    def worthless(*episodes, **options):
        return [score.model_copy(update={"f1": 0.0}) for score in scored(*episodes, **options)]

    monkeypatch.setattr(harness, "scored", worthless)
    assert grpo_stage(job)["steps"] == 1
    assert places["grpo.checkpoint"].is_dir()
