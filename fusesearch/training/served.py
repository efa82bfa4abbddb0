"""A policy behind vLLM servers: one in training, whose weights reach them by a folder that all see, or a finished checkpoint."""

from __future__ import annotations

import asyncio
import copy
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fusesearch.agents.models.base import Message, Sampling
from fusesearch.agents.models.vllm import VllmModel
from fusesearch.core.config import Compute
from fusesearch.core.cores import cores
from fusesearch.core.errors import AGAIN, ArtifactError, InfrastructureError
from fusesearch.core.schema import Tokens
from fusesearch.training.serving import NAME, Servers
from fusesearch.training.trainer import whole_weights

OPENING = [Message(role="user", content="Which code is this issue about?")]
"""What servers are asked when their weights are checked: short, because a large model on a CPU is asked the same."""
LARGEST_DIFFERENCE = {"float32": 0.01, "bfloat16": 0.2}
"""Most mean difference of log-probabilities between trainer and servers, by the type that is served. An old head makes 0.5."""


class ServedPolicy:
    """The policy behind ``servers``. Publishes weights as a checkpoint in a new folder each time, which the servers read.

    A new folder, because vLLM caches a checkpoint by its path; with a random number in its name, because a
    resumed run comes to the same steps with other weights. The last two stay. Embeddings and head are written apart also
    where the model ties them: vLLM 0.31's CPU build keeps the old head when tied weights are reloaded.
    """

    def __init__(self, folder: Path, servers: Servers, tokenizer: Any, dtype: str) -> None:
        self.tokenizer = tokenizer
        self._folder = folder.absolute()
        self._servers = servers
        self._dtype = dtype
        self._version = ""

    def version(self) -> str:
        """The name of the weights that the servers have, under which they cache what they computed; empty before any."""
        return self._version

    def model(self, *addresses: str) -> VllmModel:
        """A model of it, for one event loop; by default by all servers."""
        servers = self._servers
        return VllmModel(self.tokenizer, addresses or servers.addresses, servers.max_context, name=NAME, salt=self.version)

    def publish(self, model: Any, step: int) -> dict[str, float]:
        """Bring the weights that ``model`` has after ``step`` to every server. Returns figures for the log, in seconds.

        Raises :class:`InfrastructureError` if the folder is full or a server fails.
        """
        started = time.perf_counter()
        path = self.write(model, step)
        written = time.perf_counter()
        self._servers.reload(path)
        self._version = path.name
        return {"publish_seconds": written - started, "reload_seconds": time.perf_counter() - written}

    def write(self, model: Any, step: int) -> Path:
        """A new folder with weights, config and tokenizer. Raises :class:`InfrastructureError` if the disk is full."""
        import torch
        from safetensors import SafetensorError
        from safetensors.torch import save_file

        for older in sorted(self._folder.glob("*-*/"), key=lambda folder: folder.stat().st_mtime)[:-1]:
            shutil.rmtree(older)
        path = self._folder / f"{step:06d}-{secrets.token_hex(4)}"
        partial = path.with_name(f".partial-{path.name}")
        dtype = getattr(torch, self._dtype)
        config = copy.deepcopy(model.config)
        config.tie_word_embeddings, config.dtype = False, dtype
        weights = whole_weights(model, dtype)
        try:
            partial.mkdir(parents=True)
            config.save_pretrained(partial)
            self.tokenizer.save_pretrained(partial)
            save_file(weights, partial / "model.safetensors", {"format": "pt"})
            partial.rename(path)
        except (OSError, SafetensorError) as error:
            raise InfrastructureError(
                f"weights cannot be written to {self._folder} ({error}): make room there, then {AGAIN}"
            ) from None
        return path

    def check(self, model: Any, temperature: float) -> float:
        """Publish the model's weights, and compare each server's log-probabilities of what it samples with the model's own.

        Returns the largest mean difference. Raises :class:`InfrastructureError` if it is above :data:`LARGEST_DIFFERENCE`.
        """
        import torch

        self.publish(model, 0)
        largest = 0.0
        for address in self._servers.addresses:
            tokens = asyncio.run(self._sampled(address, temperature))
            logits = _logits(model, tokens) / temperature
            own = logits.log_softmax(-1).gather(1, torch.tensor(tokens.completion_ids)[:, None])[:, 0]
            difference = float((own - torch.tensor(tokens.logprobs)).abs().mean())
            if not difference <= LARGEST_DIFFERENCE[self._dtype]:
                raise InfrastructureError(
                    f"{address} does not sample from the published weights: its log-probabilities differ by {difference:.3g} on "
                    "average; does compute.options change them?"
                )
            largest = max(largest, difference)
        return largest

    async def _sampled(self, address: str, temperature: float) -> Tokens:
        """What a server answers :data:`OPENING`."""
        model = self.model(address)
        try:
            completion = await model.complete(OPENING, [], Sampling(temperature=temperature, max_new_tokens=32, seed=0))
        finally:
            await model.close()
        if completion.tokens is None:
            most = self._servers.max_context
            raise InfrastructureError(f"{address} serves at most {most} tokens: too few for the first prompt")
        return completion.tokens


def _logits(model: Any, tokens: Tokens) -> Any:
    """What the model itself gives before each sampled token, by all cores if it is on the CPU."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(cores())
    ids = torch.tensor([tokens.prompt_ids + tokens.completion_ids], device=model.device)
    with torch.no_grad():
        logits = model(input_ids=ids, logits_to_keep=len(tokens.completion_ids) + 1).logits[0, :-1].float().cpu()
    torch.set_num_threads(threads)
    return logits


@contextmanager
def served(checkpoint: Path | str, compute: Compute, out: Path, dtype: str) -> Iterator[ServedPolicy]:
    """Servers that have the weights of ``checkpoint``, a folder or hub id, in ``dtype``, for evaluation and teaching.

    Their output goes to ``out/vllm.log``. Raises :class:`ArtifactError` without a checkpoint, and what
    :class:`~fusesearch.training.serving.Servers` raises.
    """
    import torch
    from transformers import AutoTokenizer

    checkpoint = _on_disk(checkpoint)
    out.mkdir(parents=True, exist_ok=True)
    settings = compute.model_copy(update={"options": ["--dtype", dtype, *compute.options]})
    with Servers(settings, out / "vllm.log", torch.cuda.device_count()) as servers:
        servers.start(checkpoint)
        yield ServedPolicy(out / "weights", servers, AutoTokenizer.from_pretrained(str(checkpoint)), dtype)


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
