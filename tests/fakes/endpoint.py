"""A chat server that a function answers, with the tokens of each request counted and faults in a share of the replies."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fusesearch.agents.models.base import CHARS_PER_TOKEN
from tests.fakes.chat_server import ChatServer, completion, refusal

Answer = Callable[[dict[str, Any]], dict[str, Any]]
"""From the body of a request to the assistant message."""


class Endpoint(ChatServer):
    """Answers each request by ``answer``.

    ``faults`` has the share of requests by fault: ``drop`` (no reply) and ``late`` (a reply after 0.3 s). A conversation over
    ``context_tokens`` is refused as by vLLM.

    ``asked`` lists the requests. ``served`` counts them by fault, or as ``answered``. ``longest`` is the largest prompt in
    tokens. ``errors`` lists what ``answer`` raised.
    """

    def __init__(
        self, answer: Answer, faults: Mapping[str, float] | None = None, *, seed: int = 0, context_tokens: int | None = None
    ) -> None:
        super().__init__([self._reply])
        self.asked: list[dict[str, Any]] = self.requests
        self.served: Counter[str] = Counter()
        self.longest = 0
        self.errors: list[str] = []
        self._answer = answer
        self._faults = faults or {}
        self._context = context_tokens
        self._random = random.Random(seed)
        self._lock = threading.Lock()

    def _reply(self, request: dict[str, Any]) -> Any:
        with self._lock:
            shares = [*self._faults.values(), 1 - sum(self._faults.values())]
            outcome = self._random.choices([*self._faults, "answered"], shares)[0]
            self.served[outcome] += 1
        if outcome == "drop":
            return outcome
        time.sleep(0.3 if outcome == "late" else 0)
        prompt = _tokens(request["messages"]) + _tokens(request.get("tools") or [])
        self.longest = max(self.longest, prompt)
        if self._context and prompt > self._context:
            return refusal(400, f"the prompt has {prompt} tokens, over the maximum context length of {self._context}")
        try:
            message = self._answer(request)
        except Exception as error:
            self.errors.append(f"{request.get('model')}: {error!r}")
            return refusal(422, f"no answer: {error!r}")
        body = completion(**message, finish="tool_calls" if message.get("tool_calls") else "stop")
        usage = {"prompt_tokens": prompt, "completion_tokens": _tokens(message)}
        return 200, {"Retry-After": "0"}, body | {"usage": usage | {"total_tokens": sum(usage.values())}}


def scripted(replies: Mapping[str, Iterable[str]]) -> Answer:
    """Answers by turn with the texts for the conversation's issue, its first user message."""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        messages = request["messages"]
        turn = sum(message["role"] == "assistant" for message in messages)
        return {"role": "assistant", "content": list(replies[messages[1]["content"]])[turn]}

    return answer


def _tokens(value: Any) -> int:
    return -(-len(json.dumps(value, ensure_ascii=False)) // CHARS_PER_TOKEN)
