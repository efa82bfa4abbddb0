"""The OpenAI-compatible model against a real HTTP server: what is sent, what is read, what is tried again."""

import asyncio
import json
import time

import pytest

from fusesearch.agents.models import retries
from fusesearch.agents.models.base import Message
from fusesearch.agents.models.openai_compatible import OpenAICompatibleModel
from fusesearch.core.errors import ConfigError, EndpointDown, ModelUnavailable
from fusesearch.core.schema import ToolCall
from tests.fakes.chat_server import CHAT, SAMPLING, TOOLS, ask, completion, ok, refusal


async def test_request_carries_sampling_tools_and_messages_but_no_key_of_the_environment(chat_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "private")
    server = chat_server(ok())
    chat = [
        *CHAT,
        Message(role="assistant", content="", tool_calls=[ToolCall(id="c1", name="grep", arguments={"pattern": "é"})]),
        Message(role="tool", content="hit", tool_call_id="c1"),
    ]
    reply = await ask(server, chat, api_key="secret", extra_body={"top_k": 5})
    sent, headers = server.requests[0], server.headers[0]
    assert (reply.text, reply.calls, reply.finish_reason) == ("fine", None, "stop")
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (11, 7)
    assert (sent["temperature"], sent["max_tokens"], sent["seed"], sent["top_k"]) == (0.5, 8192, 3, 5)
    assert sent["tools"] == TOOLS
    assert headers["authorization"] == "Bearer secret"
    call = sent["messages"][2]["tool_calls"][0]
    assert (call["id"], json.loads(call["function"]["arguments"])) == ("c1", {"pattern": "é"})
    assert sent["messages"][3] == {"role": "tool", "content": "hit", "tool_call_id": "c1"}
    await ask(server)
    assert "private" not in json.dumps(server.headers)


async def test_temporary_failures_are_retried(chat_server):
    faults = [
        refusal(503), refusal(500), refusal(408), "drop", "cut", (200, {}, b'{"choices": [{"mess'), (200, {}, {"choices": []}),
        (200, {}, {"choices": [{"message": "hm"}]}), (200, {}, b"null"), (200, {"Content-Type": "text/html"}, b"<html>"),
    ]  # fmt: skip
    server = chat_server(*faults, ok("at last"))
    assert (await ask(server, retries=len(faults))).text == "at last"
    assert len(server.requests) == len(faults) + 1


async def test_retry_after_is_obeyed_up_to_the_limit(chat_server, monkeypatch):
    monkeypatch.setattr(retries, "MAX_WAIT_SECONDS", 0.6)
    server = chat_server(refusal(429, headers={"Retry-After": "0.4"}), refusal(429, headers={"Retry-After": "3600"}), ok())
    await ask(server)
    first, second = (b - a for a, b in zip(server.times, server.times[1:], strict=False))
    assert 0.4 <= first < 0.6
    assert 0.6 <= second < 2


async def test_permanent_failures_are_not_retried_and_retries_run_out_with_one_line_that_says_where_and_why(chat_server):
    for fault in (*(refusal(status) for status in (401, 400, 404, 403)), refusal(429, code="insufficient_quota")):
        server = chat_server(fault)
        with pytest.raises(ModelUnavailable, match=f"HTTP {fault[0]}"):
            await ask(server)
        assert len(server.requests) == 1
    server = chat_server(refusal(503, "over\nloaded"))
    with pytest.raises(ModelUnavailable) as caught:
        await ask(server)
    assert len(server.requests) == 4
    assert str(caught.value) == f"{server.url} gave nothing for m in 4 tries (HTTP 503: over loaded)"


PAGE = (200, {"Content-Type": "text/html"}, "<html><title>Log in</title><p>Welcome</html>")
NO_ROUTE = [refusal(404, "no page"), (405, {}, {"detail": "Not Allowed"}), PAGE, (200, {}, {"error": "Unexpected endpoint"})]


@pytest.mark.parametrize("missing", NO_ROUTE)
@pytest.mark.parametrize(("end", "requests"), [("", 3), ("/", 3), ("/chat/completions/", 3), ("/v1/chat/completions", 2)])
async def test_an_address_without_v1_is_completed_by_one_try_and_the_reply_says_so(chat_server, missing, end, requests):
    server = chat_server(lambda _: ok("here") if server.paths[-1] == "/v1/chat/completions" else missing)
    reply = await ask(server, url=server.address + end, times=2, retries=0)
    assert (reply.text, len(server.requests)) == ("here", requests)
    assert reply.changes == [f"asked at {server.url}, as {server.address} has no chat completions"] * (requests - 2)


@pytest.mark.parametrize(
    ("second", "said"), [(refusal(404, "no page"), "no model; with /v1: .*no page"), (refusal(401, "key"), "key")]
)
async def test_a_refusal_that_v1_does_not_mend_stays(chat_server, second, said):
    server = chat_server(refusal(404, "no model"), second)
    with pytest.raises(ModelUnavailable, match=said):
        await ask(server, url=server.address)
    assert len(server.requests) == 2


async def test_a_key_that_no_header_can_hold_is_an_error_that_does_not_show_it(chat_server):
    server = chat_server(ok())
    assert (await ask(server, api_key=" key\n")).text == "fine"
    assert server.headers[0]["authorization"] == "Bearer key"
    for key in ("k\u00e9y", "k\ney"):
        with pytest.raises(ConfigError, match="the API key for m has a character that no key has: copy it again"):
            await ask(server, api_key=key)


