"""Forms of replies and refusals that servers of OpenAI's API really send: each leads to the right outcome."""

import json

import pytest

from fusesearch.agents.loop import read_reply, run_episode
from fusesearch.agents.models.base import Message, Sampling
from fusesearch.agents.models.dialect import Refusal, refusal_in
from fusesearch.agents.models.openai_compatible import OpenAICompatibleModel
from fusesearch.core.config import Agent, Tools
from fusesearch.core.errors import ModelUnavailable
from fusesearch.core.schema import Instance, ToolCall
from fusesearch.localizers.episodes import make_episode
from fusesearch.search.repository import Repository
from tests.fakes.chat_server import CHAT, SAMPLING, TOOLS, ask, completion, ok, refusal

HERMES = '<tool_call>\n{"name": "grep", "arguments": {"pattern": "x"}}\n</tool_call>'
ANSWER = "## Locations to Modify\n- /repo/a.py::f\n"


def call(identity="c1", name="grep", arguments='{"pattern": "x"}', **extra):
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}, **extra}


OVERFLOWS = [
    (400, "prompt is too long: 212312 tokens > 200000 maximum", None),
    (400, "input length and `max_tokens` exceed context limit: 198000 + 2048 > 200000", None),
    (400, "The input token count (1048677) exceeds the maximum number of tokens allowed (1048576).", None),
    (422, "`inputs` tokens + `max_new_tokens` must be <= 4096", None),
    (413, "Payload refused", None),
    (400, "This model's maximum context length is 8192 tokens.", None),
    (400, "the request exceeds the available context size, try increasing it", None),
    (500, "the request exceeds the available context size, try increasing it", None),
    (400, "Range of input length should be [1, 98304]", None),
    (400, "anything", "context_length_exceeded"),
]


@pytest.mark.parametrize(("status", "message", "code"), OVERFLOWS)
async def test_a_conversation_that_does_not_fit_is_a_limit_of_the_model(chat_server, status, message, code):
    endpoint = chat_server(refusal(status, message, code=code))
    reply = await ask(endpoint)
    assert (reply.finish_reason, reply.text, len(endpoint.requests)) == ("context", "", 1)


@pytest.mark.parametrize(
    ("status", "message"),
    [(400, "no"), (400, "Invalid token in header"), (429, "Too many tokens per minute"), (401, "token expired"), (500, "busy")],
)
async def test_other_refusals_are_failures(chat_server, status, message):
    with pytest.raises(ModelUnavailable, match=f"HTTP {status}"):
        await ask(chat_server(refusal(status, message)))


def refuses(test, message, **error):
    return lambda sent: refusal(400, message, **error) if test(sent) else ok()


PARAMS = [
    (refuses(lambda sent: "max_tokens" in sent, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        {"max_completion_tokens": 8192, "temperature": 0.5, "seed": 3}, ["max_completion_tokens for max_tokens"]),
    (refuses(lambda sent: sent.get("temperature", 1) != 1, "Only the default (1) value is supported.", param="temperature"),
        {"top_p": 0.9, "max_tokens": 8192}, ["without temperature"]),
    (refuses(lambda sent: {"temperature", "top_p"} <= set(sent), "`temperature` and `top_p` cannot both be specified"),
        {"temperature": 0.5}, ["without top_p"]),
    (refuses(lambda sent: "seed" in sent, "Unknown name seed"), {"temperature": 0.5, "top_p": 0.9}, ["without seed"]),
    (refuses(lambda sent: sent["max_tokens"] > 4096, "max_tokens: 8192 > 4096, the most that this model writes"),
        {"max_tokens": 4096}, ["at most 4096 tokens a message"]),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "sent", "changes"), PARAMS)
async def test_a_param_that_a_server_refuses_is_left_out_from_then_on(chat_server, reply, sent, changes):
    endpoint = chat_server(reply)
    assert (await ask(endpoint, times=3)).changes == changes
    last = endpoint.requests[-1]
    assert len(endpoint.requests) == 4
    assert {name: last.get(name) for name in sent} == sent
    assert {"temperature", "top_p", "seed"} - set(last) == {
        name.removeprefix("without ") for name in changes if "without" in name
    }


