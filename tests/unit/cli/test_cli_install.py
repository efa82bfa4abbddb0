"""`install`: what the programs of agents are called with, and how files of settings are edited and restored."""

import json
from types import SimpleNamespace

import pytest

from fusesearch.cli import install
from fusesearch.cli.install import agents, this_program, with_server, without_server
from fusesearch.core.errors import DataError

ENTRY = {"command": "/bin/fusesearch", "args": ["mcp", "--root", "."]}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty home folder, and a machine without agents: `here` lists those that there are, `ran` what was called."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    here, ran = [], []

    def run(command, **options):
        ran.append(command)
        return SimpleNamespace(returncode=code[0], stderr="it exists\x1b already\n", stdout="")

    code = [0]
    monkeypatch.setattr(install.shutil, "which", lambda name: f"/bin/{name}" if name in here else None)
    monkeypatch.setattr(install.subprocess, "run", run)
    return SimpleNamespace(folder=tmp_path, here=here, ran=ran, code=code)


def test_agents_with_a_command_for_it_are_called_and_called_again_to_undo(run, home):
    home.here += ["claude", "codex", "gemini", "code"]
    start = [*this_program(), "mcp", "--root", "."]
    shown = run("install", "--yes")
    assert shown.exit_code == 0, shown.output
    assert home.ran[0] == ["/bin/claude", "mcp", "add", "--scope", "user", "fusesearch", "--", *start]
    assert home.ran[1] == ["/bin/codex", "mcp", "add", "fusesearch", "--", *start]
    assert home.ran[2] == ["/bin/gemini", "mcp", "add", "--scope", "user", "fusesearch", start[0], "--", *start[1:]]
    assert home.ran[3][1] == "--add-mcp"
    assert json.loads(home.ran[3][2]) == {"name": "fusesearch", "command": start[0], "args": [*start[1:-1], "${workspaceFolder}"]}
    assert all(f"{name} mcp add" in shown.stdout for name in ("claude", "codex", "gemini"))
    home.ran.clear()
    assert run("install", "--undo", "--yes").exit_code == 0
    assert [command[1:] for command in home.ran] == [
        ["mcp", "remove", "--scope", "user", "fusesearch"], ["mcp", "remove", "fusesearch"],
        ["mcp", "remove", "--scope", "user", "fusesearch"],
    ]  # fmt: skip


def test_nothing_is_done_before_somebody_agreed_or_without_an_agent(run, home):
    assert "found none of Claude Code, Codex CLI, Gemini CLI, VS Code, Cursor, Zed here" in run("install", "--yes").stderr
    home.here += ["claude", "cursor"]
    refused = run("install")
    assert (refused.exit_code, home.ran) == (1, [])
    assert "claude mcp add" in refused.stdout
    assert "--yes writes it" in refused.stderr
    assert not (home.folder / ".cursor").exists()


def test_a_program_that_fails_or_is_not_there_is_a_line_and_the_others_are_set_up(run, home):
    home.here.append("claude")
    home.code[0] = 1
    done = run("install", "--yes", "--agent", "claude", "--agent", "codex", "--agent", "cursor")
    assert done.exit_code == 1
    assert [line for line in done.stderr.splitlines() if "\x1b" in line] == []
    assert "Claude Code: `claude` ended with 1: it exists" in done.stderr
    assert "Codex CLI: its program `codex` is not on the search path" in done.stderr
    assert (home.folder / ".cursor/mcp.json").is_file()


def test_a_file_is_edited_through_its_link_once_and_restored_with_its_permissions(run, home):
    real, link = home.folder / "dotfiles.json", home.folder / ".config/zed/settings.json"
    link.parent.mkdir(parents=True)
    text = '// mine\n{\n  "theme": "One", // "context_servers": {}\n}\n'
    real.write_text(text)
    real.chmod(0o600)
    link.symlink_to(real)
    assert run("install", "--yes").exit_code == 0
    assert '"context_servers": {"fusesearch": {"command": ' in real.read_text()
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert "Nothing to do." in run("install", "--yes").stdout
    assert run("install", "--yes", "--undo").exit_code == 0
    assert real.read_text() == text
    assert run("install", "--yes", "--agent", "cursor").exit_code == 0
    assert run("install", "--yes", "--undo", "--agent", "cursor").exit_code == 0
    assert not (home.folder / ".cursor/mcp.json").exists(), "only ours was in it"


def test_a_file_that_another_program_changed_meanwhile_stays(home, monkeypatch):
    path = home.folder / ".cursor/mcp.json"
    _, write = install._by_file(agents()["cursor"], undo=False)
    path.parent.mkdir()
    path.write_text("{}")
    with pytest.raises(DataError, match="changed by another program"):
        write()
    assert path.read_text() == "{}"


@pytest.mark.parametrize("text", [
    "{}",
    '{"a": 1}',
    '{\n  "a": [1, {"servers": {}}],\n}\n',
    '{"servers": {}, "a": "}"}',
    '\ufeff{"servers": {"x": {"command": "y"}}}',
    '// "servers": {\n{\r\n\t"servers": { // mine\r\n\t\t"other": {"command": "o"},\r\n\t},\r\n}\r\n',
    '{"a": "\\"servers\\": {", "b": {}}',
    '{"inner": {"servers": {"fusesearch": 1}}, "servers": {"z": {}}}',
    '{"a": "é😀", /* { */ "b": -1.5e3}',
])  # fmt: skip
def test_the_server_is_put_in_and_taken_out_and_all_else_stays(text):
    put = with_server(text, "servers", ENTRY)
    known = install._parsed(put, "servers")
    assert known.pop("servers")["fusesearch"] == ENTRY
    before = install._parsed(text, "servers")
    assert known == {name: value for name, value in before.items() if name != "servers"}
    assert with_server(put, "servers", ENTRY) == put
    taken = without_server(put, "servers")
    assert taken == text or (before.get("servers") == {} and install._parsed(taken, "servers") == known)


def test_an_entry_that_an_agent_wrote_last_is_taken_out_and_one_of_another_program_is_not():
    other = '{"servers": {"fusesearch": {"command": "other"}}}'
    assert without_server(other, "servers") == other
    text = '{"servers": {"x": {"command": "y"},\n "fusesearch": {"type": "stdio", "command": "/a/fusesearch", "args": []}\n}}'
    assert json.loads(without_server(text, "servers")) == {"servers": {"x": {"command": "y"}}}


@pytest.mark.parametrize(("text", "says"), [
    ("{", "not valid JSON"), ("[]", "not an object"), ('{"servers": 1}', "not an object"), ("[" * 100_000, "not valid JSON"),
    ('{"servers": {"fusesearch": {"command": "other"}}}', "starts another program"), ('{"a": 1 "b": 2}', "not valid JSON"),
    ("{'a': 1}", "not valid JSON"),
])  # fmt: skip
def test_what_cannot_be_edited_is_refused(text, says):
    with pytest.raises(DataError, match=says):
        with_server(text, "servers", ENTRY)
