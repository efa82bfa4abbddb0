"""Groups whose rewards are all alike, replaced by groups of further prompts."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from fusesearch.agents.models.base import Completion, Message, Sampling
from fusesearch.core.config import Params
from fusesearch.core.schema import Instance, Score, Trajectory, Truth
from fusesearch.search.repository import Repository
from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
from fusesearch.training import grpo
from fusesearch.training.grpo import train_grpo
from fusesearch.training.rollouts import Batch, Episodes
from tests.fakes.token_server import interpreter
from tests.integration.conftest import ANSWER


class Policy:
    """Is right about issues that say so, wrong about others, and both about mixed ones, by the seed of the rollout."""

    name = "policy"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def complete(self, messages: list[Message], tools: object, sampling: Sampling) -> Completion:
        issue = messages[1].content
        self.asked.append(issue.split()[-1])
        right = "right" in issue or ("mixed" in issue and (sampling.seed or 0) % 2)
        return Completion(text=ANSWER if right else "I do not know.")

    async def close(self) -> None:
        pass


def made(tmp_path: Path, params: Params, prompts: list[str], refills: list[str]) -> tuple[Batch, list[str]]:
    """The rollouts of a step of two each, and the issues of which there were any."""
    (tmp_path / "a.py").write_text("def prime(n): ...\n")
    truth = Truth(files=["a.py"], functions=["a.py::prime"])
    tasks = {
        name: Instance(instance_id=name, repo="o/r", base_commit="c", problem_statement=name, truth=truth)
        for name in (*prompts, *refills)
    }
    section = params.grpo.model_copy(update={"refill": len(refills)})
    episodes = Episodes(params, section, tasks, lambda _: Repository(tmp_path), eos=0, refills=[refills])
    policy = Policy()
    return episodes.make([name for name in prompts for _ in range(2)], 0, policy), policy.asked


@pytest.mark.parametrize(
    ("prompts", "refills", "trained", "tried"),
    [
        (["mixed-1", "mixed-2"], ["mixed-3"], ["mixed-1", "mixed-2"], 0),
        (["right-1", "mixed-1"], ["mixed-2", "mixed-3"], ["mixed-2", "mixed-1"], 1),
        (["right-1", "wrong-1"], ["right-2", "mixed-1", "wrong-2", "mixed-2"], ["mixed-1", "mixed-2"], 4),
        (["right-1", "wrong-1"], ["right-2", "mixed-1", "wrong-2"], ["mixed-1", "wrong-1"], 3),
        (["right-1", "mixed-1"], ["wrong-1"], ["right-1", "mixed-1"], 1),
    ],
)
def test_a_group_without_variance_makes_room_for_one_with_it(
    tmp_path: Path, params: Params, prompts: list[str], refills: list[str], trained: list[str], tried: int
) -> None:
    batch, asked = made(tmp_path, params, prompts, refills)
    assert [score.instance_id for score in batch.scores] == [name for name in trained for _ in range(2)]
    assert len(batch.columns["prompt_ids"]) == len(batch.scores)
    assert (batch.figures["refilled"], batch.figures["refill_tried"]) == (len({*trained} - {*prompts}), tried)
    assert {*asked} == {*prompts, *refills[:tried]}


def test_no_prompt_comes_twice_before_all_came(params: Params) -> None:
    names = [f"i{number}" for number in range(12)]
    section = params.grpo.model_copy(update={"steps": 3, "prompts_per_step": 2, "refill": 2})
    own, refills = grpo._order(names, section, 1)
    assert sorted(name for step in (*own, *refills) for name in step) == sorted(names)
    assert grpo._order(names, section, 1) == (own, refills)
    without = section.model_copy(update={"refill": 0})
    assert grpo._order(names, without, 1)[1] == [[], [], []]


class Killed(Exception):
    """Stands for the end of the trainer's process in the middle of a step."""


def stop_at_two(row: dict[str, float]) -> None:
    if row["step"] == 2:
        raise Killed


async def by_tokens(self: Episodes, trajectory: Trajectory, *_: object) -> Score:
    """A reward that varies although an untrained student finds nothing."""
    tokens = trajectory.turns[0].tokens
    assert tokens
    return Score(instance_id=trajectory.instance_id, reward=float(sum(tokens.completion_ids) % 2))


@pytest.mark.parametrize(("rollouts", "ahead"), [("transformers", 0), pytest.param("vllm", 1, marks=pytest.mark.rare)])
def test_a_killed_training_with_refill_goes_on_with_the_same_prompts(
    tmp_path: Path, params: Params, instances: Path, base: Path, monkeypatch: pytest.MonkeyPatch, rollouts: str, ahead: int
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fusesearch.training.serving.ENVIRONMENT", interpreter(tmp_path / "python"))
    monkeypatch.setattr(Episodes, "_score", by_tokens)  # not in the process that makes rollouts ahead
    snapshot: Callable[[Instance], Repository] = partial(
        instance_snapshot, SnapshotStore(tmp_path / "snapshots"), tmp_path / "repos"
    )
    changes = {"steps": 3, "prompts_per_step": 1, "refill": 2, "rollouts": rollouts, "ahead": ahead}
    section = params.grpo.model_copy(update=changes)

    def run(name: str, on_log: Callable[[dict[str, float]], None] = lambda row: None) -> list[dict[str, float]]:
        train_grpo(params, section, instances, base, snapshot, tmp_path / name, on_log=on_log)
        return [json.loads(line) for line in (tmp_path / name / "log.jsonl").read_text().splitlines()]

    whole = run("whole")
    with pytest.raises(Killed):
        run("cut", stop_at_two)
    again = run("cut")
    assert [row["step"] for row in again] == [1, 2, 3]
    assert all(0 <= row["refilled"] <= 1 and row["refilled"] <= row["refill_tried"] <= 2 for row in again)
    if not ahead:  # whose rollouts are by older weights, but not just after a kill
        assert any(row["refilled"] for row in whole)
        same = [{name: row[name] for name in ("reward", "refilled", "refill_tried")} for row in whole]
        assert same == [{name: row[name] for name in same[0]} for row in again]
        weights = [(tmp_path / name / "checkpoint" / "model.safetensors").read_bytes() for name in ("whole", "cut")]
        assert weights[0] == weights[1]
