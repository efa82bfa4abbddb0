"""A local transformers checkpoint as a model that answers concurrent requests in batches.

Every request continues a conversation whose earlier tokens the model has seen, so the attention keys and values of each
conversation are cached between turns and only new tokens are computed. Sampled token ids and their log-probabilities are
recorded during sampling.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fusesearch.agents.lockstep import Lockstep, waiting
from fusesearch.agents.models import chat
from fusesearch.agents.models.base import Completion, Message, Sampling
from fusesearch.core.errors import ArtifactError
from fusesearch.core.schema import Tokens, Usage

if TYPE_CHECKING:
    from fusesearch.agents.models.key_values import BatchCache, Layers


CACHE_TOKENS = 400_000
"""Most tokens of conversations whose keys and values are cached."""


@dataclass
class _Request:
    prompt: list[int]
    known: int  # leading ids of the prompt that earlier turns of the conversation recorded
    sampling: Sampling
    future: asyncio.Future[Completion]
    lockstep: Lockstep | None  # of the episodes that its own runs with


class TransformersModel:
    """Batched sampling from a causal language model of transformers.

    ``model`` and ``tokenizer`` are loaded objects; the tokenizer's chat template must be prefix-preserving. Batches run in
    a thread, so that tools run meanwhile. A second thread would gain 6% at nano's size, where most of the time is spent in
    Python: who wants to use more cores starts more processes.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        name: str = "transformers",
        max_batch: int = 64,
    ) -> None:
        from fusesearch.agents.models.key_values import KeptRows

        self.name = name
        self.model = model
        self.tokenizer = tokenizer
        self.max_batch = max_batch
        self._ends = end_ids(model, tokenizer)
        # a mixture of experts that TRL trained has it on, and computes a loss that a cache does not fit
        self._plain = {"output_router_logits": False} if getattr(model.config, "output_router_logits", False) else {}
        self._kept = KeptRows(CACHE_TOKENS)
        self._queue: list[_Request] = []
        self._worker: asyncio.Task[None] | None = None
        self._thread: ThreadPoolExecutor | None = None

    @classmethod
    def load(cls, checkpoint: Path | str, *, dtype: str = "float32", **options: Any) -> TransformersModel:
        """Load a checkpoint directory. Raises :class:`ArtifactError` if it is missing or damaged."""
        if not (Path(checkpoint) / "config.json").is_file():
            raise ArtifactError(f"{checkpoint} holds no checkpoint (no config.json): name the folder of one")
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()  # loading takes a second, and a bar would hide errors on stderr
        logging.set_verbosity_error()
        try:
            tokenizer = AutoTokenizer.from_pretrained(str(checkpoint))
            model: Any = AutoModelForCausalLM.from_pretrained(str(checkpoint), dtype=getattr(torch, dtype))
        except Exception as error:  # the libraries raise many types for a damaged file
            raise ArtifactError(
                f"{checkpoint} cannot be loaded: {(str(error).splitlines() or [type(error).__name__])[0]}"
            ) from error
        model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
        return cls(model, tokenizer, name=Path(checkpoint).name, **options)

    async def complete(self, messages: list[Message], tools: list[dict[str, Any]], sampling: Sampling) -> Completion:
        """One assistant message. Concurrent requests share a batch, those of episodes that run together in lockstep."""
        prompt = chat.prompt_ids(self.tokenizer, messages, tools)
        if len(prompt) >= self.model.config.max_position_embeddings:
            return Completion(text="", usage=Usage(prompt_tokens=len(prompt)), finish_reason="context")
        loop = asyncio.get_running_loop()
        with waiting() as lockstep:
            request = _Request(prompt, _recorded_tokens(messages), sampling, loop.create_future(), lockstep)
            self._queue.append(request)
            if self._worker is None or self._worker.done():
                self._worker = loop.create_task(self._serve())
            return await request.future

    async def close(self) -> None:
        """Drop caches and stop the worker and its thread."""
        if self._worker and not self._worker.done():
            self._worker.cancel()
        self._worker = None
        if self._thread:
            self._thread.shutdown(wait=False)
        self._thread = None
        self._kept.clear()

    async def _serve(self) -> None:
        self._thread = self._thread or ThreadPoolExecutor(1, "generate")
        while self._queue:
            await self._settle()
            batch, self._queue = self._next_batch()
            live = [request for request in batch if not request.future.done()]
            try:
                loop = asyncio.get_running_loop()
                completions = await loop.run_in_executor(self._thread, self._generate, live) if live else []
            except Exception as error:
                for request in live:
                    if not request.future.done():
                        request.future.set_exception(error)
                continue
            for request, completion in zip(live, completions, strict=True):
                if not request.future.done():
                    request.future.set_result(completion)

    async def _settle(self) -> None:
        """Wait while more requests arrive, so that batches are full: for all running episodes, else a few milliseconds."""
        if lockstep := self._queue[0].lockstep:
            return await lockstep.all_wait()
        for _ in range(20):
            size = len(self._queue)
            await asyncio.sleep(0.003)
            if len(self._queue) == size or size >= self.max_batch:
                return

    def _next_batch(self) -> tuple[list[_Request], list[_Request]]:
        batch_key = _batch_key(self._queue[0].sampling)
        same = [request for request in self._queue if _batch_key(request.sampling) == batch_key]
        batch = sorted(same, key=_order)[: self.max_batch]
        chosen = {id(r) for r in batch}
        return batch, [r for r in self._queue if id(r) not in chosen]

    def _generate(self, batch: list[_Request]) -> list[Completion]:
        import torch

        started = time.perf_counter()
        with torch.inference_mode():
            sampled, logprobs = self._sample(batch)
        seconds = time.perf_counter() - started
        made = [
            Tokens(prompt_ids=request.prompt, completion_ids=ids, logprobs=values)
            for request, ids, values in zip(batch, sampled, logprobs, strict=True)
        ]
        return [chat.sampled(self.tokenizer, row, not self._ends.isdisjoint(row.completion_ids[-1:]), seconds) for row in made]

    def _sample(self, batch: list[_Request]) -> tuple[list[list[int]], list[list[float]]]:
        """Token ids and log-probabilities (natural log, under the sampling temperature) for each request.

        Finished rows leave the batch once a quarter of its rows have finished.
        """
        import torch

        from fusesearch.agents.models.key_values import BatchCache

        context, limit = self.model.config.max_position_embeddings, batch[0].sampling.max_new_tokens
        room = [min(limit, context - len(request.prompt)) for request in batch]
        uniform = torch.tensor(np.stack([_uniform(request, limit) for request in batch])).to(self.model.device)
        longest = max(len(request.prompt) for request in batch)
        starts = [longest - len(request.prompt) for request in batch]  # first column of each row
        cache = BatchCache(self.model.config.num_hidden_layers, len(batch), longest + limit)
        cache.fill(self._prefill(batch), longest - 1)
        attention = torch.arange(longest)[None] >= torch.tensor(starts)[:, None]
        attention = attention.long().to(self.model.device)
        step_ids = torch.tensor([request.prompt[-1:] for request in batch]).to(self.model.device)
        step_positions = attention.sum(1, keepdim=True) - 1
        sampled: list[list[int]] = [[] for _ in batch]
        logprobs: list[list[float]] = [[] for _ in batch]
        rows = list(range(len(batch)))  # which requests are in the batch, in order
        for step in range(limit):
            output = self.model(
                input_ids=step_ids, attention_mask=attention, position_ids=step_positions,
                past_key_values=cache, use_cache=True, logits_to_keep=1, **self._plain,
            )  # fmt: skip
            token, logprob = _draw(output.logits[:, -1].float(), batch[0].sampling, uniform[rows, step])
            for row, new, value in zip(rows, token.tolist(), logprob.tolist(), strict=True):
                if not self._complete(sampled[row], room[row]):
                    sampled[row].append(new)
                    logprobs[row].append(value)
            live = [i for i, row in enumerate(rows) if not self._complete(sampled[row], room[row])]
            if not live:
                break
            attention = torch.cat([attention, attention.new_ones((len(rows), 1))], 1)
            if 4 * len(live) <= 3 * len(rows):
                ended = set(range(len(rows))) - set(live)
                self._keep(batch, cache, {rows[i]: i for i in ended}, starts, sampled)
                rows = [rows[i] for i in live]
                first = min(starts[row] for row in rows)
                cache.keep(live, first)
                starts = [start - first for start in starts]
                attention, token = attention[live, first:], token[live]
            step_ids, step_positions = token[:, None], attention.sum(1, keepdim=True) - 1
        self._keep(batch, cache, {row: i for i, row in enumerate(rows)}, starts, sampled)
        return sampled, logprobs

    def _complete(self, sampled: list[int], room: int) -> bool:
        """Whether a message ends with its last token, or fills its ``room``."""
        return len(sampled) >= room or (bool(sampled) and sampled[-1] in self._ends)

    def _prefill(self, batch: list[_Request]) -> list[Layers]:
        """Keys and values of each prompt without its last token.

        Row by row, without padding, because conversations differ widely in their number of new tokens. A prompt that several
        requests share, like the rollouts of a group, is computed once.
        """
        made: dict[tuple[int, ...], Layers] = {}
        rows = []
        for request in batch:
            ids = tuple(request.prompt[:-1])
            if ids not in made:
                made[ids] = self._row(request.prompt[:-1], request.known - 1)
            rows.append(made[ids])
        return rows

    def _row(self, ids: list[int], known: int) -> Layers:
        """Keys and values of ``ids``; those of the first ``known`` may be cached."""
        import torch

        from fusesearch.agents.models.key_values import BatchCache

        kept = self._kept.take(ids[:known]) if known > 0 else None
        done = known if kept else 0
        cache = BatchCache(self.model.config.num_hidden_layers, 1, len(ids))
        if kept:
            cache.fill([kept], done)
        if done < len(ids):
            new = torch.tensor([ids[done:]]).to(self.model.device)
            self.model(input_ids=new, past_key_values=cache, use_cache=True, logits_to_keep=1, **self._plain)
        return cache.row(0, 0, len(ids))

    def _keep(
        self, batch: list[_Request], cache: BatchCache, rows: dict[int, int], starts: list[int], sampled: list[list[int]]
    ) -> None:
        """Cache keys and values of requests (``rows``: number in the batch -> row of the cache) for their next turn."""
        for number, row in rows.items():
            ids = [*batch[number].prompt, *sampled[number][:-1]]
            self._kept.put(ids, cache.row(row, starts[number], starts[number] + len(ids)))


