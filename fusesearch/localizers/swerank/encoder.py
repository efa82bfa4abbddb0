"""Bi-encoders of the sentence-transformers kind, from a folder or the Hugging Face hub, by transformers alone.

Such a folder names its modules in ``modules.json``. A transformer, a pooling and a normalization are all that the encoders
for code have, so this reads these three, gives the vectors that sentence-transformers gives, and refuses others. Weights are
read from safetensors alone, and code that lies beside them is never run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fusesearch.core.digests import digest
from fusesearch.core.errors import ArtifactError, InfrastructureError
from fusesearch.core.stopping import check
from fusesearch.core.storage import read_json

if TYPE_CHECKING:
    from torch import Tensor

MAX_TOKENS = 1024
"""Of a text, as in SweRank's evaluation; fewer where the encoder takes fewer."""
BATCH_TOKENS = {"cpu": 2048, "cuda": 32_768}
_TOKEN_CHARS = 100  # longer words are rare: so much of a text is read for each token that counts

_MODULES = ["Transformer", "Pooling", "Normalize"]
_FILES = ["*.json", "*.safetensors", "*.txt", "*.model"]
_NOMIC = {
    "model_type": "nomic_bert", "n_embd": 768, "n_inner": 3072, "n_layer": 12, "n_head": 12, "activation_function": "swiglu",
    "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0, "prenorm": False, "qkv_proj_bias": False, "type_vocab_size": 2,
}  # fmt: skip
"""The model below CodeRankEmbed and SweRankEmbed-Small came with code of its own. With these values, transformers has it, too."""


def _mean(hidden: Tensor, mask: Tensor) -> Tensor:
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * weights).sum(1) / weights.sum(1)


POOLINGS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "mean": _mean,
    "cls": lambda hidden, mask: hidden[:, 0],
    "lasttoken": lambda hidden, mask: hidden[range(len(hidden)), mask.sum(1) - 1],
}
"""Hidden states (texts, tokens, size) and mask (texts, tokens), padded on the right, to one vector a text (texts, size)."""


