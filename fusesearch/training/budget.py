"""Memory and arithmetic of training and serving a model, by formulas: bytes and floating-point operations (FLOP).

The terms follow from the architecture; the factor 1.15, the 2 GB beside it and :data:`EXPERT_COPIES` are fitted to prime-rl's
published peaks (``benchmarks/results/BENCHMARKS.md``, early 2026), which ``tests/unit/training/test_budget.py`` holds.
Passes compute in bfloat16 with all activations recomputed, and no logits are kept beyond a tile (TRL's fused head).
"""

from __future__ import annotations

from fusesearch.training.architectures import Architecture

TRAINED = 16
"""Bytes a parameter in training: weights, gradients and AdamW's two moments, all float32."""
REFERENCE = 4
"""Bytes a parameter of the KL term's reference: TRL 1.16 loads it in the type of the trained weights."""
SERVED = 2
"""Bytes a parameter in vLLM: bfloat16."""
EXPERT_COPIES = 6
"""Copies of a token that a mixture of experts holds for each expert that sees it."""
ALLOCATOR, CONTEXT = 1.15, 2e9
SERVER_CONTEXT = 4e9
"""Bytes of a vLLM server beside weights, keys and values."""
LARGE = 50_000_000
"""Parameters from which products of matrices take most of the time, and activations most of the memory, on a processor."""
PEAKS = {"B200": 2250e12, "H200": 989e12, "H100": 989e12, "H20": 148e12, "A100": 312e12, "L40S": 362e12}
"""FLOP a second of a GPU in bfloat16 without sparsity, by a part of its name, from the vendor's data sheets."""
PUBLISHED_MFU = {"dense": (0.11, 0.36), "experts": (0.03, 0.15)}
"""Lowest and highest share of a GPU's peak that prime-rl's RL runs reached, at 16,384 to 65,536 tokens."""


def state_bytes(model: Architecture, ranks: int = 1, reference: int = 0, lora: int = 0) -> float:
    """Weights, gradients and optimizer on each of ``ranks`` GPUs.

    ``reference`` is bytes a parameter of the KL reference. With adapters of rank ``lora`` the weights are frozen in bfloat16 and
    are the reference themselves.
    """
    if not lora:
        return (TRAINED + reference) * model.parameters / ranks
    queries, values = model.heads * model.head_size, model.key_value_heads * model.head_size
    widths = 4 * model.hidden + 2 * queries + 2 * values
    widths += 0 if model.experts else 3 * (model.hidden + model.feed_forward)  # of experts only attention is adapted
    return (SERVED * model.parameters + TRAINED * lora * model.layers * widths) / ranks


def activation_bytes(model: Architecture, tokens: int) -> float:
    """Inputs of all layers and one layer recomputed, for ``tokens`` in a forward and backward pass."""
    width = 8 * model.hidden + 4 * model.heads * model.head_size + 5 * model.active * model.feed_forward
    copies = EXPERT_COPIES * model.active * model.hidden if model.experts else 0
    return tokens * 2.0 * (model.layers * model.hidden + width + copies)


def training_bytes(model: Architecture, tokens: int, ranks: int = 1, reference: int = 0, lora: int = 0) -> float:
    """Peak of a training step with ``tokens`` per pass, on each GPU. Several ranks gather two layers at a time."""
    gathered = 2 * 2 * model.parameters / model.layers if ranks > 1 else 0
    state = state_bytes(model, ranks, reference, lora)
    return ALLOCATOR * (state + gathered + activation_bytes(model, tokens)) + CONTEXT


def longest_pass(model: Architecture, memory: float, ranks: int = 1, reference: int = 0, lora: int = 0) -> int:
    """The most tokens per pass with which a training step fits into ``memory`` bytes of each GPU; 0 if none do."""
    room = memory - training_bytes(model, 0, ranks, reference, lora)
    return max(0, int(room / (ALLOCATOR * activation_bytes(model, 1))))


def serving_bytes(model: Architecture, tokens: int, gpus: int = 1) -> float:
    """A vLLM server over ``gpus`` GPUs, on all of them, that can hold one request of ``tokens``."""
    keys_and_values = SERVED * 2 * model.layers * model.key_value_heads * model.head_size
    return SERVED * model.parameters + keys_and_values * tokens + SERVER_CONTEXT * gpus


def training_flop(model: Architecture, tokens: int, rows: int, forwards: int = 0) -> float:
    """FLOP of forward and backward over ``rows`` sequences of ``tokens``, with ``forwards`` further forward passes."""
    per_token = 6 * model.active_parameters + 6 * model.layers * model.heads * model.head_size * tokens
    return per_token * tokens * rows * (1 + forwards / 3)


def peak_of(gpu: str) -> float | None:
    """Published FLOP a second of the GPU with this name; None for one that :data:`PEAKS` lacks, and for none."""
    return next((rate for part, rate in PEAKS.items() if part in gpu), None)


def utilization(flop: float, seconds: float, gpu: str, ranks: int = 1) -> float | None:
    """MFU: the share of the published peak of ``ranks`` such GPUs that ``flop`` in ``seconds`` is; None without a peak."""
    peak = peak_of(gpu)
    return flop / (seconds * peak * ranks) if peak else None


def training_hours(model: Architecture, flop: float, peak: float) -> tuple[float, float]:
    """Fewest and most hours at the published shares of ``peak``, FLOP a second of all GPUs together."""
    low, high = PUBLISHED_MFU["experts" if model.experts else "dense"]
    return flop / (peak * high) / 3600, flop / (peak * low) / 3600


def gib(count: float) -> float:
    """Bytes in GiB."""
    return count / 2**30
