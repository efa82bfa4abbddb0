"""What decides the memory and arithmetic of a language model: its ``config.json``, here for the models of the profiles.

A model on this machine is read where it lies; :data:`CONFIGS` is for those that are not here yet, and needs no network.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fusesearch.core.errors import ConfigError
from fusesearch.core.storage import read_json

CONFIGS: dict[str, dict[str, Any]] = read_json(Path(__file__).with_name("configs.json"))
"""Shapes of models, from their ``config.json`` on the hub: memory, arithmetic and a small model of the same kind need them."""


@dataclass(frozen=True)
class Architecture:
    """A decoder: widths in numbers of activations. ``experts`` is 0 for a dense model; ``active`` of them see a token.

    ``feed_forward`` is the width of one expert, or of the one feed-forward part of a dense layer.
    """

    layers: int
    hidden: int
    heads: int
    key_value_heads: int
    head_size: int
    feed_forward: int
    vocabulary: int
    tied: bool
    positions: int
    experts: int = 0
    active: int = 1
    biased: bool = False
    normed: bool = False

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Architecture:
        """From ``config.json`` of the families Llama, Qwen2, Qwen3 and Qwen3-MoE. Raises :class:`ConfigError` for any other."""
        kind, experts = config.get("model_type"), int(config.get("num_experts", 0))
        if kind not in ("llama", "qwen2", "qwen3", "qwen3_moe"):
            raise ConfigError(f"no formula for models of type {kind!r}: only llama, qwen2, qwen3 and qwen3_moe are known")
        heads = config["num_attention_heads"]
        return cls(
            layers=config["num_hidden_layers"],
            hidden=config["hidden_size"],
            heads=heads,
            key_value_heads=config["num_key_value_heads"],
            head_size=config.get("head_dim") or config["hidden_size"] // heads,
            feed_forward=config["moe_intermediate_size" if experts else "intermediate_size"],
            vocabulary=config["vocab_size"],
            tied=config.get("tie_word_embeddings", False),
            positions=config["max_position_embeddings"],
            experts=experts,
            active=config["num_experts_per_tok"] if experts else 1,
            biased=kind == "qwen2",
            normed=kind in ("qwen3", "qwen3_moe"),
        )

    @property
    def parameters(self) -> int:
        """Number of parameters; tied embeddings count once."""
        return self._parameters(max(self.experts, 1))

    @property
    def active_parameters(self) -> int:
        """Parameters that a token passes."""
        return self._parameters(self.active)

    def _parameters(self, experts: int) -> int:
        queries, values = self.heads * self.head_size, self.key_value_heads * self.head_size
        attention = 2 * self.hidden * (queries + values)
        attention += self.biased * (queries + 2 * values) + self.normed * 2 * self.head_size
        feed_forward = experts * 3 * self.hidden * self.feed_forward + self.hidden * self.experts
        embeddings = self.vocabulary * self.hidden * (1 if self.tied else 2)
        return self.layers * (attention + feed_forward + 2 * self.hidden) + self.hidden + embeddings


def is_folder(checkpoint: str | Path) -> bool:
    """Whether ``checkpoint`` names a folder, which may be missing, and not a model of the hub."""
    return Path(checkpoint).exists() or str(checkpoint).startswith((".", "/", "artifacts", "experiments"))


def folder_of(base: str, root: Path) -> Path | None:
    """Where the checkpoint ``base`` lies: a folder below ``root``, or the hub's cache; None if it is not on this machine."""
    if (root / base / "config.json").is_file():
        return root / base
    home = os.environ.get("HF_HUB_CACHE") or Path(os.environ.get("HF_HOME") or Path.home() / ".cache/huggingface") / "hub"
    found = Path(home).glob(f"models--{base.replace('/', '--')}/snapshots/*/config.json")
    return max((path.parent for path in found), key=lambda folder: folder.stat().st_mtime, default=None)


def config_of(base: str, root: Path) -> dict[str, Any]:
    """``config.json`` of ``base``, or what :data:`CONFIGS` has of it. Raises :class:`ConfigError` if neither exists."""
    folder = folder_of(base, root)
    if folder:
        return dict(read_json(folder / "config.json"))
    if base in CONFIGS:
        return CONFIGS[base]
    raise ConfigError(f"{base} is not on this machine, and its sizes are not known: download it once: hf download {base}")
