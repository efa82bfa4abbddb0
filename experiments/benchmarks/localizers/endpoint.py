"""A real HTTP server of OpenAI's chat completions that answers by a policy and fails a share of requests."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from functools import partial
from http.server import BaseHTTPRequestHandler
from typing import Any

from tasks.agents.models.base import CHARS_PER_TOKEN
from tests.fakes.local_server import LocalServer
from tests.fakes.policies import Policy, by_model

FAULTS = ("busy", "limited", "dropped", "cut")
"""How a request fails: status 503, status 429, the connection closed without an answer, or half of a reply."""

_MAX_REQUEST = 64 * 2**20


class PolicyServer(LocalServer):
    """Answers by ``policy``; by default that of the request's model, such as ``cosil:sensible``.

    ``fail`` is the share of requests that fail. A conversation over ``context_tokens`` is refused as by vLLM. ``served``
    counts requests by how they ended, ``longest`` is the largest prompt in tokens (a quarter of its characters), ``faults``
    lists what policies raised.
    """

    def __init__(self, policy: Policy = by_model, *, fail: float = 0.0, context_tokens: int | None = None) -> None:
        self.served: Counter[str] = Counter()
        self.longest = 0
        self.faults: list[str] = []
        self._policy = policy
        self._fail = fail
        self._context = context_tokens
        self._random = random.Random(0)
        self._lock = threading.Lock()
        super().__init__(partial(_Handler, self))

    def outcome(self) -> str:
        """How the next request ends: ``answered``, or one of :data:`FAULTS`."""
        with self._lock:
            failing = self._random.random() < self._fail
            outcome = self._random.choice(FAULTS) if failing else "answered"
            self.served[outcome] += 1
        return outcome

    def reply(self, body: bytes) -> tuple[int, dict[str, Any]]:
        """Status and JSON of the reply to a request."""
        try:
            request = json.loads(body)
            prompt = _tokens(request["messages"]) + _tokens(request.get("tools") or [])
        except (ValueError, TypeError, KeyError, RecursionError):
            return 400, _refusal("not a chat-completions request")
        with self._lock:
            self.longest = max(self.longest, prompt)
        if self._context and prompt > self._context:
            return 400, _refusal(f"the prompt has {prompt} tokens, over the maximum context length of {self._context}")
        try:
            return 200, _completion(request, self._policy(request), prompt)
        except Exception as error:  # a fault of the policy, which the driver reports
            self.faults.append(f"{request.get('model')}: {error!r}")
            return 422, _refusal(f"the policy failed: {error!r}")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def __init__(self, server: PolicyServer, *arguments: Any) -> None:
        self._policies = server
        super().__init__(*arguments)

    def do_POST(self) -> None:
        """Answer, or fail in one of the ways."""
        length = int(self.headers.get("Content-Length") or 0)
        if not self.path.endswith("/chat/completions") or not 0 < length <= _MAX_REQUEST:
            self.close_connection = True
            self._send(404, _refusal(f"nothing is served at {self.path}"))
            return
        body = self.rfile.read(length)
        outcome = self._policies.outcome()
        if outcome == "dropped":
            self.close_connection = True
        elif outcome in ("busy", "limited"):
            self._send(503 if outcome == "busy" else 429, _refusal("try again later"), {"Retry-After": "0"})
        else:
            status, reply = self._policies.reply(body)
            self._send(status, reply, cut=outcome == "cut")

    def _send(self, status: int, reply: dict[str, Any], headers: dict[str, str] | None = None, cut: bool = False) -> None:
        data = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if cut else data)
        self.close_connection = self.close_connection or cut

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def _completion(request: dict[str, Any], message: dict[str, Any], prompt: int) -> dict[str, Any]:
    completion = _tokens(message)
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if message.get("tool_calls") else "stop"}
    return {
        "id": "policy", "object": "chat.completion", "created": 1, "model": request.get("model"),
        "choices": [choice], "usage": usage,
    }  # fmt: skip


def _tokens(value: Any) -> int:
    return -(-len(json.dumps(value, ensure_ascii=False)) // CHARS_PER_TOKEN)


def _refusal(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "code": None}}
