"""What an endpoint can do, found out by a handful of small requests: ``fusesearch doctor --endpoint``."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

from fusesearch.agents.conversation import assistant_message
from fusesearch.agents.loop import read_reply
from fusesearch.agents.models.base import Completion, Message, Sampling
from fusesearch.agents.models.openai_compatible import OpenAICompatibleModel
from fusesearch.agents.models.retries import SLOW
from fusesearch.cli.checks import Check
from fusesearch.core.errors import ModelUnavailable
from fusesearch.core.schema import Turn
from fusesearch.search.tool import function_schema

TOOL = function_schema("grep", "Search files for a regular expression.", {"pattern": {"type": "string"}}, ["pattern"])
OPENING = [
    Message(role="system", content="You search a repository. Make several tool calls in one message."),
    Message(role="user", content="Call grep twice in this message: once for `alpha`, once for `beta`. Say nothing else."),
]


async def tried(endpoint: str, name: str) -> list[Check]:
    """The checks of an endpoint, two to four requests of at most 400 tokens. One that does not answer is the last."""
    model = OpenAICompatibleModel(name, endpoint, os.environ.get("OPENAI_API_KEY"), retries=2, timeout_seconds=120)
    try:
        return [check async for check in _checks(model)]
    finally:
        await model.close()


async def _checks(model: OpenAICompatibleModel) -> AsyncIterator[Check]:
    try:
        first = await model.complete(OPENING, [TOOL], Sampling(max_new_tokens=400, top_p=0.95, seed=1))
        yield Check("endpoint", True, f"{model.base_url} answers as {model.name}")
        text, calls = read_reply(first, 1, [TOOL])
        calls = [call for call in calls if not call.error]
        yield _tool_calls(model, first, len(calls))
        if calls:
            yield await _second_turn(model, Turn(text=text, calls=calls, extra=first.extra))
    except ModelUnavailable as error:
        hint = "" if SLOW in str(error) else "check the address, --model and the key"
        yield Check("endpoint", False, str(error), hint, core=True)
        return
    refused = [change for change in model.dialect.changes() if change != "tools in the system prompt"]
    detail = ", ".join(refused) or "temperature, top_p, seed and max_tokens are taken"
    yield Check("params", True, f"{detail}{': requests adapt by themselves, and trajectories say so' if refused else ''}")


def _tool_calls(model: OpenAICompatibleModel, reply: Completion, made: int) -> Check:
    about = "the server leaves tools out of the model's prompt, so they stand in the system prompt: "
    about = about if model.dialect.shows is False else ""
    if not made:
        said = f"{about}none read; finish reason {reply.finish_reason}, {len(reply.text)} characters"
        return Check("tool calls", False, f"{said}: {' '.join(reply.text.split())[:80]!r}", _no_calls(model, reply), core=True)
    form = "parsed by the server (native)" if reply.calls is not None and model.dialect.tools else "read from the text"
    hint = "" if made > 1 else "searches take a turn for each call"
    return Check("tool calls", made > 1, f"{about}{form}, {made} in one message", hint)


def _no_calls(model: OpenAICompatibleModel, reply: Completion) -> str:
    if model.dialect.shows is False:
        return (
            "start the server with a chat template that shows tools (llama.cpp: --jinja --chat-template-file FILE; "
            "llama-cpp-python: --chat_format chatml-function-calling), or take another model"
        )
    if reply.finish_reason == "length":
        return (
            "the model wrote 400 tokens and no call: if it thinks, switch that off or allow more with --max-new-tokens, "
            "otherwise take another model, or a localizer without tools such as agentless"
        )
    return "tell the server to parse calls (vLLM: --enable-auto-tool-choice --tool-call-parser NAME), or take another model"


async def _second_turn(model: OpenAICompatibleModel, first: Turn) -> Check:
    chat = [*OPENING, assistant_message(first)]
    chat += [Message(role="tool", content="no matches", tool_call_id=call.id) for call in first.calls]
    back = ", ".join(sorted({*first.extra, *(name for call in first.calls for name in call.extra)} - model.dialect.without))
    try:
        await model.complete(chat, [TOOL], Sampling(max_new_tokens=60, top_p=0.95, seed=1))
    except ModelUnavailable as error:
        return Check("second turn", False, str(error), "the server refuses results of calls: try --tool-format hermes", core=True)
    return Check("second turn", True, f"results of calls are taken{f', with {back} sent back' if back else ''}")
