"""Workarounds for TRL 1.16, whose steps compute values that do not affect the gradient, and use one core of a CPU.

TRL trains on rollouts whose whole group has the same reward; here, without a KL term, they are left out. On a CPU, where batching
gains nothing, each sequence is computed at its own length, each prompt once for its group, and the sequences (SFT) or groups
(GRPO) of a micro-batch in threads. All of this can go when TRL does it. GRPO on GPUs, in ranks or with rollouts by servers trains
in :mod:`~fusesearch.training.passes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from typing import Any

import torch
from accelerate.utils.fsdp_utils import fsdp2_prepare_model
from torch.utils.checkpoint import checkpoint
from transformers.cache_utils import DynamicCache
from trl import GRPOTrainer, SFTTrainer
from trl.trainer import grpo_trainer

from fusesearch.core.cores import cores
from fusesearch.training.trainer import is_sharded, load_weights, recomputes


def shard_reference(model: Any, accelerator: Any) -> Any:
    """The reference policy, sharded by layer as what is trained is: TRL would gather all of it for each pass."""
    return fsdp2_prepare_model(accelerator, model).eval()


def load_reference(checkpoint: str, dtype: Any = "float32", **options: Any) -> Any:
    """As in TRL, but where ranks share out the weights only the first loads them."""
    if not is_sharded():
        return create_model_from_path(checkpoint, dtype=dtype, **options)
    return load_weights(checkpoint, dtype, attn_implementation=options["attn_implementation"])


create_model_from_path = grpo_trainer.create_model_from_path
grpo_trainer.create_model_from_path = load_reference  # type: ignore[assignment]
grpo_trainer.prepare_fsdp = shard_reference


class TrimmedSFTTrainer(SFTTrainer):
    """An SFTTrainer that computes each sequence at its own length on a CPU."""

    def _get_train_sampler(self, *args: Any) -> Any:
        sampler: Any = super()._get_train_sampler(*args)
        sampler.batch_size *= self.args.world_size  # similar lengths in all ranks, which wait for each other
        return sampler

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """The summed loss of the micro-batch's tokens over the tokens of the whole batch."""
        loss_of, among = super().compute_loss, self.accelerator
        one_cpu = among.device.type == "cpu" and among.num_processes == 1
        if return_outputs or num_items_in_batch is None or not one_cpu:
            return loss_of(model, inputs, return_outputs, num_items_in_batch)
        rows = [
            {name: value[row : row + 1, mask.bool()] for name, value in inputs.items()}
            for row, mask in enumerate(inputs["attention_mask"])
        ]
        return _in_threads(model, [partial(loss_of, model, row, num_items_in_batch=num_items_in_batch) for row in rows])


