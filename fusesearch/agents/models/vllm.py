"""A checkpoint behind vLLM servers that takes and gives token ids: what GRPO trains on is what was sampled.

The conversation is tokenized here (:mod:`fusesearch.agents.models.chat`) and goes to ``/v1/completions`` as ids; sampled ids
and their log-probabilities under the sampling temperature come back. The servers must run with ``--logprobs-mode
processed_logprobs``.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from fusesearch.agents.models import chat
from fusesearch.agents.models.base import Completion, Message, Sampling
from fusesearch.agents.models.retries import MalformedReply, Retries
from fusesearch.core.network import making_client
from fusesearch.core.schema import Tokens, Usage

if TYPE_CHECKING:
    from openai import AsyncOpenAI


@dataclass
class _Episode:
    """Where an episode is served, and what separates its prefixes in the server's cache from those of other weights."""

    server: str
    salt: str


class VllmModel:
    """The model ``name`` of the ``servers``, addresses without ``/v1`` that all serve the same weights.

    An episode (an asyncio task) goes to the server that runs the fewest, and stays there while that server answers, because
    it has the keys and values of earlier turns. ``salt`` names the current weights: an episode keeps the name that its first
    request got, so it never starts from keys and values of other weights. A message is cut where the conversation has
    ``max_context`` tokens; one that has as many ends as ``context``.
    """

    def __init__(
        self,
        tokenizer: Any,
        servers: Sequence[str],
        max_context: int,
        *,
        name: str,
        salt: Callable[[], str] = str,
        retries: int = 6,
        timeout_seconds: float = 600.0,
        backoff_seconds: float = 0.5,
    ) -> None:
        self.name = name
        self.tokenizer = tokenizer
        self.servers = list(servers)
        self.max_context = max_context
        self._salt = salt
        self._timeout = timeout_seconds
        self._retries = Retries(", ".join(servers), name, retries, backoff_seconds)
        self._clients: dict[str, AsyncOpenAI] = {}
        self._episodes: WeakKeyDictionary[asyncio.Task[Any], _Episode] = WeakKeyDictionary()

    async def complete(self, messages: list[Message], tools: list[dict[str, Any]], sampling: Sampling) -> Completion:
        """One assistant message. Raises what :meth:`~fusesearch.agents.models.retries.Retries.run` does."""
        prompt = chat.prompt_ids(self.tokenizer, messages, tools)
        if (room := self.max_context - len(prompt)) < 1:
            return Completion(text="", usage=Usage(prompt_tokens=len(prompt)), finish_reason="context")
        if room < sampling.max_new_tokens:
            sampling = sampling.model_copy(update={"max_new_tokens": room})
        episode = self._episode(starts=all(message.tokens is None for message in messages))
        return await self._retries.run(lambda: self._send(prompt, sampling, episode))

    async def close(self) -> None:
        """Close the connections."""
        for client in self._clients.values():
            await client.close()
        self._clients.clear()

    def _episode(self, starts: bool) -> _Episode:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in a task
        if starts or task not in self._episodes:
            self._episodes.pop(task, None)
            self._episodes[task] = _Episode(self._least_loaded(self.servers), self._salt())
        return self._episodes[task]

    def _least_loaded(self, servers: Sequence[str]) -> str:
        running = [episode.server for task, episode in self._episodes.items() if not task.done()]
        return min(servers, key=running.count)

    async def _send(self, prompt: list[int], sampling: Sampling, episode: _Episode) -> Completion:
        from openai import APIConnectionError, InternalServerError

        try:
            return await self._request(prompt, sampling, episode)
        except (APIConnectionError, InternalServerError):
            others = [server for server in self.servers if server != episode.server]
            episode.server = self._least_loaded(others or self.servers)
            raise

    async def _request(self, prompt: list[int], sampling: Sampling, episode: _Episode) -> Completion:
        eos = self.tokenizer.eos_token_id
        # without a seed two servers may sample the same text, and with the episode's own each turn would repeat its draws
        own = random.getrandbits(63) if sampling.seed is None else sampling.seed
        started = time.perf_counter()
        response = await self._client(episode.server).completions.create(
            model=self.name,
            prompt=prompt,
            max_tokens=sampling.max_new_tokens,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            seed=random.Random(f"{own}-{len(prompt)}").getrandbits(63),
            logprobs=0,  # of the sampled tokens alone
            extra_body={
                "return_token_ids": True,
                "add_special_tokens": False,
                "stop_token_ids": [eos],
                # a server may take other defaults from generation_config.json
                **{"top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0},
                **({"cache_salt": episode.salt} if episode.salt else {}),
            },
        )
        seconds = time.perf_counter() - started
        return chat.sampled(self.tokenizer, *_tokens(response, prompt), seconds)

    def _client(self, server: str) -> AsyncOpenAI:
        if server not in self._clients:
            from openai import AsyncOpenAI

            # always pass a key, so that none from the environment reaches a server it is not meant for
            with making_client(server):
                self._clients[server] = AsyncOpenAI(api_key="none", base_url=f"{server}/v1", max_retries=0, timeout=self._timeout)
        return self._clients[server]


def _tokens(response: Any, prompt: list[int]) -> tuple[Tokens, bool]:
    """Sampled ids and log-probabilities, and whether the last one ends the message: the tokenizer's, or any that the server takes
    from the generation config. Raises :class:`MalformedReply` unless they are whole.
    """
    try:
        choice = response.choices[0]
        ids, logprobs = list(choice.token_ids), list(choice.logprobs.token_logprobs)
        reason = choice.finish_reason
    except (AttributeError, TypeError, IndexError) as error:
        raise MalformedReply(f"no token ids with log-probabilities ({error})") from None
    if reason not in ("stop", "length") or not ids or len(ids) != len(logprobs) or None in logprobs:
        raise MalformedReply(f"{len(ids)} token ids, {len(logprobs)} log-probabilities, finish_reason {reason!r}")
    return Tokens(prompt_ids=prompt, completion_ids=ids, logprobs=logprobs), reason == "stop"
