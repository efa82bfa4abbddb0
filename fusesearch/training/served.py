"""Episodes by vLLM servers: rollouts of the step that trains next, and those of a finished checkpoint."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fusesearch.agents.models.vllm import VllmModel
from fusesearch.core.config import Compute
from fusesearch.core.errors import ArtifactError
from fusesearch.training.rollouts import Batch, Episodes
from fusesearch.training.serving import Servers
from fusesearch.training.trainer import load_student
from fusesearch.training.weights import FileWeights, check_publishing


@dataclass(frozen=True)
class Policy:
    """The policy behind the servers at ``addresses``; ``version`` names its weights."""

    tokenizer: Any
    addresses: Sequence[str]
    name: str
    max_context: int
    version: Callable[[], str]

    def model(self) -> VllmModel:
        """A model of it, for one event loop."""
        return VllmModel(self.tokenizer, self.addresses, self.max_context, name=self.name, salt=self.version)


@contextmanager
def served(checkpoint: Path | str, compute: Compute, out: Path, dtype: str) -> Iterator[Policy]:
    """Servers that have the weights of ``checkpoint``, a folder or hub id, in ``dtype``, for evaluation and teaching.

    Those at given addresses change to these weights, others are started with them. Their output goes to ``out/vllm.log``.
    Raises :class:`ArtifactError` without a checkpoint, and what :class:`~fusesearch.training.serving.Servers` raises.
    """
    import torch
    from transformers import AutoTokenizer

    folder, gpus = _on_disk(checkpoint), torch.cuda.device_count()
    out.mkdir(parents=True, exist_ok=True)
    settings = compute.model_copy(update={"options": ["--dtype", dtype, *compute.options]})
    with ExitStack() as stack:
        servers = stack.enter_context(Servers(settings, out / "vllm.log", gpus))
        servers.start(folder)
        tokenizer = AutoTokenizer.from_pretrained(str(folder))
        policy = Policy(tokenizer, servers.addresses, servers.name, servers.max_context, str)
        if compute.servers:
            stack.callback(shutil.rmtree, out / "weights", ignore_errors=True)
            weights = FileWeights(out / "weights", servers, tokenizer, dtype)
            check_publishing(load_student(folder)[0], tokenizer, weights, servers, 1.0, dtype)
            policy = replace(policy, version=weights.version)
        yield policy


def _on_disk(checkpoint: Path | str) -> Path:
    if Path(checkpoint).exists():
        return Path(checkpoint)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(str(checkpoint)))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ArtifactError(f"{checkpoint} is not a folder and cannot be downloaded from the hub ({reason})") from None


def make(episodes: Episodes, ids: list[str], step: int, policy: Policy) -> Batch:
    """The rollouts of ``step``."""
    started = time.perf_counter()
    batch = episodes.make(ids, step, policy.model())
    return replace(batch, figures={**batch.figures, "rollout_seconds": time.perf_counter() - started})
