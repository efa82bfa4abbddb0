"""Our GRPO steps against TRL's own: the same rollouts, the same weights after a step, and of passes the same figures."""

import math
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from types import SimpleNamespace

import pytest
import torch
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st
from trl import GRPOConfig, GRPOTrainer

from fusesearch.training import trl_trimmed
from fusesearch.training.passes import PackedGRPOTrainer, in_passes
from fusesearch.training.trainer import load_student
from fusesearch.training.trl_trimmed import TrimmedGRPOTrainer
from tests.fakes.tiny_student import tiny_student

SEQUENCES = [
    ([3, 4, 5], [6, 7, 8, 9], [1, 1, 0, 1]),
    ([3, 4, 5], [6, 9], [1, 1]),
    ([8, 7], [5, 4, 3], [1, 1, 1]),
    ([8, 7], [5, 9, 9, 9, 4, 3, 7, 6], [1, 0, 0, 1, 1, 1, 0, 1]),
]  # fmt: skip
REWARDS = (1.0, 0.0, 0.25, 0.5)
MOVES, STAYS = (1.0, 0.0, 0.5, 0.5), (0.3, 0.3, 0.5, 0.5)
"""Rewards of two groups, of which the first one differs, and of which none does."""
CORRECTED = {"vllm_importance_sampling_mode": "token_truncate", "vllm_importance_sampling_clip_max": 1.5}


def rollouts(prompts, trainer):
    prompt, completion, mask = ([list(ids) for ids in column] for column in zip(*SEQUENCES, strict=True))
    logprobs = [[-5.0 - place / 3 for place in range(len(ids))] for ids in completion]
    logprobs[1][0] = math.nan
    return {"prompt_ids": prompt, "completion_ids": completion, "env_mask": mask, "logprobs": logprobs}


@cache
def _base():
    return tiny_student(Path(mkdtemp(prefix="base-")), ["def prime(n):\n    return n % 2\n"] * 5, 300)


class Step:
    """The weights and the figures after a step of SGD."""

    def __init__(self, of, rewards, kl, vllm, packed=False, **given):
        with TemporaryDirectory() as folder:
            self._train(of, Path(folder), list(rewards), kl, vllm, packed, given)

    def _train(self, of, out, rewards, kl, vllm, packed, given):
        model, tokenizer = load_student(_base())
        if kl:  # so that the policy is not its reference
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.mul_(1.1)
        arguments = GRPOConfig(
            output_dir=str(out), max_steps=1, per_device_train_batch_size=4, num_generations=2, beta=kl,
            learning_rate=0.1, lr_scheduler_type="constant", optim="sgd", max_grad_norm=0.0, use_cpu=True, bf16=False,
            gradient_checkpointing=False, report_to=[], save_strategy="no", seed=0, use_bias_correction_kl=False,
            logging_steps=1, **{"loss_type": "grpo"} | given,
        )  # fmt: skip
        trainer = of(
            model=model,
            args=arguments,
            reward_funcs=[lambda **_: rewards],
            rollout_func=rollouts,
            train_dataset=Dataset.from_list([{"prompt": "def"}, {"prompt": "return"}]),
            processing_class=tokenizer,
        )
        trainer.use_vllm, trainer._last_loaded_step = vllm, -1
        trainer.vllm_generation = SimpleNamespace(sync_weights=lambda: None)
        trainer.packed = packed
        trainer.train()
        self.weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
        self.figures = trainer.state.log_history[0]


@cache
def trl_step(rewards, kl, vllm, **given):
    return Step(GRPOTrainer, rewards, kl, vllm, vllm_importance_sampling_correction=vllm, **CORRECTED, **given)