class Encoder:
    """Unit vectors of texts. ``digest`` is that of all that decides them; ``prefix`` is what the encoder wants before a query.

    Raises :class:`ArtifactError` for a folder that is missing, damaged or of another kind.
    """

    def __init__(self, folder: Path) -> None:
        import torch
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()
        logging.set_verbosity_error()
        self.folder = folder
        self._pool = POOLINGS[_pooling(folder)]
        given, config = _optional(folder / "sentence_bert_config.json"), _object(folder / "config.json")
        if "AutoModel" in config.get("auto_map", {}) and {**config, **_NOMIC} != {**_NOMIC, **config}:
            raise ArtifactError(f"{folder} needs code of its own, which is not run: name another encoder")
        # a graphics card computes in the precision of SweRank's evaluation
        self._device, dtype = ("cuda", torch.bfloat16) if torch.cuda.is_available() else ("cpu", torch.float32)
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(str(folder), padding_side="right")
            model, found = AutoModel.from_pretrained(str(folder), dtype=dtype, use_safetensors=True, output_loading_info=True)
        except Exception as error:  # the libraries raise many types for a damaged file
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise ArtifactError(f"{folder} cannot be loaded: {reason}") from error
        if lacking := sorted(key for key in found["missing_keys"] if "pooler" not in key):
            raise ArtifactError(f"{folder} cannot be loaded: its weights lack {lacking[0]} and {len(lacking) - 1} others")
        self._model: Any = model.to(self._device).eval()
        self._lower = bool(given.get("do_lower_case"))
        limits = (MAX_TOKENS, given.get("max_seq_length"), config.get("max_position_embeddings"))
        self._tokens = min(limit for limit in limits if limit)
        self.dimensions: int = model.config.hidden_size
        self.prefix: str = _optional(folder / "config_sentence_transformers.json").get("prompts", {}).get("query", "")
        self.digest = digest(*sorted({path for kind in _FILES for path in folder.rglob(kind)}), self._device)
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors (texts, dimensions) of length 1, so that their products are cosines.

        Texts are cut at the encoder's limit. Raises :class:`InfrastructureError` when the memory does not suffice.
        """
        import torch

        found = np.empty((len(texts), self.dimensions), dtype=np.float32)
        if not texts:
            return found
        clean = (text[: _TOKEN_CHARS * self._tokens].encode("utf-8", "replace").decode() for text in texts)
        with self._lock:
            cut = self._tokenizer(
                [text.lower() if self._lower else text for text in clean], truncation=True, max_length=self._tokens
            )["input_ids"]
            order = sorted(range(len(texts)), key=lambda number: len(cut[number]))
            try:
                while order:
                    check()
                    batch = order[-max(BATCH_TOKENS[self._device] // max(len(cut[order[-1]]), 1), 1) :]
                    del order[-len(batch) :]
                    padded = self._tokenizer.pad({"input_ids": [cut[number] for number in batch]}, return_tensors="pt")
                    with torch.inference_mode():
                        inputs = padded.to(self._device)
                        hidden = self._model(**inputs).last_hidden_state
                        pooled = self._pool(hidden, inputs["attention_mask"]).float()
                        found[batch] = torch.nn.functional.normalize(pooled, dim=1).cpu().numpy()
            except (MemoryError, RuntimeError) as error:
                reason = (str(error).splitlines() or [type(error).__name__])[0]
                raise InfrastructureError(f"the encoder {self.folder.name} failed: {reason}") from error
        return found


_LOADING = threading.Lock()


def encoder_named(name: str) -> Encoder:
    """The encoder in the folder ``name``, else of that name on the hub, which is a download; one is kept in memory.

    Raises :class:`ArtifactError` for an encoder that cannot be used, and :class:`InfrastructureError` when the hub does not have
    it or cannot be reached.
    """
    with _LOADING:
        return _loaded(name)


@lru_cache(maxsize=1)
def _loaded(name: str) -> Encoder:
    folder = Path(name).expanduser()
    if folder.is_dir():
        return Encoder(folder)
    if name.count("/") != 1 or name.startswith((".", "~", "/")) or name.endswith("/"):
        raise ArtifactError(f"{name} is missing: name the folder of an encoder, or OWNER/NAME on the Hugging Face hub")
    from huggingface_hub import snapshot_download

    try:
        return Encoder(Path(snapshot_download(name, allow_patterns=_FILES)))
    except ArtifactError:
        raise
    except Exception as error:  # httpx's, the hub's and the system's
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InfrastructureError(f"{name} is not a folder here and cannot be had from the Hugging Face hub: {reason}") from error


def _pooling(folder: Path) -> str:
    """How the folder pools; also checks that it has no other modules."""
    if not (folder / "modules.json").is_file():
        raise ArtifactError(f"{folder} holds no encoder (no modules.json): name a folder of the sentence-transformers kind")
    try:
        modules = [(str(row["type"]).rpartition(".")[2], folder / row["path"]) for row in read_json(folder / "modules.json")]
    except (KeyError, TypeError):
        raise ArtifactError(f"{folder / 'modules.json'} does not list modules: get the encoder again") from None
    kinds = [kind for kind, _ in modules]
    if kinds not in (_MODULES, _MODULES[:2]) or modules[0][1] != folder:
        raise ArtifactError(f"{folder} has the modules {', '.join(kinds)}, but only {', '.join(_MODULES)} can be read")
    config = _object(modules[1][1] / "config.json")
    modes = {"cls_token": "cls", "mean_tokens": "mean", "max_tokens": "max", "lasttoken": "lasttoken"}
    flags = [name for key, name in modes.items() if config.get(f"pooling_mode_{key}")]
    mode = config.get("pooling_mode", flags[0] if len(flags) == 1 else flags)
    if mode not in list(POOLINGS) or not config.get("include_prompt", True):
        raise ArtifactError(f"{folder} pools by {mode}, but only {', '.join(POOLINGS)} over all tokens can be read")
    return str(mode)


def _optional(path: Path) -> dict[str, Any]:
    return _object(path) if path.is_file() else {}


def _object(path: Path) -> dict[str, Any]:
    found = read_json(path)
    if not isinstance(found, dict):
        raise ArtifactError(f"{path} is not a JSON object: get the encoder again")
    return found
