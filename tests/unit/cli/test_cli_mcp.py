"""`mcp` without a client: options, names of roots, what progress says, and snippets that fit the command."""

import json
import logging
import re
import shlex
import signal
import tomllib
from pathlib import Path

import pytest
import typer
import uvicorn

from fusesearch.cli.serving.http import _Server, is_local
from fusesearch.cli.serving.roots import Roots
from fusesearch.cli.serving.service import steps
from fusesearch.core.errors import RepositoryError, ToolError
from fusesearch.core.schema import Observation, ToolCall, Turn
from tests.fakes.commands import app, failed

PAGE = Path(__file__).parents[3] / "docs/mcp.md"


@pytest.fixture
def folders(tmp_path):
    paths = [tmp_path / name for name in ("a/code", "b/code", "c/code-2", "d")]
    for path in paths:
        path.mkdir(parents=True)
    return paths


def test_roots_are_named_by_their_last_part_and_numbered_where_that_is_taken(folders):
    assert Roots(folders).names == ["code", "code-2", "code-2-2", "d"]


def test_a_folder_given_twice_or_through_a_link_is_one_root(folders, tmp_path):
    (tmp_path / "link").symlink_to(folders[0])
    assert Roots([folders[0], tmp_path / "link", folders[0] / "../code"]).names == ["code"]


def test_only_names_choose_a_root(folders):
    roots = Roots(folders[:2])
    assert roots.choose("code-2") == "code-2"
    assert Roots(folders[:1]).choose() == "code"
    for other in (None, "", ".", "..", "/", str(folders[0]), "../d", 1, ["code"]):
        with pytest.raises(ToolError, match=r"the roots are code, code-2$"):
            roots.choose(other)


def test_a_root_must_be_a_folder(tmp_path):
    with pytest.raises(RepositoryError):
        Roots([tmp_path / "nowhere"])


def test_a_root_is_seen_as_it_is_now(folders):
    roots = Roots(folders[:1])
    assert roots.repository("code").files() == []
    (folders[0] / "new.py").touch()
    assert roots.repository("code").files() == ["new.py"]


def test_a_root_replaced_by_a_link_is_served_no_more(folders):
    roots = Roots(folders[:1])
    folders[0].rmdir()
    with pytest.raises(ToolError, match="cannot be read any more"):
        roots.repository("code")
    folders[0].symlink_to(folders[3])
    with pytest.raises(ToolError, match="no longer the folder"):
        roots.repository("code")


def test_progress_rises_from_call_to_call_and_from_turn_to_turn():
    calls = [ToolCall(id="1", name="grep", arguments={"pattern": "x" * 500}), ToolCall(id="2", name="nothing")]
    seen = [
        Observation(call_id="1", output="", entities=["a.py"], gain_turn=0.5),
        Observation(call_id="2", output="", error="no"),
    ]
    searching, answering = Turn(text="", calls=calls, observations=seen), Turn(text="done")
    events = [("turn", 1, searching), ("observations", 1, searching), ("turn", 2, searching), ("turn", 3, answering)]
    steps_seen = [step for kind, number, turn in events for step in steps(kind, {"number": number, "turn": turn})]
    done = [value for value, _ in steps_seen]
    assert done == sorted(set(done))
    assert [int(value) for value in done] == [0, 0, 0, 1, 2]
    messages = [message for _, message in steps_seen]
    assert messages[0] == "turn 1: 2 calls"
    assert messages[1].startswith("turn 1: 1 found, gain 50%: grep pattern=")
    assert messages[2] == "turn 1: error: nothing "
    assert messages[-1] == "turn 3: the answer"
    assert max(map(len, messages)) <= 200
    assert list(steps("end", {})) == []


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_addresses_of_this_machine_alone(host):
    assert is_local(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.1", "example.org", "localhost.example.org"])
def test_addresses_others_can_reach(host):
    assert not is_local(host)


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--root", ".", "--transport", "sse"],
        ["--root", ".", "--token", "short"],
        ["--root", ".", "--token", "a token with blanks in it"],
        ["--root", ".", "--token", "schlüssel-schlüssel"],
        ["--root", ".", "--model", "m", "--checkpoint", "c"],
        ["--root", ".", "--port", "70000"],
    ],
)
def test_options_that_do_not_fit_are_usage_errors(run, options):
    result = run("mcp", *options)
    assert result.exit_code == 2
    assert "with blanks in it" not in result.output


def test_an_invalid_root_and_an_invalid_checkpoint_are_one_line(run, tmp_path):
    for options in (["--root", tmp_path / "nowhere"], ["--root", tmp_path, "--checkpoint", tmp_path]):
        failed(run("mcp", *options))


def commands() -> list[list[str]]:
    """Every way the page starts the server, as arguments after the program's name."""
    found = []
    for language, text in re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(), re.DOTALL):
        if language in ("json", "toml"):
            found += [entry["args"] for entry in entries(json.loads(text) if language == "json" else tomllib.loads(text))]
        elif language == "sh":
            found += [line.partition("fusesearch mcp")[2] for line in text.splitlines() if "fusesearch mcp" in line]
    return [["mcp", *shlex.split(one)] if isinstance(one, str) else one for one in found]


def entries(value) -> list[dict]:
    if not isinstance(value, dict):
        return []
    own = [value] if "args" in value else []
    return own + [entry for inner in value.values() for entry in entries(inner)]


def test_every_snippet_of_the_page_is_a_command_line_that_is_understood():
    command = typer.main.get_command(app).commands["mcp"]
    assert len(commands()) >= 8
    for name, *arguments in commands():
        assert name == "mcp"
        assert command.make_context("mcp", list(arguments)).params["root"]


def test_from_the_signal_on_a_stream_that_ends_early_is_no_error():
    logger = logging.getLogger("uvicorn.error")
    server = _Server(uvicorn.Config(application, log_config=None, log_level="warning"), lambda: None)
    assert logger.isEnabledFor(logging.ERROR)
    try:
        server.handle_exit(signal.SIGINT, None)
        assert server.should_exit
        assert not logger.isEnabledFor(logging.ERROR)
    finally:
        logger.setLevel(logging.WARNING)


async def application(*_: object) -> None:
    """Answers nothing."""
