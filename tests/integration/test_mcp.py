"""`fusesearch mcp` as clients meet it: the SDK's own client, over both transports and both generations of the protocol."""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import threading
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import httpx2
import psutil
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.fakes.local_server import Handler, LocalServer
from tests.integration.mcp_parts import CANARY, FOUND, ISSUE, SCRIPT, plant, text

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-c", "from fusesearch.cli import main; main()", "mcp"]
PATIENCE = 120.0


class Endpoint(Handler):
    """Plays the script; but refuses an issue that says so, and leaves one that says so without any reply."""

    def do_POST(self):
        asked = self.asked()
        issue = asked["messages"][1]["content"]
        if "no reply" in issue:
            self.waiting.set()
            self.connection.recv(1)  # comes back when the client hangs up
            self.left.set()
            return
        spoken = sum(message["role"] == "assistant" for message in asked["messages"])
        message = {"role": "assistant", "content": SCRIPT[spoken]}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
        self.send(*(400, {"error": {"message": "not today"}}) if "refuse" in issue else (200, body))


@pytest.fixture(scope="module")
def endpoint():
    with LocalServer(Endpoint) as server:
        Endpoint.waiting, Endpoint.left = threading.Event(), threading.Event()
        yield server


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return plant(tmp_path_factory.mktemp("tree"))


def arguments(tree, endpoint=None):
    model = [] if endpoint is None else ["--model", "m", "--base-url", endpoint.url]
    return ["--root", str(tree / "code"), "--tools", "all", *model]


def environment():
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}


@pytest.fixture(scope="module")
def web(tree, endpoint):
    """A server over HTTP that made its own token: process, address and token."""
    with started(tree, endpoint) as server:
        yield server


@contextmanager
def started(tree, endpoint, token=""):
    """A server over HTTP, ended with Ctrl-C's signal; without a token of ours it makes one and says so."""
    command = [*PROGRAM, *arguments(tree, endpoint), "--transport", "http", "--port", "0"]
    with running_program(command, {**environment(), "FUSESEARCH_MCP_TOKEN": token}) as process:
        address = line_of(process.stderr).split()[-1]
        yield SimpleNamespace(process=process, address=address, token=token or line_of(process.stderr).split()[-1])
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)


@contextmanager
def running_program(command, environ):
    pipe = subprocess.PIPE
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a background job ignores interruptions
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, env=environ, preexec_fn=heard) as process:
        try:
            yield process
        finally:
            process.kill()


def line_of(stream):
    assert select.select([stream], [], [], PATIENCE)[0], "the server said nothing"
    return stream.readline().decode()


def over_stdio(tree, endpoint=None, mode="auto"):
    command, *rest = [*PROGRAM, *arguments(tree, endpoint)]
    return Client(StdioServerParameters(command=command, args=rest, env=environment()), mode=mode)


@asynccontextmanager
async def over_http(web, mode="auto", **headers):
    headers = {"Authorization": f"Bearer {web.token}", **headers}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http,
        Client(streamable_http_client(web.address, http_client=http), mode=mode) as client,
    ):
        yield client


async def use(client):
    """What every client does: look at the tools, localize with progress, search, and fail to leave the root."""
    offered = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert offered.keys() == {"localize", "context", "ask", "grep", "glob", "read_file"}
    assert all(tool.annotations.read_only_hint and not tool.annotations.open_world_hint for tool in offered.values())
    told = []

    async def hear(done, total, message):
        told.append((done, total, message))

    result = await client.call_tool("localize", {"issue": ISSUE}, progress_callback=hear)
    assert not result.is_error
    assert "def perimeter(side):\n    return 3 * side" in text(await client.call_tool("context", {"issue": ISSUE}))
    assert result.structured_content["root"] == "code"
    assert FOUND.items() <= result.structured_content["modify"][0].items()
    assert {"turns", "calls", "efficiency"} <= result.structured_content["trajectory"].keys()
    assert "shapes.py:6-7  perimeter" in text(result)
    done = [step for step, _, _ in told]
    assert done
    assert done == sorted(set(done))
    assert told[0][2].startswith("turn 1: ")
    found = await client.call_tool("grep", {"pattern": "def perimeter", "output_mode": "content"})
    assert text(found) == "shapes.py:6:def perimeter(side):"
    outside = await client.call_tool("read_file", {"path": "../secret.txt"})
    assert outside.is_error
    assert CANARY not in text(outside)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_over_stdio_a_client_localizes_and_searches_below_the_root(tree, mode):
    async with over_stdio(tree, mode=mode) as client:
        await use(client)
    assert not servers(tree)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_over_http_a_client_localizes_and_searches_below_the_root(web, mode):
    async with over_http(web, mode) as client:
        await use(client)


@pytest.mark.parametrize("reach", ["stdio", "http", "http-legacy"])
async def test_a_cancelled_request_cancels_the_search_and_the_server_goes_on(tree, endpoint, request, reach):
    Endpoint.waiting.clear()
    Endpoint.left.clear()
    mode = "legacy" if reach == "http-legacy" else "auto"
    web = None if reach == "stdio" else request.getfixturevalue("web")
    async with over_stdio(tree, endpoint) if web is None else over_http(web, mode) as client:
        asking = asyncio.create_task(client.call_tool("localize", {"issue": "there is no reply to this"}))
        assert await asyncio.to_thread(Endpoint.waiting.wait, PATIENCE)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await asyncio.to_thread(Endpoint.left.wait, PATIENCE)
        assert text(await client.call_tool("glob", {"pattern": "*.py"})) == "shapes.py"


