"""Attention keys and values of the current batch and of conversations that may continue.

transformers' own dynamic cache copies all its content for each new token. Here a batch allocates memory for all columns at
the start, and finished rows can be removed.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import torch
from cachetools import LRUCache
from transformers.cache_utils import Cache, DynamicLayer

Layers = list[tuple[torch.Tensor, torch.Tensor]]  # keys and values of one row: heads x tokens x width, per layer


class KeptRows:
    """Keys and values of recent conversations by token ids, up to a number of tokens; the oldest are dropped first."""

    def __init__(self, max_tokens: int) -> None:
        self._rows: LRUCache[tuple[int, ...], tuple[int, Layers]] = LRUCache(max_tokens, getsizeof=lambda kept: kept[0])
        self._lock = threading.Lock()

    def put(self, ids: Sequence[int], layers: Layers) -> None:
        """Keep the keys and values of a conversation, unless it is longer than the limit."""
        with self._lock, suppress(ValueError):
            self._rows[tuple(ids)] = len(ids), layers

    def take(self, ids: Sequence[int]) -> Layers | None:
        """Remove and return the keys and values of the conversation ``ids``; ``None`` if it is not cached."""
        with self._lock:
            return self._rows.pop(tuple(ids), (0, None))[1]

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._rows.clear()


class BatchCache(Cache):
    """A transformers cache for ``rows`` left-padded sequences of at most ``columns`` tokens."""

    def __init__(self, layers: int, rows: int, columns: int) -> None:
        self._layers = [_BatchLayer(rows, columns) for _ in range(layers)]
        super().__init__(layers=list(self._layers))

    def fill(self, kept: list[Layers], width: int) -> None:
        """Set the first ``width`` columns: each row's kept tokens, right-aligned, zeros before them."""
        for layer, *rows in zip(self._layers, *kept, strict=True):
            layer.fill(rows, width)

    def row(self, row: int, first: int, last: int) -> Layers:
        """A copy of the columns ``first`` to ``last`` (exclusive) of one row."""
        return [(layer.keys[row, :, first:last].clone(), layer.values[row, :, first:last].clone()) for layer in self._layers]

    def keep(self, rows: Sequence[int], first: int) -> None:
        """Keep only ``rows``, and of them the columns from ``first`` on."""
        for layer in self._layers:
            layer.keep(list(rows), first)


class _BatchLayer(DynamicLayer):
    def __init__(self, rows: int, columns: int) -> None:
        super().__init__()
        self._rows, self._columns, self._length = rows, columns, 0
        self.keys: torch.Tensor
        self.values: torch.Tensor

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        self.dtype, self.device = key_states.dtype, key_states.device
        heads, width = key_states.shape[-3], key_states.shape[-1]
        self._all_keys = key_states.new_empty(self._rows, heads, self._columns, width)
        self._all_values = value_states.new_empty(self._rows, heads, self._columns, value_states.shape[-1])
        self.is_initialized = True
        self._show()

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        end = self._length + key_states.shape[-2]
        self._all_keys[:, :, self._length : end] = key_states
        self._all_values[:, :, self._length : end] = value_states
        self._length = end
        return self._show()

    def fill(self, rows: list[tuple[torch.Tensor, torch.Tensor]], width: int) -> None:
        self.lazy_initialization(*(part[None] for part in rows[0]))
        self._length = width
        for part, tensor in enumerate(self._show()):
            for row, states in enumerate(rows):
                count = states[part].shape[-2]
                tensor[row, :, : width - count] = 0
                tensor[row, :, width - count :] = states[part]

    def keep(self, rows: list[int], first: int) -> None:
        self._all_keys, self._all_values = self._all_keys[rows, :, first:], self._all_values[rows, :, first:]
        self._length -= first
        self._show()

    def get_seq_length(self) -> int:
        return self._length

    def _show(self) -> tuple[torch.Tensor, torch.Tensor]:
        self.keys, self.values = self._all_keys[:, :, : self._length], self._all_values[:, :, : self._length]
        return self.keys, self.values
