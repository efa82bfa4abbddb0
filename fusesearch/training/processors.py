"""Memory of training on processors, by formulas: bytes of one process that trains, and of those that sample for it.

The terms follow from the architecture, from :mod:`fusesearch.training.trl_trimmed` (each sequence at its own length, in threads,
each with its gradient) and from TRL 1.16's head, which computes logits in tiles. :data:`TEMPORARY` and :data:`LIBRARIES` are
fitted to peaks measured on two cores (``docs/training-reference.md``), which ``tests/unit/training/test_processors.py`` holds.
Everything is float32. Models from :data:`~fusesearch.training.budget.LARGE` parameters on compute activations again.
"""

from __future__ import annotations

from fusesearch.training.architectures import Architecture
from fusesearch.training.budget import LARGE, SERVED, TRAINED, key_value_bytes, state_bytes

FLOAT = 4
TEMPORARY = 1.2
"""Memory of activations as a multiple of what the backward pass keeps: values in between, and what the allocator holds back."""
LIBRARIES = 0.84e9
"""Bytes of a process that trains, beside tensors: Python, torch, transformers and TRL."""
SAMPLER = 0.62e9
"""The same of a process that samples."""
HEADS = 4
"""Gradients of the embeddings that a thread has beside that of all weights: of each use, and while they are added up."""
TILE_TOKENS, TILE_WORDS, TILE_COPIES = 4096, 32_768, 8.25
"""Most tokens and words of the vocabulary in a tile of logits, and how many such tiles its backward pass has at once."""


def trained_parameters(model: Architecture, lora: int = 0) -> float:
    """Parameters that have gradients: all, or those of adapters of rank ``lora``."""
    return (state_bytes(model, lora=lora) - SERVED * model.parameters) / TRAINED if lora else model.parameters


def optimizer_bytes(model: Architecture, optimizer: str, lora: int = 0) -> float:
    """Two moments of AdamW; of ``muon`` one for matrices, and AdamW's two for embeddings."""
    if optimizer == "adamw" or lora:
        return 2 * FLOAT * trained_parameters(model, lora)
    return FLOAT * (model.parameters + _embeddings(model))


def activation_bytes(model: Architecture, tokens: int, context: int = 0) -> float:
    """What the backward pass through all layers keeps of ``tokens`` that follow ``context`` tokens."""
    queries, values = model.heads * model.head_size, model.key_value_heads * model.head_size
    width = 6 * model.hidden + 4 * model.active * model.feed_forward + 3 * queries + 2 * values
    width += 2 * (queries + values) if model.normed else 0
    repeated = 2 * queries * (context + tokens) if context else 0  # keys and values for each head
    return FLOAT * model.layers * (width * tokens + repeated)


def logits_bytes(model: Architecture, tokens: int) -> float:
    """Logits of a row in its backward pass."""
    return FLOAT * TILE_COPIES * min(tokens, TILE_TOKENS) * min(model.vocabulary, TILE_WORDS)


def sft_bytes(
    model: Architecture, tokens: int, rows: int, threads: int, *, several: bool = True, optimizer: str = "adamw", lora: int = 0
) -> float:
    """Peak of the process that trains, with micro-batches of ``rows`` sequences of ``tokens``.

    ``several``: a step has more than one of them, so that a gradient is kept meanwhile.
    """
    kept, inputs = activation_bytes(model, tokens), FLOAT * tokens * model.layers * model.hidden
    kept, left = (inputs + kept / model.layers, inputs) if model.parameters >= LARGE else (kept, 0)
    first = TEMPORARY * (kept + logits_bytes(model, tokens))
    last = TEMPORARY * left + _thread_gradients(model, lora)
    return _peak(model, optimizer, lora, several + (rows > threads), min(threads, rows) * max(first, last))


def grpo_bytes(
    model: Architecture,
    tokens: int,
    rows: int,
    groups: int,
    threads: int,
    *,
    prompt: int,
    several: bool = True,
    optimizer: str = "adamw",
    lora: int = 0,
    kl: bool = False,
) -> float:
    """Peak of the process that trains, with micro-batches of ``rows`` rollouts of ``tokens`` for each of ``groups`` prompts.

    ``tokens`` follow a ``prompt`` of as many. A KL term (``kl``) takes a second model, and rollouts one after another.
    """
    threads, rows, groups = (1, rows * groups, 1) if kl else (threads, rows, groups)
    row, known = activation_bytes(model, tokens, prompt), activation_bytes(model, prompt)
    again, gradients = model.parameters >= LARGE, _thread_gradients(model, lora)
    activations = TEMPORARY * ((max(row, known) if again else known + rows * row) + logits_bytes(model, tokens))
    each = gradients + activations if again else max(gradients, activations)  # of one row, while those of others are there
    reference = FLOAT * model.parameters if kl and not lora else 0
    return _peak(model, optimizer, lora, several + (groups > threads), min(threads, groups) * each) + reference


def sampler_bytes(model: Architecture) -> float:
    """A process that samples, while none of its episodes runs."""
    return SAMPLER + FLOAT * model.parameters


def sampling_bytes(model: Architecture, tokens: int, rollouts: int) -> float:
    """The same with ``rollouts`` episodes of ``tokens``: keys and values in a batch and kept, or the next weights."""
    return sampler_bytes(model) + 2 * max(FLOAT * model.parameters, 2 * key_value_bytes(model) * tokens * rollouts)


def idle_bytes(model: Architecture, optimizer: str, lora: int = 0) -> float:
    """The process that trains, while others sample, with a copy of the weights for them and what it is made of."""
    return _peak(model, optimizer, lora, 0, 2 * FLOAT * model.parameters)


def _peak(model: Architecture, optimizer: str, lora: int, gradients: int, threads: float) -> float:
    """Weights, the optimizer and as many finished ``gradients`` beside what all ``threads`` take, or then a step."""
    gradient = FLOAT * trained_parameters(model, lora)
    state = LIBRARIES + FLOAT * model.parameters + optimizer_bytes(model, optimizer, lora)
    return state + gradients * gradient + max(threads, 2 * gradient)


def _thread_gradients(model: Architecture, lora: int) -> float:
    return FLOAT * (trained_parameters(model, lora) + (0 if lora else HEADS * model.vocabulary * model.hidden))


def _embeddings(model: Architecture) -> int:
    return model.vocabulary * model.hidden * (1 if model.tied else 2)
