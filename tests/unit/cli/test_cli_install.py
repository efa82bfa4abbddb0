"""`install`: what the programs of agents are called with, and how files of settings are edited and restored."""

import json
import shlex
from types import SimpleNamespace

import pytest

from fusesearch.cli import install
from fusesearch.cli.hint import HINT, hint
from fusesearch.cli.install import agents, this_program
from fusesearch.cli.settings import at, parsed, put, take
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
    text = '{\n  "theme": "One"\n}\n'
    real.write_text(text)
    real.chmod(0o600)
    link.symlink_to(real)
    assert run("install", "--yes").exit_code == 0
    assert list(json.loads(real.read_text())) == ["theme", "context_servers"]
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
    _, write = install._server(agents()["cursor"], undo=False)
    path.parent.mkdir()
    path.write_text("{}")
    with pytest.raises(DataError, match="changed by another program"):
        write()
    assert path.read_text() == "{}"


KEYS, PLACE = ("servers", "fusesearch"), ("servers", "list", 0)


@pytest.mark.parametrize("keys", [KEYS, PLACE])
@pytest.mark.parametrize("settings", [
    {}, {"a": 1}, {"a": [1, {"servers": {}}], "b": "é😀"}, {"servers": {"x": {"command": "y"}}, "a": "}"},
    {"inner": {"servers": {"fusesearch": 1}}, "servers": {"z": {}, "list": [{"b": [2]}, 3]}},
])  # fmt: skip
def test_a_value_is_put_in_and_taken_out_and_all_else_stays(settings, keys):
    text = json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
    made = put(text, keys, ENTRY)
    assert at(parsed(made), keys) == ENTRY
    assert take(made, keys) == text == take(put(f"\ufeff{json.dumps(settings)}", keys, ENTRY), keys)


def test_an_entry_that_an_agent_wrote_last_is_taken_out():
    text = '{"servers": {"x": {"command": "y"},\n "fusesearch": {"type": "stdio", "command": "/a/fusesearch", "args": []}\n}}'
    assert json.loads(take(text, KEYS)) == {"servers": {"x": {"command": "y"}}}


@pytest.mark.parametrize(("text", "says"), [
    ("{", "not plain JSON"), ("[]", "not an object"), ('{"servers": 1}', "not an object"), ('{"servers": []}', "not an object"),
    ("[" * 100_000, "not plain JSON"), ('{"a": 1}  // mine', "not plain JSON"), ('{"a": 1,}', "not plain JSON"),
])  # fmt: skip
def test_what_cannot_be_edited_is_refused(text, says):
    with pytest.raises(DataError, match=says):
        put(text, KEYS, ENTRY)


def test_an_entry_of_another_program_stays(run, home):
    path = home.folder / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text(text := '{"mcpServers": {"fusesearch": {"command": "other"}}}')
    done = run("install", "--yes", "--agent", "cursor", "--part", "server")
    assert (done.exit_code, path.read_text()) == (1, text)
    assert "starts another program" in done.stderr
    assert run("install", "--yes", "--undo", "--agent", "cursor").exit_code == 0
    assert path.read_text() == text


def everything(folder):
    return {str(path.relative_to(folder)): path.is_file() and path.read_text() for path in folder.rglob("*")}


def test_sub_agents_skills_and_hooks_are_written_and_taken_back_without_a_trace(run, home):
    home.here += ["claude", "codex", "gemini", "cursor"]
    settings = home.folder / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "Write", "hooks": []}]}}, indent=2) + "\n")
    before = everything(home.folder)
    shown = run("install", "--yes").stdout
    assert shown.count("SKILL.md") == 1, "agents share it"
    ours, other = parsed(settings.read_text())["hooks"]["PreToolUse"]
    assert (ours["matcher"], other["matcher"]) == ("Grep|Bash", "Write")
    assert ours["hooks"] == [{"type": "command", "command": shlex.join([*this_program(), "hint"])}]
    assert (home.folder / ".claude/agents/fusesearch.md").read_text() == (
        home.folder / ".agents/skills/fusesearch/SKILL.md"
    ).read_text()
    there = everything(home.folder)
    assert run("install", "--yes").exit_code == 0
    assert everything(home.folder) == there
    assert run("install", "--undo", "--yes", "--part", "hook").exit_code == 0
    assert settings.read_text() == before[".claude/settings.json"]
    assert (home.folder / ".claude/agents/fusesearch.md").exists()
    assert run("install", "--undo", "--yes").exit_code == 0
    assert everything(home.folder) == before


def test_a_skill_of_somebody_else_stays(run, home):
    path = home.folder / ".agents/skills/fusesearch/SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    for undo in ([], ["--undo"]):
        assert (
            "is not a file that this program wrote"
            in run("install", "--yes", "--agent", "vscode", "--part", "skill", *undo).stderr
        )
    assert path.read_text() == "mine"


@pytest.mark.parametrize(("call", "hinted"), [
    ({"pattern": "x"}, True), ({"pattern": "x", "path": "src"}, True), ({"pattern": "x", "path": "src/a.py"}, False),
    ({"command": "rg Session"}, True), ({"command": "cd src && grep -rn 'a b' ."}, True), ({"command": "grep x a.py"}, False),
    ({"command": "ls | grep x"}, False), ({"command": "cargo build"}, False), (None, False), ("rg", False),
])  # fmt: skip
def test_the_hint_is_for_searches_over_folders(call, hinted, tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("")
    given = {"hook_event_name": "PreToolUse", "cwd": str(tmp_path), "tool_name": "Grep", "tool_input": call}
    said = hint(json.dumps(given))
    assert bool(said) is hinted
    if said:
        assert json.loads(said)["hookSpecificOutput"] == {"hookEventName": "PreToolUse", "additionalContext": HINT}
    assert hint("{") == hint("[]") == ""