async def test_a_model_that_fails_is_an_error_of_one_line(web):
    async with over_http(web) as client:
        result = await client.call_tool("localize", {"issue": "refuse this"})
    assert result.is_error
    assert result.structured_content is None
    assert text(result).startswith("Error: ")
    assert "not today" in text(result)
    assert len(text(result).splitlines()) == 1


@pytest.mark.parametrize(
    "authorization",
    [None, "Bearer wrong", "{token}", "Basic {token}", "Bearer {token}x", "Bearer schlüssel".encode("latin-1")],
)
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_requests_without_the_token_are_refused(web, method, authorization):
    value = authorization.replace("{token}", web.token) if isinstance(authorization, str) else authorization
    reply = send(web, method, {} if value is None else {"Authorization": value})
    assert reply.status_code == 401
    assert "tools" not in reply.text


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Host", "evil.example.org", 421),
        ("Host", "127.0.0.1.evil.example.org:80", 421),
        ("Origin", "https://evil.example.org", 403),
        ("Origin", "null", 403),
    ],
)
def test_requests_through_another_name_are_refused_with_the_token_too(web, header, value, status):
    reply = send(web, "POST", {"Authorization": f"Bearer {web.token}", header: value})
    assert reply.status_code == status
    assert "tools" not in reply.text


def send(web, method, headers):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"} if method == "POST" else None
    kinds = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    return httpx2.request(method, web.address, headers={**kinds, **headers}, json=body, timeout=PATIENCE)


@pytest.mark.parametrize(("mode", "token"), [("auto", ""), ("legacy", "a-token-that-is-given-and-not-told")])
async def test_ctrl_c_ends_a_server_over_http_and_the_searches_under_way(tree, endpoint, mode, token):
    Endpoint.waiting.clear()
    Endpoint.left.clear()
    with started(tree, endpoint, token) as server:
        asking = asyncio.create_task(ask_for_nothing(server, mode))
        assert await asyncio.to_thread(Endpoint.waiting.wait, PATIENCE)
        server.process.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(server.process.wait, PATIENCE) == 130
        assert await asyncio.to_thread(Endpoint.left.wait, PATIENCE)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        said = server.process.stderr.read().decode()
    assert said == "fusesearch: interrupted\n"


async def ask_for_nothing(server, mode):
    async with over_http(server, mode) as client:
        await client.call_tool("localize", {"issue": "there is no reply to this"})


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


@pytest.mark.parametrize(("end", "code"), [(None, 0), (signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_stdout_holds_the_protocol_alone_and_the_end_is_clean(tree, end, code):
    with running_program([*PROGRAM, *arguments(tree)], environment()) as process:
        process.stdin.write(b"this is no message\n" + json.dumps(HELLO).encode() + b"\n")
        refused, first = line_of(process.stdout), line_of(process.stdout)
        if end is None:
            process.stdin.close()
        else:
            process.send_signal(end)  # stdin stays open
        assert process.wait(PATIENCE) == code
        rest, errors = process.stdout.read(), process.stderr.read()
    assert json.loads(refused)["error"]["code"] == -32700
    assert json.loads(first)["result"]["serverInfo"]["name"] == "fusesearch"
    assert rest == b""
    assert b"Traceback" not in errors


LINES = [
    ('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"grep","arguments":{"pattern":"a\\ud83d"}}}', 2, "result"),
    (
        '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"grep","arguments":{"pattern":"\\ud83d\\ude00"}}}',
        3,
        "result",
    ),
    ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', 1.5, "error"),
    ('{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"gr', 4, "error"),
    ('{"method":"tools/call","params":{"name":"gr', None, "error"),
    ('{"jsonrpc":"2.0","id":"\\ud83d","method":7}', "\ufffd", "error"),
    ("[" * 100_000, None, "error"),
    ("[]", None, "error"),
    ('{"jsonrpc":"2.0","id":null,"method":"ping"}', None, "error"),
]


def test_every_line_with_an_id_is_answered_and_others_that_are_no_message_too(tree):
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    ping = {"jsonrpc": "2.0", "id": 99, "method": "ping"}
    with running_program([*PROGRAM, *arguments(tree)], environment()) as process:
        lines = [json.dumps(HELLO), json.dumps(ready), "", *(line for line, _, _ in LINES), json.dumps(ping)]
        process.stdin.write("".join(f"{line}\n" for line in lines).encode())
        answers = [json.loads(line_of(process.stdout)) for _ in range(len(LINES) + 2)]
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
    told = sorted((str(one["id"]), "result" if "result" in one else "error") for one in answers)
    assert told == sorted([("1", "result"), ("99", "result"), *((str(number), kind) for _, number, kind in LINES)])
    assert {one["error"]["code"] for one in answers if "error" in one} == {-32700}


def servers(tree):
    """Processes of a server over `tree`, and of ripgrep below it, that still run."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "status"])
        if str(tree) in " ".join(process.info["cmdline"] or []) and process.info["status"] != psutil.STATUS_ZOMBIE
    ]