async def test_a_server_without_system_role_and_tools_gets_both_in_the_first_message(chat_server):
    def plain(sent):
        if "tools" in sent:
            return refusal(400, '"auto" tool choice requires --enable-auto-tool-choice')
        if any(row["role"] == "system" for row in sent["messages"]):
            return refusal(400, "System role not supported")
        return ok()

    endpoint = chat_server(plain)
    reply = await ask(endpoint)
    (row,) = endpoint.requests[-1]["messages"]
    assert (row["role"], row["content"].startswith("Locate."), row["content"].endswith("It breaks.")) == ("user", True, True)
    assert reply.changes == ["tools in the system prompt", "system prompt in the first message"]


async def test_a_choice_of_tools_is_said_until_a_server_refuses_it(chat_server):
    """llama-cpp-python shows no tools without it, `transformers serve` refuses it."""
    endpoint = chat_server(
        lambda sent: refusal(422, "Unsupported fields in the request: {'tool_choice'}") if "tool_choice" in sent else ok()
    )
    reply = await ask(endpoint, times=2)
    assert [row.get("tool_choice") for row in endpoint.requests] == ["auto", None, None]
    assert all("tools" in row for row in endpoint.requests)
    assert reply.changes == []
    await ask(endpoint := chat_server(ok()), tools=[])
    assert "tool_choice" not in endpoint.requests[0]


def counted(content, tokens, **options):
    status, headers, body = ok(content, **options)
    usage = {"prompt_tokens": tokens, "completion_tokens": 3, "total_tokens": tokens + 3}
    return status, headers, {**body, "usage": usage}


async def first_turns(endpoint, times=1):
    model = OpenAICompatibleModel("m", endpoint.url, retries=0)
    try:
        return [await model.complete(CHAT, TOOLS, SAMPLING) for _ in range(times)]
    finally:
        await model.close()


def in_the_prompt(row):
    return "<tools>" in row["messages"][0]["content"]


async def test_a_server_that_leaves_tools_out_of_the_prompt_gets_them_in_the_system_prompt(chat_server):
    """llama.cpp and others where the chat template shows no tools: nothing is refused, and the model never hears of them."""

    def deaf(sent):
        return counted(HERMES if in_the_prompt(sent) else "What is grep?", 200 if in_the_prompt(sent) else 26)

    endpoint = chat_server(deaf)
    first, second = await first_turns(endpoint, times=2)
    assert first.text == second.text == HERMES
    assert first.changes == second.changes == ["tools in the system prompt"]
    assert [("tools" in row, in_the_prompt(row)) for row in endpoint.requests] == [
        (True, False), (False, False), (False, True), (False, True),
    ]  # fmt: skip
    assert endpoint.requests[1]["max_tokens"] < 32


@pytest.mark.parametrize(
    ("replies", "requests"),
    [
        (lambda sent: counted("No call.", 90 if "tools" in sent else 26), 3),  # it shows them: looked up once
        (lambda sent: ok("No call."), 4),  # all prompts have one length: it does not count
        (lambda sent: ok("No call.") if "tools" in sent else refusal(400, "max_tokens must be 20 or more"), 3),
        (lambda sent: ok(None, tool_calls=[call()]), 2),
        (lambda sent: ok(HERMES), 2),
    ],
)
async def test_a_server_that_shows_tools_for_all_that_we_know_keeps_them(chat_server, replies, requests):
    endpoint = chat_server(replies)
    found = await first_turns(endpoint, times=2)
    assert [row.changes for row in found] == [[], []]
    assert found[0].text == found[1].text
    assert len(endpoint.requests) == requests
    assert "tools" in endpoint.requests[-1]


