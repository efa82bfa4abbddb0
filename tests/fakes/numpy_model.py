"""A dense Qwen3 or Llama checkpoint in NumPy: a server of it starts in a fifth of a second, without torch and transformers."""

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


class NumpyModel:
    """The configuration and the weights of a checkpoint's folder."""

    def __init__(self, folder: Path) -> None:
        self.config = json.loads((folder / "config.json").read_text())
        self.weights = {name: value for path in folder.glob("*.safetensors") for name, value in _read(path).items()}
        self.weights.setdefault("lm_head.weight", self.weights["model.embed_tokens.weight"])

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each weight by its name."""
        return {name: value.shape for name, value in self.weights.items()}

    def last_logits(self, ids: list[int]) -> Array:
        """The logits of the token after ``ids``."""
        hidden = self.weights["model.embed_tokens.weight"][ids]
        for number in range(self.config["num_hidden_layers"]):
            layer = f"model.layers.{number}"
            hidden = hidden + self._attention(f"{layer}.self_attn", self._norm(f"{layer}.input_layernorm", hidden))
            inner = self._norm(f"{layer}.post_attention_layernorm", hidden)
            gate = self._times(f"{layer}.mlp.gate_proj", inner)
            up = self._times(f"{layer}.mlp.up_proj", inner)
            hidden = hidden + self._times(f"{layer}.mlp.down_proj", gate / (1 + np.exp(-gate)) * up)
        return self._times("lm_head", self._norm("model.norm", hidden[-1]))

    def _times(self, name: str, rows: Array) -> Array:
        return rows @ self.weights[f"{name}.weight"].T

    def _norm(self, name: str, rows: Array) -> Array:
        """Root mean square normalization; nothing where the checkpoint has none of that name."""
        if f"{name}.weight" not in self.weights:
            return rows
        mean = np.mean(rows**2, axis=-1, keepdims=True, dtype=np.float32)
        return rows / np.sqrt(mean + np.float32(self.config["rms_norm_eps"])) * self.weights[f"{name}.weight"]

    def _attention(self, name: str, rows: Array) -> Array:
        heads, groups, length = self.config["num_attention_heads"], self.config["num_key_value_heads"], len(rows)
        queries, keys, values = (
            self._times(f"{name}.{part}_proj", rows).reshape(length, count, -1)
            for part, count in (("q", heads), ("k", groups), ("v", groups))
        )
        queries, keys = self._norm(f"{name}.q_norm", queries), self._norm(f"{name}.k_norm", keys)
        queries, keys = self._rotated(queries), self._rotated(keys)
        keys, values = (np.repeat(part, heads // groups, axis=1) for part in (keys, values))
        scores = np.einsum("ihd,jhd->hij", queries, keys, optimize=True) / np.float32(np.sqrt(keys.shape[-1]))
        scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
        mixed = np.einsum("hij,jhd->ihd", np.exp(log_softmax(scores)), values, optimize=True)
        return self._times(f"{name}.o_proj", mixed.reshape(length, -1))

    def _rotated(self, rows: Array) -> Array:
        """Rotary positions, by halves of a head as Llama has them."""
        theta = self.config.get("rope_theta") or self.config["rope_parameters"]["rope_theta"]
        half = rows.shape[-1] // 2
        angles = np.outer(np.arange(len(rows)), 1 / theta ** (np.arange(half) / half)).astype(np.float32)[:, None]
        first, second = rows[..., :half], rows[..., half:]
        cosine, sine = np.cos(angles), np.sin(angles)
        return np.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)


def log_softmax(rows: Array) -> Array:
    """Logarithms of probabilities over the last axis."""
    rows = rows - rows.max(axis=-1, keepdims=True)
    return rows - np.log(np.exp(rows).sum(axis=-1, keepdims=True))


def _read(path: Path) -> dict[str, Array]:
    """The tensors of a safetensors file as float32; NumPy knows no bfloat16, the upper half of a float32."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    found = {}
    for name, about in json.loads(data[8:start]).items():
        if name == "__metadata__":
            continue
        raw = data[start + about["data_offsets"][0] : start + about["data_offsets"][1]]
        if about["dtype"] == "BF16":
            values = (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
        else:
            values = np.frombuffer(raw, {"F32": np.float32, "F16": np.float16}[about["dtype"]]).astype(np.float32)
        found[name] = values.reshape(about["shape"])
    return found