@pytest.mark.parametrize(
    ("variable", "value", "reply", "said"),
    [
        ("ALL_PROXY", "socks5://ann:secret@127.0.0.1:9", ok(), r"socksio.*; ALL_PROXY is socks5://127\.0\.0\.1:9\)"),
        ("HTTPS_PROXY", "socks4://127.0.0.1:9", ok(), "; HTTPS_PROXY is socks4://127"),
        ("HTTP_PROXY", "http://127.0.0.1:9", ok(), r"1 try \(ConnectError: .*; HTTP_PROXY is http://127\.0\.0\.1:9\)"),
        ("SSL_CERT_FILE", "/no/certificates", ok(), "; SSL_CERT_FILE is /no/certificates, which does not exist"),
        ("SSL_CERT_FILE", __file__, ok(), "; SSL_CERT_FILE is /"),
        ("NO_PROXY", "*", PAGE, r"1 try \(HTTP 200: a page instead of a completion, perhaps a login of the network: Log in"),
        ("NO_PROXY", "*", (307, {"Location": "/v1/chat/completions"}, {}), "1 try .*redirects"),
    ],
)
async def test_what_the_network_lacks_is_one_line(chat_server, monkeypatch, variable, value, reply, said):
    monkeypatch.setenv(variable, value)
    with pytest.raises((ModelUnavailable, ConfigError), match=said) as caught:
        await ask(chat_server(reply), retries=0 if said.startswith("1 try") and "redirects" not in said else 3)
    assert "\n" not in str(caught.value)


async def test_a_server_that_is_too_slow_is_asked_twice_and_the_error_says_what_to_do(chat_server):
    """Each further try would find it busy with the ones before, for many times the limit."""

    def late(_):
        time.sleep(0.5)
        return ok("late")

    server = chat_server(late)
    with pytest.raises(ModelUnavailable, match=r"in 2 tries \(no reply within 0.1 s: .*--max-new-tokens"):
        await ask(server, timeout_seconds=0.1)
    assert len(server.requests) == 2


async def test_a_server_that_refuses_tools_gets_them_as_hermes_text(chat_server):
    def strict(sent):
        if "tools" in sent or any(row["role"] == "tool" or "tool_calls" in row for row in sent["messages"]):
            return refusal(400, '"auto" tool choice requires --enable-auto-tool-choice')
        return ok('<tool_call>\n{"name": "grep", "arguments": {}}\n</tool_call>')

    server = chat_server(strict)
    chat = [
        *CHAT,
        Message(role="assistant", content="", tool_calls=[ToolCall(id="c1", name="grep"), ToolCall(id="c2", name="glob")]),
        Message(role="tool", content="one", tool_call_id="c1"),
        Message(role="tool", content="two", tool_call_id="c2"),
    ]
    with pytest.raises(ModelUnavailable, match="enable-auto-tool-choice"):
        await ask(server, chat)  # an episode that began with native calls keeps them
    model = OpenAICompatibleModel("m", server.url, retries=0)
    first = await model.complete(CHAT, TOOLS, SAMPLING)
    reply = await model.complete(chat, TOOLS, SAMPLING)
    await model.close()
    assert first.changes == reply.changes == ["tools in the system prompt"]
    rows = server.requests[-1]["messages"]
    assert reply.calls is None
    assert reply.text.startswith("<tool_call>")
    assert [row["role"] for row in rows] == ["system", "user", "assistant", "user"]
    assert rows[0]["content"].startswith("Locate.\n")
    assert json.dumps(TOOLS[0]["function"]) in rows[0]["content"]
    assert rows[2]["content"].count("<tool_call>") == 2
    assert rows[3]["content"] == "<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n</tool_response>"


async def test_lone_surrogates_and_missing_usage_do_no_harm(chat_server):
    body = json.dumps(completion("SURR")).replace("SURR", "\\ud800x").encode()
    assert (await ask(chat_server((200, {}, body)))).text == "?x"
    without = completion("abcdefgh")
    del without["usage"]
    assert (await ask(chat_server((200, {}, without)))).usage.completion_tokens == 2


async def test_cancelling_a_request_ends_it_at_once(chat_server):
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await ask(chat_server(refusal(503)), retries=100, backoff_seconds=30)


async def told(model):
    try:
        return (await model.complete(CHAT, TOOLS, SAMPLING)).text
    except (ModelUnavailable, EndpointDown) as error:
        return type(error).__name__


async def test_an_endpoint_is_down_when_as_many_requests_in_a_row_have_failed_as_are_made_at_once(chat_server):
    server = chat_server(*[refusal(400)] * 7, ok(), *[refusal(400)] * 9, ok())
    model = OpenAICompatibleModel("m", server.url, retries=0)
    model.dialect.shows = True  # nobody has to look
    outcomes = [await told(model) for _ in range(18)]
    await model.close()
    absent, down = "ModelUnavailable", "EndpointDown"
    assert outcomes == [*[absent] * 7, "fine", *[absent] * 7, down, down, "fine"]  # up again when one succeeds
    model = OpenAICompatibleModel("m", chat_server(refusal(400)).url, retries=0)
    outcomes = await asyncio.gather(*(told(model) for _ in range(20)))
    with pytest.raises(EndpointDown, match=r"^21 requests in a row failed: .* fix that, then run the same command again"):
        await model.complete(CHAT, TOOLS, SAMPLING)
    await model.close()
    assert sorted(outcomes) == ["EndpointDown", *["ModelUnavailable"] * 19]
