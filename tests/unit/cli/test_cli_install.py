"""`install`: what it writes into each agent's files, that all else stays byte for byte, and that --undo restores them."""

import json
import os
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.cli.installing.edits import BEGIN, END, Block, JsonServer, OtherEntry, TomlServer
from fusesearch.core.errors import DataError

CLAUDE = """\
{
  "numStartups": 12,
  "theme": "dark",
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.githubcopilot.com/mcp/"
    }
  },
  "projects": {"/home/me/shop": {"allowedTools": [], "mcpServers": {}}},
  "userID": "0123\\u0041"
}"""
CODEX = """\
# my settings
model = "gpt-5-codex"   # keep

[mcp_servers.docs]
command = "npx"
args = ["-y", "docs"]

[projects."/home/me/shop"]
trust_level = "trusted"
"""
VSCODE = (
    '\ufeff{\r\n\t// two servers\r\n\t"inputs": [],\r\n\t"servers": {\r\n\t\t"a": {"url": "http://x/y"}, // note\r\n\t},\r\n}\r\n'
)
ZED = """\
// Zed settings
{
  "theme": {"mode": "system", /* both */ "light": "One Light"},
  "buffer_font_size": 15,
  // the end
}
"""
FILES = {
    ".claude.json": CLAUDE,
    ".claude/CLAUDE.md": "# Mine\n\nAnswer briefly.\n",
    ".codex/config.toml": CODEX,
    ".codex/AGENTS.md": "No final newline",
    ".cursor/mcp.json": '{"mcpServers": {}}',
    ".config/Code/User/mcp.json": VSCODE,
    ".gemini/settings.json": '{"security": {"auth": {"selectedType": "oauth-personal"}}}\n',
    ".config/zed/settings.json": ZED,
}
INSTRUCTIONS = (
    ".claude/CLAUDE.md", ".codex/AGENTS.md", ".config/Code/User/prompts/fusesearch.instructions.md", ".gemini/GEMINI.md",
    ".config/zed/AGENTS.md",
)  # fmt: skip
SERVER = JsonServer("servers", {"command": "/bin/fusesearch", "args": ["mcp"]})
TABLE = TomlServer("mcp_servers", {"command": "/bin/fusesearch", "args": ["mcp", "--root", "."]})
FRESH = """{
  "servers": {
    "fusesearch": {
      "command": "/bin/fusesearch",
      "args": [
        "mcp"
      ]
    }
  }
}
"""
ENTRY = '{"command": "/bin/fusesearch", "args": ["mcp"]}'
ROWS = '[mcp_servers.fusesearch]\ncommand = "/bin/fusesearch"\nargs = ["mcp", "--root", "."]'


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder with the files of all six agents, none of whose programs can be found, and an empty current folder."""
    folder = tmp_path / "home"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    (tmp_path / "project").mkdir()
    for variable in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path / "project")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_agent_gets_its_server_and_undo_restores_every_byte(run, home):
    before = contents(home)
    done = run("install", "--yes")
    assert done.exit_code == 0, done.output
    for path, section, root in [
        (".claude.json", "mcpServers", "."),
        (".codex/config.toml", "mcp_servers", "."),
        (".cursor/mcp.json", "mcpServers", "${workspaceFolder}"),
        (".config/Code/User/mcp.json", "servers", "${workspaceFolder}"),
        (".gemini/settings.json", "mcpServers", "."),
        (".config/zed/settings.json", "context_servers", "."),
    ]:
        text = (home / path).read_text(encoding="utf-8-sig")
        entry = (tomllib if path.endswith("toml") else _Lenient).loads(text)[section]["fusesearch"]
        assert entry["args"][-3:] == ["mcp", "--root", root]
        assert os.path.isabs(entry["command"])
    assert all(BEGIN in (home / path).read_text() for path in INSTRUCTIONS)
    assert (home / INSTRUCTIONS[2]).read_text().startswith('---\napplyTo: "**"\n---\n')
    again = run("install", "--yes")
    assert again.output.endswith("Nothing to write.\n")
    assert run("install", "--undo", "--yes").exit_code == 0
    assert contents(home) == before
    assert run("install", "--undo", "--yes").output.endswith("Nothing to take out.\n")


class _Lenient:
    """JSON with comments at the end of a line and trailing commas, for the texts above."""

    @staticmethod
    def loads(text):
        import re

        text = re.sub(r"/\*.*?\*/|(?m:(^|(?<=[\s,]))//.*$)", "", text)
        return json.loads(re.sub(r",(\s*[}\]])", r"\1", text))


def test_a_plan_is_shown_and_nothing_is_written_without_consent(run, home):
    before = contents(home)
    done = run("install")
    assert done.exit_code == 1
    assert '"args": ["mcp", "--root", "${workspaceFolder}"]' in done.stdout
    assert "~/.codex/config.toml  (changed)" in done.stdout
    assert "~/.gemini/GEMINI.md  (new)" in done.stdout
    assert "## Finding code" in done.stdout
    assert "githubcopilot" not in done.stdout  # what others wrote may be secret
    assert done.stderr == "fusesearch: nothing was written; --yes writes it\n"
    assert contents(home) == before


@pytest.mark.parametrize(("answer", "written"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_on_a_terminal_it_asks(run, home, monkeypatch, answer, written):
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr("fusesearch.cli.install.sys", SimpleNamespace(stdin=terminal, stdout=terminal))
    done = run("install", stdin=answer)
    assert "Write this? [y/N]" in done.stdout
    assert (BEGIN in (home / ".claude/CLAUDE.md").read_text()) is written
    assert done.exit_code == (0 if written else 1)


def test_only_what_is_chosen_is_written(run, home):
    before = contents(home)
    assert run("install", "--yes", "--agent", "cursor", "--agent", "gemini", "--no-instructions").exit_code == 0
    after = contents(home)
    assert {name for name in after if after[name] != before.get(name)} == {".cursor/mcp.json", ".gemini/settings.json"}


def test_an_agent_is_found_by_its_folder_or_its_program(run, home, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "empty"))
    done = run("install")
    assert done.exit_code == 1
    assert done.stderr.startswith("fusesearch: found none of Claude Code, Codex CLI, Cursor, VS Code, Gemini CLI, Zed here")
    (tmp_path / "zeditor").write_text("#!/bin/sh\n")
    (tmp_path / "zeditor").chmod(0o755)
    assert run("install").stdout.startswith("Zed\n")


def test_variables_move_the_places(run, home, tmp_path, monkeypatch):
    for variable in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    before = contents(home)
    names = ("claude", "codex", "gemini", "vscode", "zed")
    assert run("install", "--yes", *(word for name in names for word in ("--agent", name))).exit_code == 0
    assert contents(home) == before
    for path in (
        "CLAUDE_CONFIG_DIR/.claude.json", "CODEX_HOME/config.toml", "GEMINI_CLI_HOME/.gemini/settings.json",
        "XDG_CONFIG_HOME/Code/User/mcp.json", "XDG_CONFIG_HOME/zed/settings.json",
    ):  # fmt: skip
        assert (tmp_path / path).is_file()


def test_a_project_gets_files_that_work_for_everybody(run, home):
    project, before = Path.cwd(), contents(home)
    (project / "AGENTS.md").write_text("# Rules\n")
    assert run("install", "--yes", "--project").exit_code == 0
    assert contents(home) == before
    written = contents(project)
    assert set(written) == {
        ".mcp.json", "CLAUDE.md", ".codex/config.toml", ".cursor/mcp.json", ".vscode/mcp.json", ".gemini/settings.json",
        "GEMINI.md", ".zed/settings.json", "AGENTS.md",
    }  # fmt: skip
    assert json.loads(written[".mcp.json"])["mcpServers"]["fusesearch"]["command"] == "fusesearch"
    assert written["AGENTS.md"].count(BEGIN.encode()) == 1
    assert run("install", "--undo", "--yes", "--project").exit_code == 0
    assert [path.name for path in project.iterdir()] == ["AGENTS.md"]
    assert (project / "AGENTS.md").read_text() == "# Rules\n"


def test_zed_gets_the_rules_file_that_it_reads(run, home):
    Path(".rules").write_text("Be kind.\n")
    run("install", "--yes", "--project", "--agent", "zed")
    assert BEGIN in Path(".rules").read_text()
    assert not Path("AGENTS.md").exists()


def test_links_and_permissions_stay(run, home, tmp_path):
    (tmp_path / "dotfiles.json").write_text(CLAUDE)
    (tmp_path / "dotfiles.json").chmod(0o600)
    (home / ".claude.json").unlink()
    (home / ".claude.json").symlink_to(tmp_path / "dotfiles.json")
    assert run("install", "--yes", "--agent", "claude").exit_code == 0
    assert (home / ".claude.json").is_symlink()
    assert (tmp_path / "dotfiles.json").stat().st_mode & 0o777 == 0o600
    assert "fusesearch" in json.loads((tmp_path / "dotfiles.json").read_text())["mcpServers"]


def test_a_link_out_of_the_project_is_refused(run, home, tmp_path):
    (tmp_path / "profile").write_text("export A=1\n")
    Path("CLAUDE.md").symlink_to(tmp_path / "profile")
    done = run("install", "--yes", "--project", "--agent", "claude")
    assert done.exit_code == 1
    assert "CLAUDE.md leads out of the project" in done.stdout
    assert (tmp_path / "profile").read_text() == "export A=1\n"


DAMAGED = [
    (".cursor/mcp.json", "{", "line 1"),
    (".cursor/mcp.json", '{"a": 1\n "b": 2}', "not valid JSON (line"),
    (".cursor/mcp.json", '{"a": 1,\n\n, "b": 2}', "line 3"),
    (".cursor/mcp.json", '{"a": x}', "not valid JSON"),
    (".cursor/mcp.json", '{a: 1}', "not valid JSON"),
    (".cursor/mcp.json", '{"a": [1,, 2]}', "not valid JSON"),
    (".cursor/mcp.json", '{"a": 0x10}', "not valid JSON"),
    (".cursor/mcp.json", '{"a": f()}', "not valid JSON"),
    (".cursor/mcp.json", '{...a}', "not valid JSON"),
    (".cursor/mcp.json", '{"a": 1} {}', "not valid JSON"),
    (".cursor/mcp.json", '{}); ({}', "not a JSON object"),
    (".cursor/mcp.json", "[]", "not a JSON object"),
    (".cursor/mcp.json", "null", "not a JSON object"),
    (".cursor/mcp.json", '{"mcpServers": []}', "`mcpServers` is not an object"),
    (".cursor/mcp.json", "[" * 100_000, "not valid JSON"),
    (".cursor/mcp.json", '{"a": ' * 10_000 + "1" + "}" * 10_000, "not valid JSON"),
    (".cursor/mcp.json", "\udcff{}", "not UTF-8"),
    (".codex/config.toml", "a = \n", "not valid TOML"),
    (".codex/config.toml", "[mcp_servers\n", "not valid TOML"),
    (".codex/config.toml", 'mcp_servers = {docs = {command = "x"}}\n', "no table can be added"),
    (".claude/CLAUDE.md", f"# Mine\n{BEGIN}\n", "do not belong together"),
    (".claude/CLAUDE.md", f"{END}\n{BEGIN}\n", "do not belong together"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "text", "message"), DAMAGED)
def test_a_damaged_file_is_refused_in_a_line_and_the_others_are_written(run, home, path, text, message):
    data = text.encode(errors="surrogateescape")
    (home / path).write_bytes(data)
    done = run("install", "--yes")
    assert done.exit_code == 1
    (line,) = [line for line in done.stdout.splitlines() if "refused" in line]
    assert str(home / path) in line
    assert message in line
    assert (home / path).read_bytes() == data
    assert b"fusesearch" in (home / ".gemini/settings.json").read_bytes()
    assert not list(home.rglob(".partial-*"))


def test_a_file_that_changes_meanwhile_is_left_alone(run, home, monkeypatch):
    def asked(*_arguments, **_options):
        (home / ".cursor/mcp.json").write_text('{"mcpServers": {"new": {}}}')
        return True

    monkeypatch.setattr("fusesearch.cli.install._agreed", asked)
    done = run("install", "--agent", "cursor")
    assert done.exit_code == 1
    assert "changed by another program" in done.stderr
    assert json.loads((home / ".cursor/mcp.json").read_text()) == {"mcpServers": {"new": {}}}


def test_a_folder_that_cannot_be_written_is_one_line(run, home):
    (home / ".cursor/mcp.json").unlink()
    (home / ".cursor/mcp.json").mkdir()
    done = run("install", "--yes", "--agent", "cursor")
    assert done.exit_code == 1
    assert "is not a file of settings" in done.stdout


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, FRESH),
        ("{}", '{"servers": { "fusesearch": ' + ENTRY + " }}"),
        ('{"servers": {}}', '{"servers": {"fusesearch": ' + ENTRY + "}}"),
        ('{"servers": {"a": 1}}', '{"servers": {"fusesearch": ' + ENTRY + ',"a": 1}}'),
        ('{ "b": 1, }', '{"servers": { "fusesearch": ' + ENTRY + ' }, "b": 1, }'),
        ('{/* c */}', '{"servers": { "fusesearch": ' + ENTRY + " }/* c */}"),
        (
            '// top\n{\n    "a": "//", // why\n    "servers": { // mine\n        "x": {"y": [1,]},\n    }\n}',
            '// top\n{\n    "a": "//", // why\n    "servers": {"fusesearch": '
            + ENTRY
            + ', // mine\n        "x": {"y": [1,]},\n    }\n}',
        ),
        (
            '{\n "servers": {\n }\n}\n',
            '{\n "servers": {"fusesearch": ' + ENTRY + "\n }\n}\n",
        ),
        (
            '{\r\n  "é😀": 1\r\n}',
            FRESH[:-3].replace("\n", "\r\n") + ',\r\n  "é😀": 1\r\n}',
        ),
    ],
)  # fmt: skip
def test_json_before_and_after(before, after):
    assert SERVER.put(before) == after
    assert SERVER.put(after) == after
    assert SERVER.take(after) == before


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ('{"servers":{"a":1,"fusesearch":%s}}', '{"servers":{"a":1}}'),
        ('{"servers":{"a":1,"fusesearch":%s,"b":2}}', '{"servers":{"a":1,"b":2}}'),
        ('{"servers":{"a":1, /* why */ "fusesearch":%s}}', '{"servers":{"a":1 /* why */}}'),
        ('{\n "servers": {\n  "fusesearch": %s\n }, "z": 1}', '{\n "servers": {\n }, "z": 1}'),
        ('{"servers":{"fusesearch":{"command":"/old/fusesearch","args":["mcp"]}}}', '{"servers":{}}'),
        ('{"servers":{"fusesearch":{"command":"python","args":["-P","-m","fusesearch","mcp"]}}}', '{"servers":{}}'),
        ('{"servers":{"fusesearch":{"command":"other"}}}', '{"servers":{"fusesearch":{"command":"other"}}}'),
        ('{"servers":{"fusesearch":{"command":{"path":"x"}}}}', '{"servers":{"fusesearch":{"command":{"path":"x"}}}}'),
        ('{"servers":[]}', '{"servers":[]}'),
        ("{}", "{}"),
    ],
)
def test_what_an_agent_wrote_anew_is_still_taken_out(written, left):
    assert SERVER.take(written.replace("%s", ENTRY)) == left


@pytest.mark.parametrize(
    ("text", "whose"),
    [
        ('{"servers": {"fusesearch": {"command": "/bin/fusesearch", "args": ["mcp", "--model", "m"]}}}', "--undo takes it out"),
        ('{"servers": {"fusesearch": {"url": "http://127.0.0.1:8765/mcp"}}}', "another program"),
    ],
)
def test_an_entry_with_other_content_is_kept(text, whose):
    with pytest.raises(OtherEntry, match=whose):
        SERVER.put(text)


def test_what_an_agent_adds_to_our_entry_is_no_other_entry():
    text = '{"servers": {"fusesearch": {"disabled": false, "command": "/bin/fusesearch", "args": ["mcp"]}}}'
    assert SERVER.put(text) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, f"{ROWS}\n"),
        ("", ROWS),
        ("a = 1\n", f"a = 1\n\n{ROWS}\n"),
        ("a = 1", f"a = 1\n\n{ROWS}"),
        ("a = 1\r\n", "a = 1\r\n\r\n" + ROWS.replace("\n", "\r\n") + "\r\n"),
        ("[mcp_servers]\n\n# end\n", f"[mcp_servers]\n\n# end\n\n{ROWS}\n"),
        (CODEX, f"{CODEX}\n{ROWS}\n"),
    ],
)
def test_toml_before_and_after(before, after):
    assert TABLE.put(before) == after
    assert TABLE.put(after) == after
    assert TABLE.take(after) == before


@pytest.mark.parametrize(
    ("written", "left"),
    [
        (f'a = 1\n\n{ROWS}\n\n[projects."/x"]\nt = 1\n', 'a = 1\n\n[projects."/x"]\nt = 1\n'),
        (f"{ROWS}\nenabled = true\n\n[mcp_servers.fusesearch.tools.ask]\nmode = 'on'\n\n# x\n[b]\n", "\n# x\n[b]\n"),
        (f"[mcp_servers.'fusesearch'] # ours\n{ROWS.partition(chr(10))[2]}\n", ""),
        ("[mcp_servers.fusesearch]\ncommand = 'other'\n", "[mcp_servers.fusesearch]\ncommand = 'other'\n"),
        ("a = 1\n", "a = 1\n"),
    ],
)
def test_a_table_is_taken_out_wherever_it_stands(written, left):
    assert TABLE.take(written) == left


def test_a_table_that_cannot_be_told_apart_is_refused():
    text = f'a = """\n[mcp_servers.fusesearch]\nx\n"""\n\n{ROWS}\n'  # the string has a line like the table's
    with pytest.raises(DataError, match="remove it by hand"):
        TABLE.take(text)


@pytest.mark.parametrize("before", [None, "", "a", "a\n", "a\n\n", "a\r\nb\r\n", "a\r\nb"])
def test_a_block_goes_as_it_came(before):
    block = Block("one\ntwo", header="---\n")
    after = block.put(before)
    assert block.put(after) == after
    assert block.take(after) == before
    assert block.take(after + "more\n" if after.endswith("\n") else after).count("one") == 0 if before else True
    assert block.take("plain\n") == "plain\n"


def test_a_block_is_renewed_in_its_place():
    old = Block("old").put("before\n") + "after\n"
    assert Block("new").put(old) == f"before\n\n{BEGIN}\nnew\n{END}\nafter\n"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(max_size=5) | st.just("servers"), JSON, max_size=4),
    st.sampled_from([None, 0, 1, 2, "\t"]),
    st.booleans(),
)
def test_any_json_keeps_all_its_bytes(value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    section = value.get("servers", {})
    if not isinstance(section, dict):
        with pytest.raises(DataError):
            SERVER.put(text)
        return
    new = SERVER.put(text)
    assert json.loads(new) == {**value, "servers": {**section, "fusesearch": dict(SERVER.entry)}}
    assert SERVER.take(new) == text