class TrimmedGRPOTrainer(GRPOTrainer):
    """A GRPOTrainer for one CPU that samples by the model itself: it computes each prompt once, and rows at their own lengths."""

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Any:
        """The loss of the rollouts with a nonzero advantage, or of one without, weighted as in the whole micro-batch."""
        loss_of = super()._compute_loss
        size = len(inputs["advantages"])
        if self.beta or self.entropy_coef or not model.training:
            return loss_of(model, inputs)
        most = max(1, int((inputs["advantages"] != 0).sum()))
        kept = (inputs["advantages"] == 0).long().argsort(stable=True)[:most]

        def loss_of_rows(rows: torch.Tensor) -> torch.Tensor:
            part = {name: value[rows] if _is_column(value, size) else value for name, value in inputs.items()}
            return loss_of(model, part) * (1 if self.loss_type == "dapo" else len(rows) / size)  # dapo's is a sum already

        kept = kept[sorted(range(len(kept)), key=inputs["prompt_ids"][kept].tolist().__getitem__)]  # TRL has shuffled the groups
        groups = [kept[first:last] for first, last in _runs(inputs["prompt_ids"][kept])]
        return _in_threads(model, [partial(loss_of_rows, group) for group in groups])

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: Any, attention_mask: Any, logits_to_keep: int, **_: Any
    ) -> tuple[Any, Any, Any]:
        parts: list[tuple[Any, Any]] = list(self._row_by_row(model, input_ids, attention_mask, logits_to_keep))
        logps = torch.cat([part[0] for part in parts])
        entropies = torch.cat([part[1] for part in parts]) if parts[0][1] is not None else None
        return logps, entropies, None

    def _row_by_row(
        self, model: Any, input_ids: Any, attention_mask: Any, columns: int
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor | None]]:
        """Log-probabilities and entropies of each row's last ``columns`` tokens, zero for padding."""
        again = partial(checkpoint, use_reentrant=False, preserve_rng_state=False) if recomputes(model) else _plain
        for first, last in _runs(input_ids[:, :-columns]):
            prompt = input_ids[first, :-columns][attention_mask[first, :-columns].bool()]
            known = again(_known, model, prompt[None, :-1]) if len(prompt) > 1 else ()
            for row in range(first, last):
                length = int(attention_mask[row, -columns:].sum())
                ids = torch.cat([prompt[-1:], input_ids[row, -columns:][:length]])[None]
                padded: list[Any] = [
                    values if values is None else torch.nn.functional.pad(values[:, -length:], (0, columns - length))
                    for values in again(_continued, model, ids, *known)
                ]
                yield padded[0], padded[1]


def _known(model: Any, ids: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Keys and values of ``ids`` in each layer."""
    cache = DynamicCache()
    model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
    return tuple(chain.from_iterable((layer.keys, layer.values) for layer in cache.layers))  # type: ignore[misc, union-attr]


def _continued(model: Any, ids: torch.Tensor, *known: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Log-probabilities and entropies of ``ids`` after the tokens whose keys and values are ``known``."""
    cache = DynamicCache(list(zip(known[::2], known[1::2], strict=True)))
    output = model(input_ids=ids, past_key_values=cache, labels=ids, fused_lm_head=True)
    return output.log_probs, output.entropy


def _plain(compute: Callable[..., Any], *arguments: Any) -> Any:
    return compute(*arguments)


def _in_threads(model: Any, losses: list[Callable[[], torch.Tensor]]) -> torch.Tensor:
    """The sum of ``losses``, each computed with its gradient in one of as many threads as there are cores for."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]

    def loss_and_gradient(compute: Callable[[], torch.Tensor]) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        loss = compute()
        return loss.detach(), torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True)

    with ThreadPoolExecutor(max(1, cores() // torch.get_num_threads())) as pool:
        parts = pool.map(loss_and_gradient, losses)  # added up as they come, in order: all at once take the weights' memory each
        total, first = next(parts)
        gradients = list(first)
        del first
        for loss, more in parts:
            total = total + loss
            for place, other in enumerate(more):
                gradients[place] = gradients[place] + other
    return _Computed.apply(total, gradients, *parameters)


class _Computed(torch.autograd.Function):
    """A loss with a precomputed gradient."""

    @staticmethod
    def forward(ctx: Any, loss: torch.Tensor, gradients: list[torch.Tensor], *parameters: torch.Tensor) -> torch.Tensor:
        ctx.gradients = gradients
        return loss.clone()

    @staticmethod
    def backward(ctx: Any, *outer: torch.Tensor) -> Any:
        return (None, None, *(outer[0] * gradient for gradient in ctx.gradients))


def _runs(rows: torch.Tensor) -> list[tuple[int, int]]:
    """First and last (exclusive) of each run of equal rows."""
    changes = [i for i in range(1, len(rows)) if not torch.equal(rows[i], rows[i - 1])]
    return list(zip([0, *changes], [*changes, len(rows)], strict=True))


def _is_column(value: Any, size: int) -> bool:
    return isinstance(value, torch.Tensor) and value.dim() > 0 and len(value) == size
