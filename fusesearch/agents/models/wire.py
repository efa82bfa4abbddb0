"""Messages in the form of OpenAI's chat API, with native tool calls or Hermes text."""

from __future__ import annotations

import json
from typing import Any

from fusesearch.agents.models.base import Message
from fusesearch.agents.parsing import format_calls
from fusesearch.agents.prompts import render_hermes_tools
from fusesearch.core.schema import ToolCall


def chat_messages(messages: list[Message], hermes_tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """``messages`` in the API's form.

    With ``hermes_tools`` the schemas go into the system prompt and the observations of a turn into one user message of
    ``<tool_response>`` blocks, as in Qwen's chat template, so that the server needs no support for tools.
    """
    return _hermes(messages, hermes_tools) if hermes_tools else [_native(message) for message in messages]


def _native(message: Message) -> dict[str, Any]:
    row: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        row["tool_calls"] = [_call(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        row["tool_call_id"] = message.tool_call_id
    return row


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": call.name or "unreadable", "arguments": arguments}}


def _hermes(messages: list[Message], tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    previous = None
    for message in messages:
        content = message.content
        if message.role == "system":
            content = f"{content}\n\n{render_hermes_tools(tools)}"
        if message.tool_calls:
            content = f"{content}\n{format_calls((call.name, call.arguments) for call in message.tool_calls)}".lstrip()
        if message.role != "tool":
            rows.append({"role": message.role, "content": content})
        elif previous == "tool":
            rows[-1]["content"] += "\n" + _response(content)
        else:
            rows.append({"role": "user", "content": _response(content)})
        previous = message.role
    return rows


def _response(content: str) -> str:
    return f"<tool_response>\n{content}\n</tool_response>"
