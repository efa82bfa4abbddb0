"""SFT and GRPO in several processes, which find each other through gloo, beside the same in one."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from fusesearch.agents.parsing import format_answer, format_calls
from fusesearch.core.config import Compute, Lora, ModelSection, Params, Validation
from fusesearch.core.cores import cores
from fusesearch.core.errors import ConfigError, FusesearchError
from fusesearch.core.schema import Answer, Location, Observation, ToolCall, Trajectory, Turn
from fusesearch.core.storage import read_trajectories, write_jsonl
from fusesearch.training import grpo, sft
from fusesearch.training.ranks import train_in_ranks
from tests.fakes.cpu_ranks import Part, die, gradients, in_turn
from tests.fakes.token_server import interpreter
from tests.fakes.training import snapshots_in

pytestmark = pytest.mark.skipif(cores() < 2, reason="ranks need cores of their own")

ARGUMENTS = {"pattern": "def prime", "output_mode": "content"}
TURNS = [
    Turn(
        text=format_calls([("grep", ARGUMENTS)]),
        calls=[ToolCall(id="c", name="grep", arguments=ARGUMENTS)],
        observations=[Observation(call_id="c", output="/repo/a.py:1:def prime(n):")],
    ),
    Turn(text=format_answer(Answer(modify=[Location(path="a.py", function="prime")]))),
]
TRAJECTORIES = [
    Trajectory(instance_id="i", localizer="lexical", system="", issue="prime is wrong " * words, turns=TURNS)
    for words in (1, 9, 4, 2, 8, 3, 6, 5)
]


def silent(row: dict[str, float]) -> None:
    """Log nothing."""


class Trained:
    """What a training left in ``out``."""

    def __init__(self, out: Path) -> None:
        self.state = load_file(out / "checkpoint" / "model.safetensors")
        self.rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]

    def losses(self) -> list[float]:
        return [row["loss"] for row in self.rows if "loss" in row]

    def beside(self, other: Trained) -> float:
        """Largest difference of a weight."""
        return _difference(self.state, other.state)

    def moved(self, base: Path) -> float:
        """Largest difference of a weight from the checkpoint at the start."""
        return _difference(self.state, load_file(base / "model.safetensors"))


def _difference(state: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> float:
    assert state.keys() == other.keys()
    return max(float((value - other[name]).abs().max()) for name, value in state.items())


class Trainings:
    """Trainings of the tiny student, by name."""

    def __init__(self, folder: Path, params: Params, base: Path, instances: Path) -> None:
        self.folder, self.base, self.instances = folder, base, instances
        changes = {"optimizer": "adamw", "learning_rate": 1e-3, "epochs": 10, "batch_size": 4, "micro_batch": 1}
        self.params = params.model_copy(update={"sft": params.sft.model_copy(update=changes)})
        self.trajectories = folder / "t.jsonl"
        write_jsonl(self.trajectories, TRAJECTORIES)

    def sft(self, name: str, sharded: bool = False, model: ModelSection | None = None, **changes: Any) -> Part:
        section = self.params.sft.model_copy(update=changes)
        params = self.params.model_copy(update={"sft": section, "model": model or self.params.model})
        return sft.train_sft, (params, self.trajectories, self.folder / name), sharded

    def grpo(self, name: str, sharded: bool = False, **changes: Any) -> Part:
        section = self.params.grpo.model_copy(update=changes)
        snapshot = snapshots_in(self.folder)
        return grpo.train_grpo, (self.params, section, self.instances, self.base, snapshot, self.folder / name), sharded

    def run(self, ranks: int, *parts: Part) -> list[Trained]:
        train_in_ranks(Compute(ranks=ranks), in_turn, list(parts), on_log=silent)
        return [Trained(arguments[-1]) for _, arguments, _ in parts]


@pytest.fixture
def trainings(tmp_path: Path, params: Params, base: Path, instances: Path, monkeypatch: pytest.MonkeyPatch) -> Trainings:
    monkeypatch.chdir(tmp_path)
    return Trainings(tmp_path, params, base, instances)


@pytest.mark.rare
def test_two_ranks_train_what_one_trains_whether_they_share_the_weights_or_not(trainings: Trainings) -> None:
    it = trainings
    alone = it.run(1, it.sft("sft"), it.grpo("grpo"), it.grpo("free", kl=0.0))
    # without a KL term the first rank has one pass, of a rollout without an advantage, beside the two of the other
    free = it.grpo("free-2", kl=0.0, tokens_per_pass=1)
    together = it.run(2, it.sft("sft-2"), it.grpo("grpo-2"), free, it.sft("sft-sharded", True))
    for one, two in zip([*alone, alone[0]], together, strict=True):
        print(one.losses(), two.losses(), one.beside(two))
        assert two.losses() == pytest.approx(one.losses(), rel=1e-4, abs=1e-6)
        assert one.beside(two) < 1e-5
    assert [row["reward"] for row in together[1].rows] == [row["reward"] for row in alone[1].rows]
    assert [row["passes"] for row in together[2].rows] == [2, 2]
    assert all(trained.rows[1]["tokens_per_second"] > 0 for trained in (alone[0], together[0], together[3]))
    for trained in (*alone, *together[1:3]):
        assert trained.moved(it.base) > 1e-4


@pytest.mark.parametrize("experts", [False, True])
@pytest.mark.rare
def test_gradients_of_shared_weights_are_those_of_one_process_and_each_rank_writes_its_share(
    experts: bool, tmp_path: Path
) -> None:
    apart = train_in_ranks(Compute(ranks=2), gradients, experts, tmp_path, on_log=silent)
    print(apart)
    assert apart["loss"] < 1e-6
    assert apart["gradients"] < 1e-5
    assert apart["weights"] < 1e-5
    assert apart["files"] == 2
    assert apart["smallest"] > 0.3


@pytest.mark.rare
def test_ranks_validate_once_and_keep_the_best_step_that_one_keeps(
    trainings: Trainings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = trainings
    monkeypatch.setenv("FAKE_VLLM", str(interpreter(tmp_path / "python")))
    changes = {"prompts_per_step": 1, "validation": Validation(every=1, prompts=2, keep_best=True)}
    alone = it.run(1, it.grpo("one", **changes), it.grpo("one-served", rollouts="vllm", **changes))
    # no rank has all of shared weights, so servers sample
    together = it.run(2, it.grpo("two", **changes), it.grpo("sharded", True, rollouts="vllm", **changes))
    for one, two in zip(alone, together, strict=True):
        assert [row["step"] for row in two.rows] == [0, 1, 2]
        for name in ("validation/reward", "validation/turns", "validation/tokens_gain"):
            assert [row[name] for row in two.rows] == pytest.approx([row[name] for row in one.rows])
        assert two.beside(one) < 1e-5


@pytest.mark.rare
def test_adapters_over_shared_weights_and_small_steps_in_bfloat16(trainings: Trainings) -> None:
    it = trainings
    lora = {"lora": Lora(rank=4, alpha=8)}
    bfloat16 = {"model": ModelSection(base=str(it.base), dtype="bfloat16"), "precision": "bfloat16", "learning_rate": 1e-6}
    (alone,) = it.run(1, it.sft("lora", **lora))
    together, small = it.run(2, it.sft("lora-sharded", True, **lora), it.sft("small", True, **bfloat16))
    assert together.losses() == pytest.approx(alone.losses(), rel=1e-4)
    assert alone.beside(together) < 1e-5
    before = load_file(it.base / "model.safetensors")
    moved = torch.cat([(small.state[name] != before[name]).flatten() for name in before if "proj" in name])
    assert moved.float().mean() > 0.9


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.rare
def test_ranks_that_were_killed_go_on_from_their_last_step(trainings: Trainings, sharded: bool) -> None:
    it = trainings
    killed = it.folder / "cut" / "trainer"

    def kill(row: dict[str, float]) -> None:
        raise KeyboardInterrupt

    (whole,) = it.run(2, it.sft("whole", sharded, save_steps=4))
    with pytest.raises(KeyboardInterrupt):
        train_in_ranks(Compute(ranks=2), in_turn, [it.sft("cut", sharded, save_steps=4)], on_log=kill)
    assert any(killed.glob("checkpoint-*"))
    (again,) = it.run(2, it.sft("cut", sharded, save_steps=4))
    assert again.beside(whole) == 0
    assert not killed.exists()


@pytest.mark.parametrize("changes", [{"lora": Lora(rank=4)}, {"kl": 0.01}, {"kl": 0.0, "tokens_per_pass": 1}])
@pytest.mark.rare
def test_sharded_ranks_train_on_what_servers_sample(
    trainings: Trainings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    it = trainings
    monkeypatch.setenv("FAKE_VLLM", str(interpreter(tmp_path / "python")))
    (alone,) = it.run(1, it.grpo("alone", rollouts="vllm", **changes))
    (together,) = it.run(2, it.grpo("sharded", True, rollouts="vllm", **changes))
    for row in together.rows:
        assert row["sampling/sampling_logp_difference/max"] < 1e-3
        assert row["staleness_max"] == 0
    assert together.losses() == pytest.approx(alone.losses(), abs=1e-6)
    assert alone.beside(together) < 1e-5
    assert together.moved(it.base) > 1e-4


@pytest.mark.parametrize(
    ("end", "says"),
    [
        (
            partial(signal.raise_signal, signal.SIGKILL),
            r"rank 1 of 2 failed \(process 1 terminated with signal SIGKILL\): run the same",
        ),
        (partial(int, "x"), r"rank 1 of 2 failed \(ValueError: invalid literal.*\): run the same"),
        (partial(read_trajectories, Path("none.jsonl")), "none.jsonl"),
    ],
)
@pytest.mark.rare
def test_a_rank_that_dies_ends_all_in_one_line(end: Callable[[], None], says: str) -> None:
    with pytest.raises(FusesearchError, match=says) as caught:
        train_in_ranks(Compute(ranks=2), die, 1, end, on_log=silent)
    assert "\n" not in str(caught.value)


def test_more_ranks_than_the_machine_has_are_refused_before_anything_starts() -> None:
    with pytest.raises(ConfigError, match=r"compute.ranks asks for 4096 cores, for want of a GPU: this machine has \d+"):
        train_in_ranks(Compute(ranks=4096), die, 1, print, on_log=silent)
