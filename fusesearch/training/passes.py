"""GRPO's update of one batch of rollouts, in passes of so many tokens (veRL: ``use_dynamic_bsz``, ``ppo_max_token_len_per_gpu``).

TRL 1.16 takes a fixed number of rollouts a pass, padded to the longest of all. With vLLM it computes the batch once before it
trains, for the policy's probabilities that those of the sampler are held against. Here one update follows a batch, so the passes
compute the same probabilities anyway. All of this can go when TRL does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from math import inf
from typing import Any

import torch
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence
from trl import GRPOTrainer
from trl.trainer.utils import use_adapter


def in_passes(lengths: Sequence[int], most: int, padded: bool = False) -> list[list[int]]:
    """The rows of each pass: together at most ``most`` tokens, of padding too if they are ``padded`` to the longest.

    A row of more has a pass of its own. Longest rows first, each in the first pass that has room.
    """

    def tokens(rows: list[int]) -> int:
        return len(rows) * lengths[rows[0]] if padded else sum(lengths[row] for row in rows)

    passes: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lambda row: -lengths[row]):
        room = next((rows for rows in passes if tokens([*rows, row]) <= most), None)
        if room is None:
            passes.append([row])
        else:
            room.append(row)
    return passes


class PackedGRPOTrainer(GRPOTrainer):
    """A GRPOTrainer whose batch of a rank is all its rollouts of a step, trained in passes by TRL's loss.

    A pass has at most ``tokens_per_pass`` tokens, or without that ``rows_per_pass`` rollouts. With flash attention they follow
    one another in a row, else they are padded on the right, where no token sees padding, so that no mask is needed. Rollouts
    without an advantage are left out if there is neither a KL term nor one of entropy. Ranks add up gradients after every pass,
    or if ``sync_once`` after the last one, which takes memory for whole gradients.
    """

    def __init__(
        self, *args: Any, tokens_per_pass: int | None, rows_per_pass: int = 1, sync_once: bool = True, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        if self.args.gradient_accumulation_steps != 1 or self.num_iterations != 1:
            raise ValueError("one update follows a batch: set gradient_accumulation_steps to 1")
        self.kl, self.beta = self.beta, 0.0  # TRL would compute the reference of all rollouts before the first pass
        policy: Any = self.model
        self.packed = policy.config._attn_implementation.startswith("flash")
        self._most_ratio = self.vllm_importance_sampling_clip_max or inf
        self._limit, self._rows, self._sync_once = tokens_per_pass, rows_per_pass, sync_once
        self._seen: list[tuple[torch.Tensor, ...]] = []

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> torch.Tensor:
        """The sum over sampled tokens by the weights of ``loss_type``. All passes but the last have had their backward pass."""
        columns = _columns(inputs)
        counts = columns["sampled"].sum(1)
        columns["shares"] = self._shares(counts, inputs["num_items_in_batch"])
        self._all_tokens = int(counts.sum())
        passes = self._passes(columns["real"].sum(1).tolist(), inputs["advantages"].tolist())
        loss = torch.zeros((), device=inputs["advantages"].device)
        for rows in passes[:-1]:
            with self.accelerator.no_sync(model) if self._sync_once else nullcontext():
                part = self._loss(model, columns, rows)
                self.accelerator.backward(part)
            loss += part.detach()
        loss = loss + self._loss(model, columns, passes[-1])
        self._metrics["train"]["passes"].append(len(passes))
        self._log_tokens()
        return loss

    def _passes(self, lengths: list[int], advantages: list[float]) -> list[list[int]]:
        """The rows of each pass, as many passes as the rank with most has: each gathers weights of the others."""
        order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
        all_train = self.kl or self.entropy_coef
        own = [row for row in order if all_train or advantages[row]]
        spare = [row for row in order if not (all_train or advantages[row])]
        if self._limit:
            passes = in_passes([lengths[row] for row in own], self._limit, not self.packed)
        else:
            passes = in_passes([1] * len(own), self._rows)
        passes = [[own[place] for place in places] for places in passes]
        most = self.accelerator.gather(torch.tensor([max(1, len(passes))], device=self.accelerator.device))
        while len(passes) < int(most.max()):
            largest = max(passes, key=len, default=[])
            if len(largest) > 1:
                passes.remove(largest)
                passes += [largest[::2], largest[1::2]]
            else:
                passes.append([spare.pop()])
        return passes

    def _loss(self, model: Any, columns: dict[str, torch.Tensor], rows: list[int]) -> torch.Tensor:
        """The part of the loss of these rollouts. Ratios to the policy before the update are 1, so that clipping never acts."""
        part = {name: column[rows] for name, column in columns.items()}
        given = _given(part["ids"], part["real"], part["sampled"], self.packed)
        with self.accelerator.autocast():
            output = model(**given, fused_lm_head=True)
        logps, entropy = (values[output.label_mask].float() for values in (output.log_probs, output.entropy))
        counts = part["sampled"].sum(1)
        loss = -(logps - logps.detach()).exp() * part["advantages"].repeat_interleave(counts)
        apart = logps.detach() - part["logps"][part["sampled"]]
        ratio = apart.nan_to_num(nan=0.0).exp().clamp(max=self._most_ratio)
        if self.use_vllm:
            loss = loss * ratio
        penalty = torch.zeros_like(loss)
        if self.kl:
            away = self._reference(given) - logps
            penalty = away.exp() - away - 1
        self._seen.append(tuple(values.detach() for values in (entropy, penalty, apart, ratio)))
        loss = ((loss + self.kl * penalty) / part["shares"].repeat_interleave(counts)).sum()
        return loss - self.entropy_coef * entropy.sum() / self._all_tokens if self.entropy_coef else loss

    def _shares(self, counts: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """How many share the loss with a token of each rollout. ``counts``: tokens of the rank's rollouts; ``tokens``: of all."""
        size = len(counts)
        if self.loss_type == "dapo":
            return (tokens / self.accelerator.num_processes).expand(size)
        return size * (counts if self.loss_type == "grpo" else torch.full_like(counts, self.max_completion_length))  # type: ignore[arg-type]

    def _reference(self, given: dict[str, Any]) -> torch.Tensor:
        """Log-probabilities of the sampled tokens under the reference policy: a model of its own, or the one without adapters."""
        of = self.accelerator.unwrap_model(self.model)
        adapters = use_adapter(of, None) if self.ref_model is None else nullcontext()
        with torch.no_grad(), adapters, self.accelerator.autocast():
            policy: Any = self.ref_model or self.model
            output = policy(**given, fused_lm_head=True)
        return output.log_probs[output.label_mask].float()

    def _log_tokens(self) -> None:
        """Figures of the tokens that the passes trained, of all ranks."""
        entropy, penalty, apart, ratio = (torch.cat(values) for values in zip(*self._seen, strict=True))
        self._seen.clear()
        known, most = apart[~apart.isnan()].abs(), self._most_ratio
        sums = [torch.ones_like(entropy), entropy, penalty, ratio, (ratio >= most).float(), torch.ones_like(known), known]
        ends = [known, ratio, -ratio]
        own = [values.sum() for values in sums] + [pad(values, (0, 1), value=-most).max() for values in ends]
        every = self.accelerator.gather(torch.stack(own)[None])
        tokens, *totals, compared, apart_sum = every[:, : len(sums)].sum(0).tolist()
        entropy_mean, kl, mean, capped = (total / max(tokens, 1) for total in totals)
        apart_max, highest, lowest = every[:, len(sums) :].amax(0).tolist()
        figures = {"entropy": entropy_mean, **({"kl": kl} if self.kl else {})}
        if self.use_vllm:
            figures |= {
                "sampling/sampling_logp_difference/mean": apart_sum / max(compared, 1),
                "sampling/sampling_logp_difference/max": apart_max,
                "sampling/importance_sampling_ratio/min": -lowest,
                "sampling/importance_sampling_ratio/mean": mean,
                "sampling/importance_sampling_ratio/max": highest,
                "sampling/importance_sampling_ratio/capped": capped,
            }
        for name, value in figures.items():
            self._metrics["train"][name].append(value)