def end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """The ids that end a message: the tokenizer's, and all that the model's generation config names."""
    named = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    return frozenset([tokenizer.eos_token_id, *(named if isinstance(named, list) else [named])]) - {None}


def _batch_key(sampling: Sampling) -> tuple[float, float, int]:
    """What requests must have in common to share a batch."""
    return sampling.temperature, sampling.top_p, sampling.max_new_tokens


def _order(request: _Request) -> tuple[int, list[int], int]:
    """The place of a request in its batch: short prompts first; none but equal ones depend on which came first."""
    return len(request.prompt), request.prompt, -1 if request.sampling.seed is None else request.sampling.seed


def _recorded_tokens(messages: Sequence[Message]) -> int:
    """Number of leading token ids of the next request that earlier turns recorded."""
    for message in reversed(messages):
        if message.tokens is not None:
            return len(message.tokens.prompt_ids) + len(message.tokens.completion_ids)
    return 0


def _uniform(request: _Request, count: int) -> Any:
    """Random numbers in [0, 1) for a request. They depend on its seed and position, not on its batch."""
    seed = request.sampling.seed
    generator = np.random.default_rng(None if seed is None else [seed, len(request.prompt)])
    return generator.random(count)


def _draw(logits: Any, sampling: Sampling, uniform: Any) -> tuple[Any, Any]:
    """Next token of each row by inverting the cumulative distribution, and its log-probability; greedy at 0."""
    if sampling.temperature <= 0:
        logprobs, token = logits.log_softmax(-1), logits.argmax(-1)
    else:
        logprobs = (logits / sampling.temperature).log_softmax(-1)
        cumulative = _nucleus(logprobs.exp(), sampling.top_p).double().cumsum(-1)
        token = (cumulative < (uniform * cumulative[:, -1])[:, None]).sum(-1).clamp(max=logits.shape[-1] - 1)
    return token, logprobs.gather(1, token[:, None]).squeeze(1)


def _nucleus(probabilities: Any, top_p: float) -> Any:
    """Probabilities with everything outside the most probable ``top_p`` mass set to zero."""
    if top_p >= 1:
        return probabilities
    ordered, index = probabilities.sort(-1, descending=True)
    ordered = ordered.masked_fill(ordered.cumsum(-1) - ordered > top_p, 0)
    return ordered.new_zeros(ordered.shape).scatter_(-1, index, ordered)
