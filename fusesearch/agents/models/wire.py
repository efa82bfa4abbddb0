"""Messages in the form of OpenAI's chat API, with native tool calls or Hermes text, and what servers write instead."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

from fusesearch.agents.models.base import Message
from fusesearch.agents.parsing import call_of, format_calls
from fusesearch.agents.prompts import render_hermes_tools
from fusesearch.core.schema import ToolCall
from fusesearch.core.text import encodable


def chat_messages(
    messages: Sequence[Message],
    hermes_tools: list[dict[str, Any]],
    *,
    system: bool = True,
    nulls: bool = True,
) -> list[dict[str, Any]]:
    """``messages`` in the API's form.

    With ``hermes_tools`` the schemas go into the system prompt and the observations of a turn into one user message of
    ``<tool_response>`` blocks, as in Qwen's chat template, so that the server needs no support for tools. Without ``system``
    the system prompt opens the first user message. Fields that the server sent beside a message go back to it.
    Of calls without text the content is null, or with ``nulls`` False empty.
    """
    rows = _hermes(messages, hermes_tools) if hermes_tools else [_native(message, nulls) for message in messages]
    if not system and len(rows) > 1 and rows[0]["role"] == "system":
        first = rows.pop(0)["content"]
        rows[0] = {**rows[0], "content": f"{first}\n\n{rows[0]['content']}"}
    return rows


def _native(message: Message, nulls: bool) -> dict[str, Any]:
    row: dict[str, Any] = {**message.extra, "role": message.role, "content": message.content}
    if message.tool_calls:
        row["tool_calls"] = [{**call.extra, **_call(call)} for call in message.tool_calls]
        row["content"] = message.content or (None if nulls else "")
    if message.tool_call_id is not None:
        row["tool_call_id"] = message.tool_call_id
    return row


def _call(call: ToolCall) -> dict[str, Any]:
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", call.name)[:64]  # servers refuse other names, which a model may have made up
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": name or "unreadable", "arguments": arguments}}


def _hermes(messages: Sequence[Message], tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
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


def text_of(content: Any) -> str:
    """The text of a message, which may be a list of parts."""
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else getattr(part, "text", part) for part in parts]
    return encodable("".join(text for text in texts if isinstance(text, str)))


def extra_of(row: Any) -> dict[str, Any]:
    """What a server sent beside the fields of the API: reasoning, signatures of thoughts."""
    return {name: value for name, value in (getattr(row, "model_extra", None) or {}).items() if value}


def native_calls(tool_calls: Any, known: Collection[str]) -> list[ToolCall]:
    """Calls that a server parsed. An id that is ``known`` from the history, or doubled, is left out: the loop makes one.

    What a server leaves of a channel's marks around a name goes (``functions.grep``, ``grep<|channel|>``), and objects of
    arguments that stand one after another are several calls.
    """
    calls: list[ToolCall] = []
    seen = set(known)
    for row in tool_calls or []:
        function = getattr(row, "function", None)
        name, arguments = getattr(function, "name", None), getattr(function, "arguments", None)
        if isinstance(name, str):
            name = name.removeprefix("functions.").partition("<|")[0]
        for number, given in enumerate(_objects(arguments)):
            identity = str(getattr(row, "id", None) or "") if not number else ""
            call = call_of("" if identity in seen else identity, name, given)
            seen.add(identity)
            calls.append(call.model_copy(update={"extra": {} if number else extra_of(row)}))
    return calls


def _objects(arguments: Any) -> list[Any]:
    """The JSON objects of a text one by one if it is several; otherwise the arguments as they are."""
    if not isinstance(arguments, str):
        return [arguments]
    found: list[Any] = []
    position, decoder = 0, json.JSONDecoder()
    try:
        while rest := arguments[position:].lstrip():
            value, length = decoder.raw_decode(rest)
            found.append(value)
            position = len(arguments) - len(rest) + length
    except (ValueError, RecursionError):
        return [arguments]
    return found if len(found) > 1 and all(isinstance(value, dict) for value in found) else [arguments]
