"""What one server takes of OpenAI's chat API, as its refusals tell.

Servers word the same refusal in many ways, and give it different codes and statuses. A request is read as refused only if its
status is the client's fault: a server that is down or busy says nothing about what it takes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from fusesearch.agents.models.base import Message, Sampling
from fusesearch.agents.models.wire import chat_messages
from fusesearch.core.network import retry_after

if TYPE_CHECKING:
    from openai import APIError

ToolFormat = Literal["auto", "native", "hermes"]

_REFUSED = {400, 404, 415, 422, 501}
_TEMPORARY = {200, 408, 409, 425, 429}  # 200: a page, of what stands between
_OVERFLOW = re.compile(
    r"context[ _-](?:length|size|window|limit)|(?:prompt|input) is too long|maximum (?:model|prompt|input) length|max_model_len"
    r"|too many (?:input )?tokens|input token count|number of (?:input )?tokens|`?inputs`? tokens|range of input length"
    r"|reduce the length|longer than the (?:maximum|model)|exceeds? the (?:maximum|model's|token)|request entity too large"
)
_OVERFLOW_CODES = {"context_length_exceeded", "string_above_max_length", "request_too_large"}
_LIMITS = ("max_tokens", "max_completion_tokens")
_OPTIONAL = ("top_p", "temperature", "seed", "stream_options", "tool_choice")
_TAGS = re.compile(r"<(style|script)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_NO_NULL = re.compile(
    r"nonetype|no attribute 'content'|content.*?(?:valid string|a string|null|none)|(?:null|none) .*?content", re.DOTALL
)


@dataclass(eq=False)
class Refusal(Exception):
    """An error that a server sent: HTTP status, message in one line, its code, the param that it names, seconds to wait.

    ``whole`` is the message uncut, which may repeat the conversation.
    """

    status: int
    message: str
    code: str = ""
    param: str = ""
    wait: float | None = None
    whole: str = ""

    def __str__(self) -> str:
        return f"HTTP {self.status}: {self.message}"

    @property
    def overflow(self) -> bool:
        """Whether the conversation is too long for the model."""
        if self.status in _TEMPORARY:
            return False
        return self.status == 413 or self.code in _OVERFLOW_CODES or bool(_OVERFLOW.search(self.message.lower()))

    @property
    def temporary(self) -> bool:
        """Whether the same request may succeed later. A used-up quota is a 429 that waiting does not fix."""
        return self.code != "insufficient_quota" and not self.invalid and (self.status in _TEMPORARY or self.status >= 500)

    @property
    def invalid(self) -> bool:
        """Whether the request is at fault, and not the server."""
        return self.status in _REFUSED

    def names(self, word: str) -> bool:
        """Whether the message or the param is about ``word``."""
        return self.param == word or re.search(rf"(?<!\w){re.escape(word)}(?!\w)", self.message.lower()) is not None


def refusal_of(error: APIError) -> Refusal:
    """The refusal in an exception of the client, whose body may have any form."""
    refusal = refusal_in(error.body or error.message, getattr(error, "status_code", None))
    if response := getattr(error, "response", None):
        refusal.wait = retry_after(response.headers.get("retry-after", ""))
    return refusal


def refusal_in(body: Any, status: int | None = None) -> Refusal:
    """The refusal in an error's body. Without an HTTP status (200 with an error inside) the code may be one; else it is 502."""
    row = body[0] if isinstance(body, list) and body else body
    for name in ("error", "detail"):
        if isinstance(row, dict) and row.get(name):
            row = row[name]
    fields: Mapping[str, Any] = row if isinstance(row, dict) else {}
    message, code, param = (fields.get(name) or "" for name in ("message", "code", "param"))
    if status is None or status == 200:
        status = int(code) if str(code).isdigit() and 400 <= int(code) < 600 else 502
    whole = plain(str(message or row))
    return Refusal(status, whole[:300], str(code), str(param), whole=whole)


def plain(text: str) -> str:
    """Text, or that of a web page, as one line."""
    return " ".join((_TAGS.sub(" ", text) if text.lstrip().startswith("<") else text).split())


@dataclass
class Dialect:
    """What a server takes. ``tool_format`` is the one asked for; the other fields follow from what the server refused.

    ``shows`` is whether it puts tools into the model's prompt, None as long as nobody knows.
    """

    tool_format: ToolFormat = "auto"
    tools: bool = True
    without: set[str] = field(default_factory=set)
    limit: str = _LIMITS[0]
    most_tokens: int | None = None
    streams: bool = False
    system: bool = True
    nulls: bool = True
    shows: bool | None = None

    def request(self, messages: Sequence[Message], tools: list[dict[str, Any]], sampling: Sampling) -> dict[str, Any]:
        """The arguments of a request."""
        hermes = tools if self.tool_format == "hermes" or not self.tools else []
        options: dict[str, Any] = {
            "messages": chat_messages(messages, hermes, system=self.system, nulls=self.nulls),
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
            self.limit: min(sampling.max_new_tokens, self.most_tokens or sampling.max_new_tokens),
            "tools": tools if tools and not hermes else None,
            "tool_choice": "auto" if tools and not hermes else None,  # the default, which llama-cpp-python 0.3.36 has to be told
            "stream": True if self.streams else None,
            "stream_options": {"include_usage": True} if self.streams else None,
        }
        return {name: value for name, value in options.items() if name not in self.without and value is not None}

    def learn(self, refusal: Refusal, sent: Mapping[str, Any]) -> None:
        """Note what ``refusal`` says about the request ``sent``; a refusal that says nothing changes nothing."""
        if refusal.overflow:
            return
        null_sent = any(row["content"] is None for row in sent["messages"])
        if null_sent and refusal.status in {*_REFUSED, 500} and _NO_NULL.search(refusal.whole.lower()):
            self.nulls = False  # some servers fail on a null, as content may be
            return
        if not refusal.invalid:
            return
        optional = [name for name in _OPTIONAL if name in sent and refusal.names(name)]
        if optional:
            self.without |= {optional[0]} if {"top_p", "temperature"} <= set(optional) else set(optional)
        elif self.limit in sent and refusal.names(self.limit):
            self._limit(refusal, sent[self.limit])
        elif refusal.names("system") and any(row["role"] == "system" for row in sent["messages"]):
            self.system = False
        elif refusal.names("stream"):
            self.streams = True
        elif "tools" in sent and self.tool_format == "auto" and re.search(r"\btools?\b|function", refusal.message.lower()):
            self.tools = any(row["role"] == "assistant" for row in sent["messages"])  # an episode keeps its form

    def _limit(self, refusal: Refusal, sent: int) -> None:
        allowed = [number for number in map(int, re.findall(r"\d+", refusal.message)) if number < sent]
        if allowed and not refusal.names(_LIMITS[1]):
            self.most_tokens = max(allowed)
        elif self.limit == _LIMITS[0]:
            self.limit = _LIMITS[1]
        else:
            self.without.add(self.limit)

    def changes(self) -> list[str]:
        """What requests have or lack because of refusals, in words."""
        return [
            *(["tools in the system prompt"] if not self.tools else []),
            *(["system prompt in the first message"] if not self.system else []),
            *(["empty text beside calls"] if not self.nulls else []),
            *([f"{self.limit} for max_tokens"] if self.limit != _LIMITS[0] else []),
            *([f"at most {self.most_tokens} tokens a message"] if self.most_tokens else []),
            *(["streamed"] if self.streams else []),
            *(f"without {name}" for name in sorted(self.without - {"stream_options", "tool_choice"})),
        ]
