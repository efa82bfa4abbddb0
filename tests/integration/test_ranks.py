"""SFT and GRPO in several processes of torchrun, which find each other through gloo, beside the same in one."""

import json
import signal
from functools import partial
from pathlib import Path

import pytest
from safetensors.torch import load_file

from fusesearch.core.config import Compute, Lora, Validation
from fusesearch.core.cores import cores
from fusesearch.core.errors import ConfigError, FusesearchError
from fusesearch.core.storage import read_trajectories, write_jsonl
from fusesearch.training import grpo, sft
from fusesearch.training.ranks import train_in_ranks, without_ranks
from tests.fakes.cpu_ranks import die, in_turn
from tests.fakes.token_server import interpreter
from tests.fakes.training import snapshots_in

pytestmark = pytest.mark.skipif(cores() < 2, reason="ranks need cores of their own")


def silent(row):
    """Log nothing."""


class Trained:
    """What a training left in ``out``."""

    def __init__(self, out):
        self.state = load_file(out / "checkpoint" / "model.safetensors")
        self.rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]

    def losses(self):
        return [row["loss"] for row in self.rows if "loss" in row]

    def beside(self, other):
        """Largest difference of a weight."""
        return _difference(self.state, other.state)

    def moved(self, base):
        """Largest difference of a weight from the checkpoint at the start."""
        return _difference(self.state, load_file(base / "model.safetensors"))


def _difference(state, other):
    assert state.keys() == other.keys()
    return max(float((value - other[name]).abs().max()) for name, value in state.items())


class Trainings:
    """Trainings of the tiny student, by name."""

    def __init__(self, folder, params, base, instances, trajectory):
        self.folder, self.base, self.instances = folder, base, instances
        changes = {"optimizer": "adamw", "learning_rate": 1e-3, "epochs": 10, "batch_size": 4, "micro_batch": 1}
        self.params = params.model_copy(update={"sft": params.sft.model_copy(update=changes)})
        self.trajectories = folder / "t.jsonl"
        issues = ("prime is wrong " * words for words in (1, 9, 4, 2, 8, 3, 6, 5))
        write_jsonl(self.trajectories, [trajectory.model_copy(update={"issue": issue}) for issue in issues])

    def sft(self, name, sharded=False, model=None, **changes):
        section = self.params.sft.model_copy(update=changes)
        params = self.params.model_copy(update={"sft": section, "model": model or self.params.model})
        return sft.train_sft, (params, self.trajectories, self.folder / name), sharded

    def grpo(self, name, sharded=False, **changes):
        section = self.params.grpo.model_copy(update=changes)
        snapshot = snapshots_in(self.folder)
        return grpo.train_grpo, (self.params, section, self.instances, self.base, snapshot, self.folder / name), sharded

    def run(self, ranks, *parts):
        if ranks == 1:
            in_turn(list(parts), on_log=silent)
        else:
            train_in_ranks(Compute(ranks=ranks), in_turn, list(parts), on_log=silent)
        return [Trained(arguments[-1]) for _, arguments, _ in parts]


@pytest.fixture
def trainings(tmp_path, params, base, instances, trajectory, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Trainings(tmp_path, params, base, instances, trajectory)


@pytest.mark.rare
def test_two_ranks_train_what_one_trains_whether_they_share_the_weights_or_not(trainings):
    it, lora = trainings, {"lora": Lora(rank=4)}
    alone = it.run(1, it.sft("sft"), it.grpo("grpo"), it.grpo("free", kl=0.0), it.sft("lora", **lora))
    # without a KL term the first rank has one pass, of a rollout without an advantage, beside the two of the other
    free = it.grpo("free-2", kl=0.0, tokens_per_pass=1)
    together = it.run(2, it.sft("sft-2"), it.grpo("grpo-2"), free, it.sft("lora-sharded", True, **lora), it.sft("sharded", True))
    for one, two in zip([*alone, alone[0]], together, strict=True):
        assert two.losses() == pytest.approx(one.losses(), rel=1e-4, abs=1e-6)
        assert one.beside(two) < 1e-5
    assert [row["reward"] for row in together[1].rows] == [row["reward"] for row in alone[1].rows]
    assert [row["passes"] for row in together[2].rows] == [2, 2]
    for trained in (*alone, *together[1:3]):
        assert trained.moved(it.base) > 1e-4


@pytest.mark.rare
def test_sharded_ranks_train_on_what_servers_sample_and_keep_the_best_step_that_one_keeps(trainings, tmp_path, monkeypatch):
    it = trainings
    monkeypatch.setenv("FAKE_VLLM", str(interpreter(tmp_path / "python")))
    changes = {"rollouts": "vllm", "prompts_per_step": 1, "validation": Validation(every=1, prompts=2, keep_best=True)}
    (alone,) = it.run(1, it.grpo("alone", **changes))
    (together,) = it.run(2, it.grpo("sharded", True, **changes))
    assert [row["step"] for row in together.rows] == [0, 1, 2]
    for name in ("validation/reward", "validation/turns", "validation/tokens_gain"):
        assert [row[name] for row in together.rows] == pytest.approx([row[name] for row in alone.rows])
    assert all(row["sampling/sampling_logp_difference/max"] < 1e-3 for row in together.rows[1:])
    assert together.losses() == pytest.approx(alone.losses(), abs=1e-6)
    assert alone.beside(together) < 1e-5


@pytest.mark.rare
def test_ranks_that_were_killed_go_on_from_their_last_step(trainings):
    it = trainings
    killed = it.folder / "cut" / "trainer"

    def kill(row):
        raise KeyboardInterrupt

    (whole,) = it.run(2, it.sft("whole", True, save_steps=4))
    with pytest.raises(KeyboardInterrupt):
        train_in_ranks(Compute(ranks=2), in_turn, [it.sft("cut", True, save_steps=4)], on_log=kill)
    assert any(killed.glob("checkpoint-*"))
    (again,) = it.run(2, it.sft("cut", True, save_steps=4))
    assert again.beside(whole) == 0
    assert not killed.exists()


@pytest.mark.parametrize(
    ("end", "says"),
    [
        (partial(signal.raise_signal, signal.SIGKILL), "one of 2 ranks failed, see torchrun's lines above: run the same"),
        (partial(read_trajectories, Path("none.jsonl")), "none.jsonl"),
    ],
)
@pytest.mark.rare
def test_a_rank_that_dies_ends_all_in_one_line(end, says):
    with pytest.raises(FusesearchError, match=says) as caught:
        train_in_ranks(Compute(ranks=2), die, 1, end, on_log=silent)
    assert "\n" not in str(caught.value)


def test_more_ranks_than_the_machine_has_are_refused_before_anything_starts():
    with pytest.raises(ConfigError, match=r"compute.ranks asks for 4096 cores, for want of a GPU: this machine has \d+"):
        train_in_ranks(Compute(ranks=4096), die, 1, print, on_log=silent)


def test_a_program_that_a_rank_starts_is_no_rank():
    own = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_PORT": "1", "TORCHELASTIC_USE_AGENT_STORE": "True", "HOME": "/h"}
    assert without_ranks(own) == {"HOME": "/h"}
