"""A local transformers checkpoint as a model: concurrent requests are answered in batches.

Every request continues a conversation whose earlier tokens the model has seen, so the attention keys and values of each
conversation are kept between turns and only new tokens are computed. Token ids and log-probabilities of what was sampled
are recorded as they are made.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tasks.agents.models import chat
from tasks.agents.models.base import Completion, Message, Sampling
from tasks.core.errors import ArtifactError
from tasks.core.schema import Tokens, Usage


@dataclass
class _Request:
    prompt: list[int]
    known: int  # leading ids of the prompt that earlier turns of the conversation recorded
    sampling: Sampling
    future: asyncio.Future[Completion]


class _KeyValues:
    """Attention keys and values of recent conversations, by their token ids; bounded by a number of tokens."""

    def __init__(self, max_tokens: int) -> None:
        self.max_tokens = max_tokens
        self._rows: OrderedDict[tuple[int, ...], list[tuple[Any, Any]]] = OrderedDict()
        self._tokens = 0

    def put(self, ids: Sequence[int], layers: list[tuple[Any, Any]]) -> None:
        """Keep the layers (keys, values of shape heads x tokens x width) of a conversation."""
        self._rows[tuple(ids)] = layers
        self._tokens += len(ids)
        while self._tokens > self.max_tokens and self._rows:
            old, _ = self._rows.popitem(last=False)
            self._tokens -= len(old)

    def take(self, ids: Sequence[int]) -> list[tuple[Any, Any]] | None:
        """Layers of the conversation that is exactly ``ids``, removed from here; ``None`` when it is not kept."""
        layers = self._rows.pop(tuple(ids), None)
        if layers is not None:
            self._tokens -= len(ids)
        return layers

    def clear(self) -> None:
        self._rows.clear()
        self._tokens = 0


class TransformersModel:
    """Batched sampling from a causal language model of transformers.

    ``model`` and ``tokenizer`` are loaded objects; the tokenizer's chat template must be prefix-preserving.
    """

    def __init__(
        self, model: Any, tokenizer: Any, *, name: str = "transformers", max_batch: int = 64, cache_tokens: int = 400_000
    ) -> None:
        self.name = name
        self.model = model
        self.tokenizer = tokenizer
        self.max_batch = max_batch
        self._cache = _KeyValues(cache_tokens)
        self._queue: list[_Request] = []
        self._worker: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="generate")

    @classmethod
    def load(
        cls, checkpoint: Path | str, *, dtype: str = "float32", device: str | None = None, **options: Any
    ) -> TransformersModel:
        """Load a checkpoint directory. Raises :class:`ArtifactError` when there is none or it is damaged."""
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        if not (Path(checkpoint) / "config.json").is_file():
            raise ArtifactError(f"{checkpoint} holds no checkpoint (no config.json): train one with `dvc repro`, or name another")
        try:
            tokenizer = AutoTokenizer.from_pretrained(str(checkpoint))
            model: Any = AutoModelForCausalLM.from_pretrained(str(checkpoint), dtype=getattr(torch, dtype))
        except Exception as error:  # the libraries raise many types for a damaged file
            raise ArtifactError(
                f"{checkpoint} cannot be loaded: {(str(error).splitlines() or [type(error).__name__])[0]}"
            ) from error
        model.to(device or ("cuda" if torch.cuda.is_available() else "cpu")).eval()
        return cls(model, tokenizer, name=Path(checkpoint).name, **options)

    async def complete(self, messages: list[Message], tools: list[dict[str, Any]], sampling: Sampling) -> Completion:
        """One assistant message. Requests made at the same time share a batch."""
        prompt = chat.prompt_ids(self.tokenizer, messages, tools)
        if len(prompt) + sampling.max_new_tokens > self.model.config.max_position_embeddings:
            return Completion(text="", usage=Usage(prompt_tokens=len(prompt)), finish_reason="context")
        loop = asyncio.get_running_loop()
        request = _Request(prompt, _recorded(messages), sampling, loop.create_future())
        self._queue.append(request)
        if self._worker is None or self._worker.done():
            self._worker = loop.create_task(self._serve())
        return await request.future

    async def close(self) -> None:
        """Drop caches and stop the worker."""
        if self._worker and not self._worker.done():
            self._worker.cancel()
        self._worker = None
        self._cache.clear()

    def reset(self) -> None:
        """Forget cached keys and values: the weights have changed."""
        self._cache.clear()

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        while self._queue:
            await self._settle()
            batch, self._queue = self._next_batch()
            live = [request for request in batch if not request.future.done()]
            try:
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
        """Wait while further requests still arrive, for a few milliseconds at most, so that batches are full."""
        for _ in range(20):
            size = len(self._queue)
            await asyncio.sleep(0.003)
            if len(self._queue) == size or size >= self.max_batch:
                return

    def _next_batch(self) -> tuple[list[_Request], list[_Request]]:
        kind = _kind(self._queue[0].sampling)
        same = [request for request in self._queue if _kind(request.sampling) == kind]
        batch = sorted(same, key=lambda r: len(r.prompt))[: self.max_batch]
        chosen = {id(r) for r in batch}
        return batch, [r for r in self._queue if id(r) not in chosen]

    def _generate(self, batch: list[_Request]) -> list[Completion]:
        import torch

        started = time.perf_counter()
        with torch.inference_mode():
            sampled, logprobs = self._sample(batch)
        seconds = time.perf_counter() - started
        return [
            self._completion(request.prompt, ids, values, seconds)
            for request, ids, values in zip(batch, sampled, logprobs, strict=True)
        ]

    def _completion(self, prompt: list[int], ids: list[int], logprobs: list[float], seconds: float) -> Completion:
        ended = bool(ids) and ids[-1] == self.tokenizer.eos_token_id
        text = self.tokenizer.decode(ids[:-1] if ended else ids, skip_special_tokens=False)
        return Completion(
            text=text,
            calls=None,
            usage=Usage(prompt_tokens=len(prompt), completion_tokens=len(ids), seconds=seconds),
            tokens=Tokens(prompt_ids=prompt, completion_ids=ids, logprobs=logprobs),
            finish_reason="stop" if ended else "length",
        )

    def _sample(self, batch: list[_Request]) -> tuple[list[list[int]], list[list[float]]]:
        """Token ids and log-probabilities (natural log, under the sampling temperature) for each request."""
        import torch

        prompts = [request.prompt for request in batch]
        limit = batch[0].sampling.max_new_tokens
        uniform = torch.tensor(np.stack([_uniform(request, limit) for request in batch])).to(self.model.device)
        cache, width = self._stack(batch)
        ids, attention = self._pad(prompts)
        step_ids, step_positions = ids[:, width:], (attention.cumsum(1) - 1)[:, width:].clamp(min=0)
        drawn, values = [], []
        alive = torch.ones(len(batch), dtype=torch.bool, device=ids.device)
        for step in range(limit):
            output = self.model(
                input_ids=step_ids, attention_mask=attention, position_ids=step_positions,
                past_key_values=cache, use_cache=True, logits_to_keep=1,
            )  # fmt: skip
            token, logprob = _draw(output.logits[:, -1].float(), batch[0].sampling, uniform[:, step])
            drawn.append(torch.where(alive, token, self.tokenizer.pad_token_id))
            values.append(logprob)
            alive = alive & (token != self.tokenizer.eos_token_id)
            if not alive.any():
                break
            step_ids = drawn[-1][:, None]
            attention = torch.cat([attention, attention.new_ones((len(batch), 1))], 1)
            step_positions = attention.sum(1, keepdim=True) - 1
        sampled, logprobs = self._until_end(torch.stack(drawn, 1).tolist(), torch.stack(values, 1).tolist())
        self._keep(cache, prompts, sampled)
        return sampled, logprobs

    def _until_end(self, drawn: list[list[int]], values: list[list[float]]) -> tuple[list[list[int]], list[list[float]]]:
        eos = self.tokenizer.eos_token_id
        lengths = [row.index(eos) + 1 if eos in row else len(row) for row in drawn]
        return [r[:n] for r, n in zip(drawn, lengths, strict=True)], [r[:n] for r, n in zip(values, lengths, strict=True)]

    def _pad(self, prompts: list[list[int]]) -> tuple[Any, Any]:
        """Ids and attention mask, padded on the left: both of shape requests x longest prompt."""
        import torch

        longest = max(map(len, prompts))
        ids = torch.full((len(prompts), longest), self.tokenizer.pad_token_id)
        attention = torch.zeros((len(prompts), longest), dtype=torch.long)
        for row, prompt in enumerate(prompts):
            ids[row, longest - len(prompt) :] = torch.tensor(prompt)
            attention[row, longest - len(prompt) :] = 1
        return ids.to(self.model.device), attention.to(self.model.device)

    def _stack(self, batch: list[_Request]) -> tuple[Any, int]:
        """One cache for the batch from the kept ones, left-padded, and the number of its columns.

        All rows compute the same number of columns, that of the row with most new tokens; the others compute some of
        their kept tokens again.
        """
        import torch
        from transformers import DynamicCache

        cache = DynamicCache(config=self.model.config)
        taken = [self._cache.take(request.prompt[: request.known - 1]) if request.known else None for request in batch]
        known = [request.known - 1 if layers else 0 for request, layers in zip(batch, taken, strict=True)]
        fresh = max(len(request.prompt) - n for request, n in zip(batch, known, strict=True))
        width = max(len(request.prompt) for request in batch) - fresh
        sample = next((layers for layers in taken if layers), None)
        if sample is None or width <= 0:
            return cache, 0
        for layer, (key, _) in enumerate(sample):
            shape = (len(batch), key.shape[0], width, key.shape[2])
            keys, values = torch.zeros(shape, dtype=key.dtype), torch.zeros(shape, dtype=key.dtype)
            keys, values = keys.to(key.device), values.to(key.device)
            for row, (request, layers) in enumerate(zip(batch, taken, strict=True)):
                keep = len(request.prompt) - fresh
                if layers and keep > 0:
                    keys[row, :, width - keep :] = layers[layer][0][:, :keep]
                    values[row, :, width - keep :] = layers[layer][1][:, :keep]
            cache.update(keys, values, layer)
        return cache, width

    def _keep(self, cache: Any, prompts: list[list[int]], sampled: list[list[int]]) -> None:
        longest = max(map(len, prompts))
        for row, (prompt, new) in enumerate(zip(prompts, sampled, strict=True)):
            part = slice(longest - len(prompt), longest + len(new) - 1)
            layers = [(layer.keys[row, :, part].clone(), layer.values[row, :, part].clone()) for layer in cache.layers]
            self._cache.put([*prompt, *new[:-1]], layers)


def _kind(sampling: Sampling) -> tuple[float, float, int]:
    """What requests of one batch must have in common."""
    return sampling.temperature, sampling.top_p, sampling.max_new_tokens


def _recorded(messages: Sequence[Message]) -> int:
    """Number of leading token ids of the next request that the conversation has recorded."""
    for message in reversed(messages):
        if message.tokens is not None:
            return len(message.tokens.prompt_ids) + len(message.tokens.completion_ids)
    return 0


def _uniform(request: _Request, count: int) -> Any:
    """Random numbers in [0, 1) of a request: they depend on its seed and place alone, not on the batch it is in."""
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
    """Probabilities with all but the most probable mass of ``top_p`` set to zero."""
    if top_p >= 1:
        return probabilities
    ordered, index = probabilities.sort(-1, descending=True)
    ordered = ordered.masked_fill(ordered.cumsum(-1) - ordered > top_p, 0)
    return ordered.new_zeros(ordered.shape).scatter_(-1, index, ordered)