@pytest.mark.parametrize("given", [{"loss_type": "dr_grpo"}, {"loss_type": "dapo"}, {"entropy_coef": 0.3}])
def test_losses_and_the_term_of_entropy_are_trls(given):
    theirs, usual = trl_step(MOVES, 0.0, False, **given).weights, trl_step(MOVES, 0.0, False).weights
    for of in (TrimmedGRPOTrainer, partial(PackedGRPOTrainer, tokens_per_pass=15)):
        torch.testing.assert_close(Step(of, MOVES, 0.0, False, **given).weights, theirs, rtol=1e-5, atol=1e-6)
    assert (theirs - usual).abs().max() > 1e-5


@pytest.mark.parametrize(
    ("packed", "most", "passes", "kl", "vllm"),
    [(False, 15, 3, 0.0, False), (True, 15, 2, 0.1, True)],
)
def test_a_step_in_passes_is_trls_with_its_pass_for_old_probabilities(packed, most, passes, kl, vllm):
    theirs = trl_step(REWARDS, kl, vllm)
    of = partial(PackedGRPOTrainer, tokens_per_pass=most)
    ours = Step(of, REWARDS, kl, vllm, packed, vllm_importance_sampling_correction=False, **CORRECTED)
    torch.testing.assert_close(ours.weights, theirs.weights, rtol=1e-5, atol=1e-6)
    assert ours.figures["passes"] == passes
    same = ["loss", "entropy", *(["kl"] if kl else [])]
    if vllm:
        logged = [name for name in theirs.figures if name.startswith("sampling/")]
        assert len(logged) == 5
        assert 0 < ours.figures["sampling/importance_sampling_ratio/capped"] < 1
        same += logged
    for name in same:
        assert ours.figures[name] == pytest.approx(theirs.figures[name], rel=1e-4, abs=1e-6), name


@pytest.mark.parametrize(("rewards", "kl"), [(MOVES, 0.0), (MOVES, 0.1), (STAYS, 0.0)])
def test_leaving_out_what_has_no_influence_or_advantage_changes_no_weight(rewards, kl):
    theirs = trl_step(rewards, kl, False).weights
    torch.testing.assert_close(Step(TrimmedGRPOTrainer, rewards, kl, False).weights, theirs, rtol=1e-5, atol=1e-6)
    if not kl:
        packed = Step(partial(PackedGRPOTrainer, tokens_per_pass=1), rewards, kl, False)
        torch.testing.assert_close(packed.weights, theirs, rtol=1e-5, atol=1e-6)
        assert packed.figures["passes"] == (2 if rewards == MOVES else 1)
    others = trl_step(STAYS if rewards == MOVES else MOVES, kl, False).weights
    assert (others - theirs).abs().max() > 1e-4


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 120), st.booleans())
def test_passes_hold_every_row_once_and_no_more_tokens_than_asked(lengths, most, padded):
    passes = in_passes(lengths, most, padded)
    assert sorted(row for rows in passes for row in rows) == list(range(len(lengths)))
    for rows in passes:
        own = [lengths[row] for row in rows]
        assert len(rows) == 1 or (max(own) * len(own) if padded else sum(own)) <= most
    small = [rows for rows in passes if sum(lengths[row] for row in rows) * 2 <= most]
    assert len(small) <= 1 or padded, "two passes that fit into one"


@pytest.mark.parametrize("kl", [0.0, 0.1])
def test_activations_that_are_computed_again_change_no_weight(kl, monkeypatch):
    calls = []

    def counted(*arguments):
        calls.append(torch.is_grad_enabled())
        return continued(*arguments)

    continued = trl_trimmed._continued
    monkeypatch.setattr(trl_trimmed, "_continued", counted)
    kept = Step(TrimmedGRPOTrainer, (1.0, 0.0, 0.5, 0.25), kl, False)
    monkeypatch.setattr(trl_trimmed, "recomputes", lambda model: True)
    before = sum(calls)
    again = Step(TrimmedGRPOTrainer, (1.0, 0.0, 0.5, 0.25), kl, False)
    assert sum(calls) == 3 * before == 12
    torch.testing.assert_close(again.weights, kept.weights, rtol=0, atol=1e-7)