async def test_tools_in_the_form_that_was_asked_for_stay_in_it(chat_server):
    endpoint = chat_server(counted("No call.", 26))
    model = OpenAICompatibleModel("m", endpoint.url, tool_format="native")
    await model.complete(CHAT, TOOLS, SAMPLING)
    await model.close()
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("asked", [True, False])
async def test_a_server_that_only_streams_is_read_from_its_stream(chat_server, asked):
    chunks = [
        {"role": "assistant", "content": "look "},
        {"content": "here", "tool_calls": [{"index": 0, **call(arguments='{"pattern"')}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": ': "x"}'}}]},
    ]
    events = [chunk(delta) for delta in chunks] + [chunk({}, "tool_calls")]
    text = "".join(f"data: {json.dumps(row)}\n\n" for row in events)
    stream = (200, {"Content-Type": "text/event-stream"}, f"{text}data: [DONE]\n\n")
    refused = refusal(400, "This model only supports stream mode, please enable the stream parameter.")
    reply = await ask(chat_server(lambda sent: stream if sent.get("stream") or not asked else refused))
    assert (reply.text, reply.calls) == ("look here", [ToolCall(id="c1", name="grep", arguments={"pattern": "x"})])
    assert (reply.finish_reason, reply.changes) == ("tool_calls", ["streamed"])


def chunk(delta, finish=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


async def test_what_a_server_sends_beside_message_and_calls_goes_back_to_it(chat_server):
    endpoint = chat_server(
        ok(None, tool_calls=[call(extra_content={"signature": "QUJD"})], reasoning_content="I should grep."), ok()
    )
    reply = await ask(endpoint)
    chat = [*CHAT, Message(role="assistant", content="", tool_calls=reply.calls, extra=reply.extra)]
    await ask(endpoint, [*chat, Message(role="tool", content="hit", tool_call_id="c1")])
    back = endpoint.requests[-1]["messages"][2]
    assert (back["reasoning_content"], back["content"]) == ("I should grep.", None)
    assert back["tool_calls"][0]["extra_content"] == {"signature": "QUJD"}


NULLS = [
    (  # llama-cpp-python 0.3.36, whose status is 500; what it refuses stands after 300 characters
        500,
        "7 validation errors:\n  {'type': 'literal_error', 'loc': ('body', 'messages', 2, 'SystemMessage', 'role'), 'msg': "
        "\"Input should be 'system'\", 'input': 'assistant', 'ctx': {'expected': \"'system'\"}}\n  {'type': 'literal_error', "
        "'loc': ('body', 'messages', 2, 'UserMessage', 'role'), 'msg': \"Input should be 'user'\", 'input': 'assistant'}\n  "
        "{'type': 'string_type', 'loc': ('body', 'messages', 2, 'AssistantMessage', 'content'), 'msg': 'Input should be a valid "
        "string', 'input': None}",
    ),
    (400, "Invalid value for 'content': expected a string, got null."),
    (422, "Failed to deserialize the JSON body: messages[2].content: invalid type: null, expected a string"),
    (400, 'can only concatenate str (not "NoneType") to str'),
    (500, "litellm.InternalServerError: OpenAIException - 'dict object' has no attribute 'content'"),
]


@pytest.mark.parametrize(("status", "message"), NULLS)
async def test_a_server_that_wants_text_beside_calls_gets_an_empty_one(chat_server, status, message):
    def strict(sent):
        return refusal(status, message) if any(row["content"] is None for row in sent["messages"]) else ok()

    endpoint = chat_server(strict)
    called = Message(role="assistant", content="", tool_calls=[ToolCall(id="c1", name="grep")])
    reply = await ask(endpoint, [*CHAT, called, Message(role="tool", content="hit", tool_call_id="c1")], times=2)
    assert [row["messages"][2]["content"] for row in endpoint.requests] == [None, "", ""]
    assert (reply.text, reply.changes) == ("fine", ["empty text beside calls"])


async def test_an_error_about_null_without_a_null_in_the_request_is_a_refusal(chat_server):
    endpoint = chat_server(refusal(400, NULLS[1][1]))
    with pytest.raises(ModelUnavailable, match="expected a string"):
        await ask(endpoint)
    assert len(endpoint.requests) == 1


async def test_a_failure_of_the_server_s_own_is_asked_again_whatever_it_says(chat_server):
    endpoint = chat_server(refusal(500, "'NoneType' object has no attribute 'put'"), ok())
    assert (await ask(endpoint)).text == "fine"
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}, {"type": "image"}]}, "one two"),
        ({"content": None, "reasoning_content": ANSWER}, ANSWER),
        ({"content": "", "reasoning": ANSWER}, ANSWER),
        ({"content": "said", "reasoning": ANSWER}, "said"),
        ({"content": None}, ""),
    ],
)
async def test_the_text_of_a_message(chat_server, message, text):
    assert (await ask(chat_server(ok(**message)))).text == text