def _columns(inputs: dict[str, Any]) -> dict[str, torch.Tensor]:
    """TRL's batch with prompts and completions joined, [rollouts, tokens]: ids, which are real, which the policy sampled."""
    prompt, completion = inputs["prompt_mask"], inputs["completion_mask"]
    sampled, before = completion * inputs.get("tool_mask", 1), torch.zeros_like(prompt)
    return {
        "ids": torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1),
        "real": torch.cat([prompt, completion], 1).bool(),
        "sampled": torch.cat([before, sampled], 1).bool(),
        "logps": torch.cat([before.float(), inputs["sampling_per_token_logps"]], 1),
        "advantages": inputs["advantages"],
    }


def _given(ids: torch.Tensor, real: torch.Tensor, sampled: torch.Tensor, packed: bool) -> dict[str, Any]:
    """What the model takes of rollouts, [rollouts, tokens], without their padding on the left; labels only where ``sampled``."""
    lengths = real.sum(1)
    labels = ids.masked_fill(~sampled, -100)
    if not packed:
        parts = [(ids, 0), (labels, -100)]
        rows = [
            pad_sequence(values[real].split(lengths.tolist()), batch_first=True, padding_value=none) for values, none in parts
        ]
        return {"input_ids": rows[0], "labels": rows[1]}
    starts = pad(lengths.cumsum(0), (1, 0)).int()
    longest = int(lengths.max())
    return {
        "input_ids": ids[real][None],
        "labels": labels[real][None],
        "position_ids": (real.cumsum(1) - 1)[real][None],
        "cu_seq_lens_q": starts,
        "cu_seq_lens_k": starts,
        "max_length_q": longest,
        "max_length_k": longest,
    }
