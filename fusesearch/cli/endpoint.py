"""What an endpoint can do, found out by a handful of small requests: ``fusesearch doctor --endpoint``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from fusesearch.agents.conversation import assistant_message
from fusesearch.agents.loop import read_reply
from fusesearch.agents.models.base import Completion, Message, Sampling
from fusesearch.agents.models.openai_compatible import REASONING, OpenAICompatibleModel
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
_LENGTHS = ("max_model_len", "context_length", "context_window", "max_context_length", "max_input_tokens", "n_ctx")


async def endpoint_checks(model: OpenAICompatibleModel) -> AsyncIterator[Check]:
    """The checks of ``model``'s endpoint, seven to nine requests of at most 400 tokens. One that does not answer is the last."""
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
    yield await _seeds(model)
    yield await _context(model)
    yield await _token_ids(model)


def _tool_calls(model: OpenAICompatibleModel, reply: Completion, made: int) -> Check:
    deaf = "the server leaves tools out of the model's prompt, so they stand in the system prompt: "
    about = deaf if model.dialect.shows is False else ""
    if not made:
        said = f"none read; finish reason {reply.finish_reason}, {len(reply.text)} characters"
        return Check(
            "tool calls", False, f"{about}{said}: {' '.join(reply.text.split())[:80]!r}", _no_calls(model, reply), core=True
        )
    form = "parsed by the server (native)" if reply.calls is not None and model.dialect.tools else "read from the text"
    hint = "" if made > 1 else "searches take a turn for each call"
    return Check("tool calls", made > 1, f"{about}{form}, {made} in one message", hint)


def _no_calls(model: OpenAICompatibleModel, reply: Completion) -> str:
    thinks = reply.text.lstrip().startswith("<think>") or any(reply.extra.get(name) for name in REASONING)
    if reply.finish_reason == "length" and thinks:
        return "the model thinks for more than 400 tokens: switch thinking off, or allow more with --max-new-tokens"
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


async def _seeds(model: OpenAICompatibleModel) -> Check:
    ask = [Message(role="user", content="Write ten random words.")]
    try:
        texts = [
            (await model.complete(ask, [], Sampling(temperature=1.0, max_new_tokens=40, seed=seed))).text for seed in (7, 7, 8)
        ]
    except ModelUnavailable as error:
        return Check("seeds", False, str(error))
    if "seed" in model.dialect.without:
        return Check("seeds", False, "refused", "runs cannot be repeated: report several")
    same, other = texts[0] == texts[1], texts[0] == texts[2]
    if same and other:
        hint = "runs do not differ: one is enough, or make it sample (transformers serve: do_sample in generation_config.json)"
        return Check("seeds", False, "different seeds give equal texts at temperature 1: nothing is sampled", hint)
    detail = "equal seeds give equal texts" if same else "equal seeds give different texts"
    return Check("seeds", same, detail, "runs cannot be repeated: report several")


async def _context(model: OpenAICompatibleModel) -> Check:
    try:
        rows = (await model.client().models.list()).data
        named = [row for row in rows if row.id == model.name] or (rows if len(rows) == 1 else [])  # servers of one take any name
        facts: dict[str, Any] = named[0].model_extra or {} if named else {}
    except Exception:  # each server has its own way to have no such list
        facts = {}
    facts = {**facts, **(facts["meta"] if isinstance(facts.get("meta"), dict) else {})}  # llama.cpp
    tokens = next((facts[name] for name in _LENGTHS if isinstance(facts.get(name), int)), None)
    if tokens is None:
        hint = "set agent.max_context_tokens to what the server was started with (llama-cpp-python: --n_ctx, Ollama: num_ctx)"
        return Check("context", False, "not said", f"{hint}, or to what the model's maker says")
    return Check("context", True, f"{tokens:,} tokens: agent.max_context_tokens can be as many")


async def _token_ids(model: OpenAICompatibleModel) -> Check:
    """Whether rollouts can be trained on: sampled ids and log-probabilities, as vLLM gives them."""
    try:
        made = await model.client().completions.create(
            model=model.name, prompt="def f():", max_tokens=4, logprobs=1, extra_body={"return_token_ids": True}
        )
        choice: Any = made.choices[0]
        ids, logprobs = getattr(choice, "token_ids", None), choice.logprobs and choice.logprobs.token_logprobs
        rows = getattr(choice.logprobs, "content", None) or []
    except Exception:  # no completions API, no log-probabilities, or no list of choices
        ids, logprobs, rows = None, None, []
    both = bool(ids) and bool(logprobs)
    own = {name for row in rows for name in ("id", "logprob") if isinstance(row, dict) and name in row}  # llama.cpp
    seen = [ids or "id" in own, logprobs or "logprob" in own]
    detail = "token ids {}, log-probabilities {}".format(*("yes" if one else "no" for one in seen))
    detail += ", in another form than vLLM's" if all(seen) and not both else ""
    return Check("token ids", both, detail, "its episodes can be evaluated and teach, but not be trained on by GRPO (vLLM's can)")