async def test_calls_as_servers_garble_them(chat_server):
    calls = [
        call("a", "functions.grep"), call("a", "grep<|channel|>commentary"),
        call("", arguments='{"pattern": "x"} {"pattern": "y"}'), call("d", arguments='{"pattern": "x"}{'),
        {"id": "e", "type": "function", "function": {"name": "grep", "arguments": {"pattern": "z"}}},
    ]  # fmt: skip
    before = Message(role="assistant", content="", tool_calls=[ToolCall(id="e", name="glob")])
    reply = await ask(chat_server(ok(None, tool_calls=calls)), [*CHAT, before])
    assert [(row.id, row.name, row.arguments.get("pattern")) for row in reply.calls] == [
        ("a", "grep", "x"), ("", "grep", "x"), ("", "grep", "x"), ("", "grep", "y"), ("d", "grep", None), ("", "grep", "z"),
    ]  # fmt: skip
    assert [bool(row.error) for row in reply.calls] == [False, False, False, False, True, False]


async def test_a_name_that_servers_refuse_goes_back_in_another_form(chat_server):
    endpoint = chat_server(ok())
    await ask(endpoint, [*CHAT, Message(role="assistant", content="", tool_calls=[ToolCall(id="c", name="my tool/é")])])
    assert endpoint.requests[-1]["messages"][-1]["tool_calls"][0]["function"]["name"] == "my_tool__"


async def test_calls_of_the_old_api_are_calls_and_those_in_the_text_have_arguments_of_the_schemas_types(chat_server):
    old = await ask(chat_server(ok(None, function_call={"name": "grep", "arguments": '{"pattern": "12"}'})))
    assert old.calls == [ToolCall(id="", name="grep", arguments={"pattern": "12"})]
    arguments = "<parameter=pattern>\n12\n</parameter>\n<parameter=limit>\n3\n</parameter>"
    reply = await ask(chat_server(ok(f"I look.\n<tool_call>\n<function=grep>\n{arguments}\n</function>\n</tool_call>")))
    text, calls = read_reply(reply, 1, TOOLS)
    assert text == "I look."
    assert calls == [ToolCall(id="call_1_0", name="grep", arguments={"pattern": "12", "limit": 3})]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [({"message": "maximum context length is 8192 tokens", "code": 400}, "context"), ({"message": "busy", "code": 429}, None)],
)
async def test_an_error_in_a_reply_of_status_200_is_an_error(chat_server, error, outcome):
    endpoint = chat_server((200, {}, {"error": error}))
    if outcome:
        assert (await ask(endpoint)).finish_reason == outcome
    else:
        with pytest.raises(ModelUnavailable, match="HTTP 429: busy"):
            await ask(endpoint)


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ({"error": {"message": "a\nb", "code": "c", "param": "p"}}, ("a b", "c", "p")), ({"detail": "a"}, ("a", "", "")),
        ([{"error": {"message": "a", "code": 400}}], ("a", "400", "")), ("text", ("text", "", "")),
        ({"object": "error", "message": "a"}, ("a", "", "")), (None, ("None", "", "")),
    ],
)  # fmt: skip
def test_bodies_of_errors(body, read):
    found = refusal_in(body, 400)
    assert (found.message, found.code, found.param) == read
    assert isinstance(found, Refusal)


async def searched(tmp_path, endpoint):
    """An episode whose model the endpoint is."""
    (tmp_path / "a.py").write_text("def f():\n    return 1\n")
    model = OpenAICompatibleModel("m", endpoint.url)
    instance = Instance(instance_id="i", repo="o/n", base_commit="c", problem_statement="`f` is wrong")
    done = await run_episode(make_episode(instance, Repository(tmp_path), model, Agent(), Tools(), Sampling(), localizer="x"))
    await model.close()
    return done


@pytest.mark.parametrize(
    ("finish", "content", "stop"),
    [
        ("length", "I think", "length"),
        ("content_filter", None, "filter"),
        ("length", ANSWER, "answer"),
        ("stop", "", "no_answer"),
    ],
)
async def test_a_cut_message_is_a_stop_of_its_own(chat_server, tmp_path, finish, content, stop):
    done = await searched(tmp_path, chat_server((200, {}, completion(content, finish=finish))))
    assert (done.stop, done.error) == (stop, None)
