"""Episodes by vLLM servers: rollouts of the step that trains next or of steps beyond it, and those of a finished checkpoint."""

from __future__ import annotations

import multiprocessing
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fusesearch.agents.models.vllm import VllmModel
from fusesearch.core.child import end_with_parent
from fusesearch.core.config import Compute
from fusesearch.core.errors import AGAIN, ArtifactError, DataError, InfrastructureError
from fusesearch.training.rollouts import Batch, Episodes
from fusesearch.training.serving import Servers, prefix_cache
from fusesearch.training.trainer import load_student
from fusesearch.training.weights import FileWeights, check_publishing, folder_of

RETRIES = 12
"""Tries of a request: they last for minutes, in which a server that died is started again."""
DEATHS = 3
"""Times that the process of rollouts may die in one step before training gives up."""


@dataclass(frozen=True)
class Policy:
    """The policy behind the servers at ``addresses``; ``version`` is that of :class:`~fusesearch.training.weights.Weights`."""

    tokenizer: Any
    addresses: Sequence[str]
    name: str
    max_context: int
    version: Callable[[], str]

    def model(self) -> VllmModel:
        """A model of it, for one event loop."""
        return VllmModel(self.tokenizer, self.addresses, self.max_context, name=self.name, salt=self.version, retries=RETRIES)


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
            stack.callback(shutil.rmtree, folder_of(compute, out), ignore_errors=True)
            weights = FileWeights(folder_of(compute, out), servers, tokenizer, dtype)
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
    """The rollouts of ``step``. ``staleness`` is the mean over sampled tokens of steps trained since their weights.

    ``cache_hit_share`` is the share of prompt tokens whose keys and values a server still had, where servers say so.
    """
    model, before = policy.model(), prefix_cache(policy.addresses)
    started = time.perf_counter()
    batch = episodes.make(ids, step, model)
    stale = {step - int(version.partition("-")[0]): tokens for version, tokens in model.sampled.items()}
    figures = {
        "rollout_seconds": time.perf_counter() - started,
        "staleness": sum(steps * tokens for steps, tokens in stale.items()) / max(1, sum(stale.values())),
        "staleness_max": float(max(stale, default=0)),
    }
    hits, asked = (after - earlier for after, earlier in zip(prefix_cache(policy.addresses), before, strict=True))
    if asked > 0 and hits >= 0:  # a server that was started again counts from 0
        figures["cache_hit_share"] = hits / asked
    return replace(batch, figures={**batch.figures, **figures}, done=time.time())


class Ahead:
    """Makes the rollouts of up to ``ahead`` coming steps while one trains. A context manager.

    ``order`` has the instance ids of each step, of which a step has ``group`` rollouts each. A process that dies is replaced,
    and makes what was asked of it again: the same prompts, the same seeds. Nothing is dropped, and no rollout is made by
    weights more than ``ahead`` steps older than those it trains.
    """

    def __init__(self, episodes: Episodes, policy: Policy, order: Sequence[list[str]], group: int, ahead: int) -> None:
        self._episodes = episodes
        self._policy = policy
        self._order = [[name for name in names for _ in range(group)] for names in order]
        self._ahead = ahead
        self._asked: dict[int, Future[Batch]] = {}
        self._pool = _pool()

    def take(self, ids: list[str], step: int) -> Batch:
        """The rollouts of ``step``, which are of ``ids``. Raises what making them raised."""
        if ids != self._order[step]:
            raise DataError(f"step {step}: TRL asks for other prompts than were planned; resume with the same data and seed")
        started = time.perf_counter()
        for deaths in range(DEATHS + 1):
            try:
                for coming in range(step, min(step + self._ahead + 1, len(self._order))):
                    if coming not in self._asked:
                        few = self._episodes.of(self._order[coming])
                        self._asked[coming] = self._pool.submit(make, few, self._order[coming], coming, self._policy)
                batch = self._asked[step].result()
                break
            except BrokenProcessPool:
                if deaths == DEATHS:
                    raise InfrastructureError(
                        f"the process that makes rollouts died {deaths + 1} times in a step, of memory perhaps: {AGAIN}"
                    ) from None
                self._asked.clear()
                self._pool = _pool()
        del self._asked[step]
        waited = {"trainer_waited_seconds": time.perf_counter() - started, "rollouts_waited_seconds": time.time() - batch.done}
        return replace(batch, figures={**batch.figures, **waited})

    def __enter__(self) -> Ahead:
        return self

    def __exit__(self, *_: object) -> None:
        for process in list((self._pool._processes or {}).values()):  # terminate_workers() of Python 3.14
            process.terminate()
        self._pool.shutdown(cancel_futures=True)


def _pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=end_with_parent)
