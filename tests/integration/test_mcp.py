"""`fusesearch mcp` as clients meet it: the SDK's own client, over both transports and both generations of the protocol."""

import asyncio
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx2
import psutil
import pytest
from mcp import Client, StdioServerParameters

from tests.fakes.local_server import Handler, LocalServer

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-c", "from fusesearch.cli import main; main()", "mcp"]
PATIENCE = 120.0
ISSUE = "perimeter(2) of a square gives 6, I expected 8"


class Silent(Handler):
    """An endpoint that gives no reply until the client hangs up."""

    def do_POST(self):
        self.asked()
        self.waiting.set()
        self.connection.recv(1)
        self.left.set()


@pytest.fixture
def silent():
    Silent.waiting, Silent.left = threading.Event(), threading.Event()
    with LocalServer(Silent) as server:
        yield ["--model", "m", "--base-url", server.url]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree")
    (folder / "shapes.py").write_text("def perimeter(side):\n    return 3 * side\n")
    return folder


def environment():
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}


def over_stdio(folder, *more, mode="auto"):
    command, *rest = [*PROGRAM, "--root", str(folder), *more]
    return Client(StdioServerParameters(command=command, args=rest, env=environment()), mode=mode)


@contextmanager
def started(folder, *more):
    pipe = subprocess.PIPE
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a background job ignores interruptions
    command = [*PROGRAM, "--root", str(folder), *more]
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, env=environment(), preexec_fn=heard
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def line_of(stream):
    assert select.select([stream], [], [], PATIENCE)[0], "the server said nothing"
    return stream.readline().decode()


async def use(client):
    """What every client does: look at the tools, localize, and read."""
    assert [tool.name for tool in (await client.list_tools()).tools] == ["localize", "context"]
    result = await client.call_tool("localize", {"issue": ISSUE})
    assert not result.is_error
    assert result.structured_content["places"][0]["functions"][0]["function"] == "perimeter"
    assert "return 3 * side" in (await client.call_tool("context", {"issue": ISSUE})).content[0].text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_over_stdio_a_client_localizes(folder, mode):
    async with over_stdio(folder, mode=mode) as client:
        await use(client)


async def test_over_http_a_client_localizes_and_other_names_of_this_machine_are_refused(folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with started(folder, "--transport", "http", "--port", str(port)) as process:
        address = line_of(process.stderr).split()[-1]
        for _ in range(int(PATIENCE * 10)):
            with socket.socket() as trying:
                if trying.connect_ex(("127.0.0.1", port)) == 0:
                    break
            await asyncio.sleep(0.1)
        async with Client(address) as client:
            await use(client)
        body, kinds = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, {"Accept": "application/json, text/event-stream"}
        for header, value, status in (("Host", "evil.example.org", 421), ("Origin", "https://evil.example.org", 403)):
            reply = httpx2.post(address, headers={**kinds, header: value}, json=body, timeout=PATIENCE)
            assert (reply.status_code, "tools" in reply.text) == (status, False)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) in (0, 130)


async def test_a_cancelled_request_cancels_the_search_and_the_server_goes_on(folder, silent):
    async with over_stdio(folder, *silent) as client:
        asking = asyncio.create_task(client.call_tool("localize", {"issue": ISSUE}))
        assert await asyncio.to_thread(Silent.waiting.wait, PATIENCE)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await asyncio.to_thread(Silent.left.wait, PATIENCE)
        assert "return 3 * side" in (await client.call_tool("context", {"issue": ISSUE})).content[0].text


def said(method, number=None, **params):
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params} | ({"id": number} if number else {})) + "\n"


HELLO = said("initialize", 1, protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"})
CUT = (
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"localize","arguments":{"issue":"perimeter is 6 \\ud83d"}}}\n'
)


@pytest.mark.parametrize(("end", "code"), [(None, 0), (signal.SIGINT, 130)])
def test_stdout_holds_the_protocol_alone_half_an_emoji_is_taken_and_the_end_is_clean(folder, end, code):
    with started(folder) as process:
        lines = HELLO, "this is no message\n", said("notifications/initialized"), CUT
        process.stdin.write("".join(lines).encode())
        first, second = json.loads(line_of(process.stdout)), json.loads(line_of(process.stdout))
        if end is None:
            process.stdin.close()
        else:
            process.send_signal(end)  # stdin stays open
        assert process.wait(PATIENCE) == code
        rest, errors = process.stdout.read(), process.stderr.read()
    assert first["result"]["serverInfo"]["name"] == "fusesearch"
    assert (second["id"], second["result"]["isError"]) == (2, False)
    assert rest == b""
    assert b"Traceback" not in errors


def test_ctrl_c_ends_a_search_under_way(folder, silent):
    call = said("tools/call", 2, name="localize", arguments={"issue": ISSUE})
    with started(folder, *silent) as process:
        process.stdin.write((HELLO + said("notifications/initialized") + call).encode())
        assert Silent.waiting.wait(PATIENCE)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert Silent.left.wait(PATIENCE)
        assert process.stderr.read() == b"fusesearch: interrupted\n"


@pytest.mark.parametrize("around", [[], ["sh", "-c", '"$@"; true', "sh"]])
def test_the_server_ends_with_its_client_though_another_process_holds_its_stdin(folder, around):
    reading, writing = os.pipe()
    command = [*around, *PROGRAM, "--root", str(folder)]
    start = "import subprocess, sys; p = subprocess.Popen(sys.argv[1:]); print(p.pid, file=sys.stderr, flush=True); p.wait()"
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", start, *command], stdin=reading, stdout=pipe, stderr=pipe, bufsize=0, env=environment()
    ) as client:
        server = psutil.Process(int(line_of(client.stderr)))
        os.write(writing, HELLO.encode())
        assert "fusesearch" in line_of(client.stdout)
        servers = [server, *server.children()]
        client.kill()
        _, alive = psutil.wait_procs(servers, PATIENCE)
    os.close(reading)
    os.close(writing)  # open until here
    assert len(servers) == 1 + bool(around)
    assert not alive
