"""How the weights of a policy in training reach the servers that sample from it.

:class:`Weights` is the seam. :class:`FileWeights` works wherever trainer and servers see one folder, on a CPU and on GPUs.
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from fusesearch.agents.models.base import Message, Sampling
from fusesearch.agents.models.vllm import VllmModel
from fusesearch.core.config import Compute
from fusesearch.core.cores import cores
from fusesearch.core.errors import AGAIN, InfrastructureError
from fusesearch.core.schema import Tokens
from fusesearch.core.storage import read_text, write_json, write_text
from fusesearch.training.ranks import from_first_rank, rank, wait_for_ranks, world_size
from fusesearch.training.serving import Servers
from fusesearch.training.trainer import weight_sizes, whole_weights

OPENING = [Message(role="user", content="Which code is this issue about?")]
"""What servers are asked when their weights are checked: short, because a large model on a CPU is asked the same."""
LARGEST_DIFFERENCE = {"float32": 0.01, "bfloat16": 0.2}
"""Most mean difference of log-probabilities between trainer and servers, by the type that is served. An old head makes 0.5."""


def folder_of(compute: Compute, out: Path) -> Path:
    """Where the weights of the stage that works in ``out`` lie; other runs may use the same ``compute.weights``."""
    own = hashlib.sha256(str(out.resolve()).encode()).hexdigest()[:12]
    return (Path(compute.weights, own) if compute.weights else out / "weights").absolute()


class Weights(Protocol):
    """A way to publish weights.

    ``version`` names those that the servers have; the name begins with their step. It also answers in other processes.
    """

    version: Callable[[], str]

    def publish(self, model: Any, step: int) -> dict[str, float]:
        """Bring the weights that ``model`` has after ``step`` to every server. Returns figures for the log, in seconds."""
        ...


class FileWeights:
    """Publishes weights as a checkpoint in a new folder each time, which the servers read.

    A new folder, because vLLM caches a checkpoint by its path; with a random number in its name, because a
    resumed run comes to the same steps with other weights. The last two stay. Embeddings and head are written apart also
    where the model ties them: vLLM 0.31's CPU build keeps the old head when tied weights are reloaded.
    """

    def __init__(self, folder: Path, servers: Servers, tokenizer: Any, dtype: str) -> None:
        self.version: Callable[[], str] = partial(read_text, folder / "version")
        self._folder = folder
        self._servers = servers
        self._tokenizer = tokenizer
        self._dtype = dtype
        shutil.rmtree(folder, ignore_errors=True)  # of a run that was killed

    def publish(self, model: Any, step: int) -> dict[str, float]:
        """As in :class:`Weights`. Raises :class:`InfrastructureError` if the folder is full or a server fails."""
        started = time.perf_counter()
        _release()
        path = self.write(model, step)
        written = time.perf_counter()
        self._servers.reload(path)
        write_text(self._folder / "version", path.name)  # not before: what is cached under this name must be of these weights
        for older in sorted(self._folder.glob("*-*/"), key=lambda folder: folder.stat().st_mtime)[:-2]:
            shutil.rmtree(older)
        return {"publish_seconds": written - started, "reload_seconds": time.perf_counter() - written}

    def write(self, model: Any, step: int) -> Path:
        """A new folder with weights, config and tokenizer. Raises :class:`InfrastructureError` if the disk is full."""
        import torch

        path = self._folder / f"{step:06d}-{secrets.token_hex(4)}"
        partial = path.with_name(f".partial-{path.name}")
        dtype = getattr(torch, self._dtype)
        config = copy.deepcopy(model.config)
        config.tie_word_embeddings, config.dtype = False, dtype
        with _room_in(self._folder):
            partial.mkdir(parents=True)
            config.save_pretrained(partial)
            self._tokenizer.save_pretrained(partial)
        write_share(model, dtype, partial)
        with _room_in(self._folder):
            partial.rename(path)
        return path


class OtherRank:
    """:class:`Weights` of ranks but the first: writes its share."""

    def __init__(self, dtype: str) -> None:
        self._dtype = dtype
        self.version: Callable[[], str] = str  # empty: rank 0 asks the servers

    def publish(self, model: Any, step: int) -> dict[str, float]:
        """As in :class:`Weights`."""
        import torch

        _release()
        write_share(model, getattr(torch, self._dtype))
        return {}


def write_share(model: Any, dtype: Any, folder: Path | None = None) -> None:
    """Write this rank's file of a checkpoint: whole tensors as ``dtype``. Rank 0 names the ``folder`` and writes the index.

    Ranks that share out the weights must all call it, and it returns when all have written; else rank 0 alone writes. A rank
    holds its own tensors in the machine's memory, about as many bytes as each other has.
    Raises :class:`InfrastructureError` if the disk is full.
    """
    from safetensors.torch import save_file
    from torch.distributed.tensor import DTensor

    ranks = world_size() if any(isinstance(parameter, DTensor) for parameter in model.parameters()) else 1
    if ranks > 1:
        folder = from_first_rank(partial(Path, folder) if folder else None)
    if folder is None:
        return
    files: dict[str, str] = {}
    filled = dict.fromkeys((f"model-{number:05}-of-{ranks:05}.safetensors" for number in range(1, ranks + 1)), 0)
    for name, size in sorted(weight_sizes(model).items(), key=lambda item: -item[1]):
        files[name] = min(filled, key=filled.__getitem__)
        filled[files[name]] += size
    file = list(filled)[rank() if ranks > 1 else 0]
    weights = whole_weights(model, dtype, {name for name in files if files[name] == file})
    with _room_in(folder):
        save_file(weights, folder / file, {"format": "pt"})
        if not rank():
            index = {"metadata": {"total_size": sum(filled.values()) * dtype.itemsize}, "weight_map": files}
            write_json(folder / "model.safetensors.index.json", index)
    if ranks > 1:
        wait_for_ranks()


@contextmanager
def _room_in(folder: Path) -> Iterator[None]:
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, SafetensorError) as error:
        raise InfrastructureError(
            f"weights cannot be written to {folder} ({error}): make room there or set compute.weights, then {AGAIN}"
        ) from None


def _release() -> None:
    """Give back the memory that torch keeps of a step: servers on the same GPUs may want it, once rank 0 has all weights."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def check_publishing(model: Any, tokenizer: Any, weights: Weights, servers: Servers, temperature: float, dtype: str) -> float:
    """Publish changed weights and then the model's own, and compare each server's log-probabilities with the model's.

    A server that keeps old weights, all or some, goes unnoticed if it is given the same ones again. So the matrices are first
    doubled and halved in turn, which floating point undoes exactly. Such a model is far from any that was trained, and rounding
    to bfloat16 moves it further than one: there, its log-probabilities must be nearer to those of the changed weights than to
    those of the old ones, and of the old head. The model's own have to be within :data:`LARGEST_DIFFERENCE`.
    Returns the largest mean difference with the model's own weights. Raises :class:`InfrastructureError` if it is too large.
    """
    import torch

    limit = LARGEST_DIFFERENCE[dtype]

    def differences(*logits: Any) -> list[float]:
        served = torch.tensor(tokens.logprobs)
        sampled = torch.tensor(tokens.completion_ids)[:, None]
        return [float(((row / temperature).log_softmax(-1).gather(1, sampled)[:, 0] - served).abs().mean()) for row in logits]

    head = _scale(model, 1)
    weights.publish(model, 0)
    changed = _sampled(servers, tokenizer, weights, temperature)
    after = [_logits(model, tokens) for tokens in changed]
    _scale(model, -1)
    for address, tokens, new in zip(servers.addresses, changed, after, strict=True):
        nearest, *others = differences(new, _logits(model, tokens), new / head)
        if not nearest < min(others) or (dtype == "float32" and nearest > limit):
            raise _wrong(address, nearest)
    weights.publish(model, 0)
    largest = 0.0
    for address, tokens in zip(servers.addresses, _sampled(servers, tokenizer, weights, temperature), strict=True):
        (difference,) = differences(_logits(model, tokens))
        if not difference <= limit:
            raise _wrong(address, difference)
        largest = max(largest, difference)
    return largest


