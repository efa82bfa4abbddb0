"""An OpenAI-compatible endpoint over real HTTP on this machine, answered by a function, with faults in a share of the replies."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from email.message import Message
from functools import partial
from typing import Any

from fusesearch.agents.models.base import CHARS_PER_TOKEN
from tests.fakes.local_server import Handler, LocalServer

Answer = Callable[[dict[str, Any]], dict[str, Any]]
"""From the body of a request to the assistant message."""


class Endpoint(LocalServer):
    """Answers each request by ``answer``.

    ``faults`` has the share of requests by fault: ``drop`` (no reply), ``late`` (a reply after 0.3 s), ``cut`` (half of the
    promised body) and ``half`` (half a JSON object). A conversation over ``context_tokens`` is refused as by vLLM.

    ``asked`` and ``headers`` list the requests. ``served`` counts them by fault, or as ``answered``. ``longest`` is the largest
    prompt in tokens. ``errors`` lists what ``answer`` raised.
    """

    def __init__(
        self, answer: Answer, faults: Mapping[str, float] | None = None, *, seed: int = 0, context_tokens: int | None = None
    ) -> None:
        self.asked: list[dict[str, Any]] = []
        self.headers: list[Message] = []
        self.served: Counter[str] = Counter()
        self.longest = 0
        self.errors: list[str] = []
        self._answer = answer
        self._faults = faults or {}
        self._context = context_tokens
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        super().__init__(partial(_Handler, self))

    def outcome(self) -> str:
        """The fault of the next reply, or ``answered``."""
        with self._lock:
            shares = [*self._faults.values(), 1 - sum(self._faults.values())]
            outcome = self._random.choices([*self._faults, "answered"], shares)[0]
            self.served[outcome] += 1
        return outcome

    def reply(self, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and JSON of the reply to a request."""
        prompt = _tokens(request["messages"]) + _tokens(request.get("tools") or [])
        self.longest = max(self.longest, prompt)
        if self._context and prompt > self._context:
            return 400, refusal(f"the prompt has {prompt} tokens, over the maximum context length of {self._context}")
        try:
            message = self._answer(request)
        except Exception as error:
            self.errors.append(f"{request.get('model')}: {error!r}")
            return 422, refusal(f"no answer: {error!r}")
        completion = _tokens(message)
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if message.get("tool_calls") else "stop"}
        return 200, {
            "id": "1", "object": "chat.completion", "created": 1, "model": request.get("model"), "choices": [choice],
            "usage": usage,
        }  # fmt: skip


def scripted(replies: Mapping[str, Iterable[str]]) -> Answer:
    """Answers by turn with the texts for the conversation's issue, its first user message."""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        messages = request["messages"]
        turn = sum(message["role"] == "assistant" for message in messages)
        return {"role": "assistant", "content": list(replies[messages[1]["content"]])[turn]}

    return answer


def refusal(message: str) -> dict[str, Any]:
    """The body of a refused request."""
    return {"error": {"message": message, "type": "invalid_request_error", "code": None}}


class _Handler(Handler):
    def __init__(self, endpoint: Endpoint, *arguments: Any) -> None:
        self._endpoint = endpoint
        super().__init__(*arguments)

    def do_POST(self) -> None:
        """Answer, or fail in one of the ways."""
        request = self.asked()
        self._endpoint.asked.append(request)
        self._endpoint.headers.append(self.headers)
        fault = self._endpoint.outcome()
        if fault == "drop":
            self.connection.close()
            return
        if fault == "late":
            time.sleep(0.3)
        status, reply = self._endpoint.reply(request)
        body = json.dumps(reply).encode()
        sent = body[: len(body) // 2] if fault in ("cut", "half") else body
        self.send(status, sent, {"Retry-After": "0"}, missing=len(body) - len(sent) if fault == "cut" else 0)
        if fault == "cut":
            self.connection.close()


def _tokens(value: Any) -> int:
    return -(-len(json.dumps(value, ensure_ascii=False)) // CHARS_PER_TOKEN)
