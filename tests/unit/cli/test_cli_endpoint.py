"""``fusesearch doctor --endpoint``: what an endpoint can do, from small requests to a real HTTP server."""

import json

import pytest

from tests.fakes.chat_server import ChatServer, ok, refusal

HERMES = '<tool_call>\n{"name": "grep", "arguments": {"pattern": "alpha"}}\n</tool_call>'
WORDS = [{"name": "grep", "arguments": json.dumps({"pattern": word})} for word in ("alpha", "beta")]
CALLS = [{"id": f"c{number}", "type": "function", "function": row} for number, row in enumerate(WORDS)]


@pytest.fixture
def tried(run):
    def doctor(reply):
        with ChatServer([reply]) as server:
            result = run("doctor", "--endpoint", server.url, "--model", "m", "--format", "json")
        report = json.loads(result.stdout)
        return result.exit_code, {check["name"]: check for check in report["checks"]}

    return doctor


def native(sent):
    if "tools" in sent and len(sent["messages"]) == 2:
        return ok(None, tool_calls=CALLS, finish="tool_calls", reasoning_content="two calls")
    return ok(str(sent.get("seed")))


def test_a_server_that_parses_calls(tried):
    code, checks = tried(native)
    assert code == 0
    assert checks["tool calls"]["detail"] == "parsed by the server (native), 2 in one message"
    assert checks["second turn"]["detail"] == "results of calls are taken, with reasoning_content sent back"
    assert [check["ok"] for check in checks.values()] == [True] * 4


def test_a_server_that_refuses_tools_and_params(tried):
    def plain(sent):
        if "tools" in sent:
            return refusal(400, "no tools here")
        if "seed" in sent:
            return refusal(400, "seed is not supported")
        return ok(HERMES if len(sent["messages"]) == 2 else "x")

    code, checks = tried(plain)
    assert (code, checks["tool calls"]["detail"]) == (0, "read from the text, 1 in one message")
    assert checks["params"]["detail"] == "without seed: requests adapt by themselves, and trajectories say so"


def test_a_model_that_calls_no_tools_cannot_search(tried):
    code, checks = tried(ok("I would search."))
    assert (code, checks["tool calls"]["ok"]) == (1, False)
    assert "--tool-call-parser" in checks["tool calls"]["hint"]
    assert "if it thinks" in tried(ok("I would search.", finish="length"))[1]["tool calls"]["hint"]


def counted(sent, content):
    """A reply of a server whose chat template leaves tools out, and that counts the tokens of its prompt."""
    status, headers, body = ok(content)
    tokens = sum(len(row["content"] or "") for row in sent["messages"]) // 4
    return status, headers, {**body, "usage": {"prompt_tokens": tokens, "completion_tokens": 5, "total_tokens": tokens + 5}}


@pytest.mark.parametrize("able", [True, False])
def test_a_server_that_leaves_tools_out_of_the_prompt_is_found_out(tried, able):
    def deaf(sent):
        return counted(sent, f"{HERMES}\n{HERMES}" if able and "<tools>" in sent["messages"][0]["content"] else "What is grep?")

    code, checks = tried(deaf)
    detail = "the server leaves tools out of the model's prompt, so they stand in the system prompt: "
    assert checks["tool calls"]["detail"].startswith(detail + ("read from the text, 2" if able else "none read"))
    assert ("--chat-template-file" in checks["tool calls"]["hint"]) is not able
    assert code == (0 if able else 1)


def test_an_endpoint_that_refuses_the_key_is_one_check(tried):
    code, checks = tried(refusal(401, "bad key"))
    assert (code, list(checks)) == (1, ["endpoint"])
    assert "bad key" in checks["endpoint"]["detail"]


def test_endpoint_and_model_go_together(run):
    result = run("doctor", "--endpoint", "http://localhost:1/v1")
    assert result.exit_code == 2
    assert "an endpoint is tried with" in result.stderr