def _scale(model: Any, power: int) -> float:
    """Double and halve the matrices of ``model`` in turn; -1 undoes what 1 does. Returns the factor of the head."""
    import torch

    factor = 1.0
    head = model.get_output_embeddings().weight
    with torch.no_grad():
        for number, matrix in enumerate(parameter for parameter in model.parameters() if parameter.ndim > 1):
            scale = 2.0 ** (power if number % 2 else -power)
            matrix.mul_(scale)
            factor = scale if matrix is head else factor
    return factor


def _wrong(address: str, difference: float) -> InfrastructureError:
    return InfrastructureError(
        f"{address} does not sample from the published weights: its log-probabilities differ by {difference:.3g} on "
        "average; is it another model, or was it started without --logprobs-mode processed_logprobs?"
    )


def _sampled(servers: Servers, tokenizer: Any, weights: Weights, temperature: float) -> list[Tokens]:
    """What each server answers :data:`OPENING`."""
    return [asyncio.run(_asked(address, tokenizer, servers, weights, temperature)) for address in servers.addresses]


async def _asked(address: str, tokenizer: Any, servers: Servers, weights: Weights, temperature: float) -> Tokens:
    model = VllmModel(tokenizer, [address], servers.max_context, name=servers.name, salt=weights.version)
    try:
        completion = await model.complete(OPENING, [], Sampling(temperature=temperature, max_new_tokens=32, seed=0))
    finally:
        await model.close()
    if completion.tokens is None:
        raise InfrastructureError(f"{address} serves at most {servers.max_context} tokens: too few for the first prompt")
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
