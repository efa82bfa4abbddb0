"""The coding agents that ``fusesearch install`` knows: how to tell that one is here, and which of its files take what.

Sources: each agent's documentation of MCP and of instructions; semble's installer has the same places.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fusesearch.cli.installing.edits import NAME, Block, Edit, JsonServer, TomlServer

WORKSPACE = "${workspaceFolder}"
ZED_RULES = (
    ".rules", ".cursorrules", ".windsurfrules", ".clinerules", ".github/copilot-instructions.md", "AGENT.md", "AGENTS.md",
    "CLAUDE.md", "GEMINI.md",
)  # fmt: skip
"""Zed reads the first of these that exists."""

INSTRUCTIONS = """\
## Finding code

The MCP server `fusesearch` finds code without a model of its own, in about a second:

- `localize`: give it the whole text of an issue, an error or a traceback, before you search by hand. It returns the files and
  functions to change, with lines, reasons and a confidence. Read the first ones; search on by hand if the confidence is low.
- `context`: the code to read for an issue, within a budget of tokens: functions in full, what they call, and their callers.
- `ask`: who calls, overrides or defines something in this code, and what a default or constant is."""


@dataclass(frozen=True)
class Files:
    """The files of one scope: where the server goes, and the text that the agent reads; None if it reads none."""

    server: Path
    instructions: Path | None = None


@dataclass(frozen=True)
class Agent:
    """A coding agent. ``root`` is how it names the folder of the project; ``more`` are further keys of its entry."""

    id: str
    title: str
    programs: tuple[str, ...]
    folder: Path
    section: str
    user: Files
    project: Files
    root: str = "."
    more: dict[str, Any] = field(default_factory=dict)
    header: str = ""

    @property
    def is_here(self) -> bool:
        """Whether the agent's folder exists, or one of its programs."""
        return self.folder.is_dir() or any(map(shutil.which, self.programs))

    def edits(self, *, project: bool, instructions: bool) -> Iterator[tuple[Path, Edit]]:
        """The files to change. In a project the command is found on the search path, as others' copies lie elsewhere."""
        files = self.project if project else self.user
        command = [NAME] if project else this_program()
        entry = {"command": command[0], "args": [*command[1:], "mcp", "--root", self.root]}
        kind = TomlServer if files.server.suffix == ".toml" else JsonServer
        yield files.server, kind(self.section, entry | self.more)
        if instructions and files.instructions is not None:
            yield files.instructions, Block(INSTRUCTIONS, "" if project else self.header)


def this_program() -> list[str]:
    """The command that starts this copy from anywhere."""
    script = Path(sys.executable).with_name(NAME)
    return [str(script)] if script.is_file() else [sys.executable, "-P", "-m", NAME]


def agents(project: Path) -> tuple[Agent, ...]:
    """All agents, with their places for this user and in ``project``."""
    home = Path.home()
    config = _folder("XDG_CONFIG_HOME", home / ".config")
    claude, codex = _folder("CLAUDE_CONFIG_DIR", home / ".claude"), _folder("CODEX_HOME", home / ".codex")
    cursor, gemini, zed = home / ".cursor", _folder("GEMINI_CLI_HOME", home) / ".gemini", config / "zed"
    code = config / "Code/User"
    shared = project / "AGENTS.md"
    rules = next((project / name for name in ZED_RULES if (project / name).exists()), shared)
    return (
        Agent(
            "claude", "Claude Code", ("claude",), claude, "mcpServers",
            Files((claude if "CLAUDE_CONFIG_DIR" in os.environ else home) / ".claude.json", claude / "CLAUDE.md"),
            Files(project / ".mcp.json", project / "CLAUDE.md"), more={"type": "stdio"},
        ),
        Agent(
            "codex", "Codex CLI", ("codex",), codex, "mcp_servers",
            Files(codex / "config.toml", codex / "AGENTS.md"), Files(project / ".codex/config.toml", shared),
            more={"startup_timeout_sec": 30, "tool_timeout_sec": 600},
        ),
        Agent(
            "cursor", "Cursor", ("cursor", "cursor-agent"), cursor, "mcpServers",
            Files(cursor / "mcp.json"), Files(project / ".cursor/mcp.json", shared), root=WORKSPACE,
        ),
        Agent(
            "vscode", "VS Code", ("code",), code, "servers",
            Files(code / "mcp.json", code / "prompts/fusesearch.instructions.md"),
            Files(project / ".vscode/mcp.json", shared), root=WORKSPACE, more={"type": "stdio"},
            header='---\napplyTo: "**"\n---\n',
        ),
        Agent(
            "gemini", "Gemini CLI", ("gemini",), gemini, "mcpServers",
            Files(gemini / "settings.json", gemini / "GEMINI.md"),
            Files(project / ".gemini/settings.json", project / "GEMINI.md"),
        ),
        Agent(
            "zed", "Zed", ("zed", "zeditor"), zed, "context_servers",
            Files(zed / "settings.json", zed / "AGENTS.md"),
            Files(project / ".zed/settings.json", rules),
        ),
    )  # fmt: skip


def _folder(variable: str, default: Path) -> Path:
    return Path(os.environ.get(variable) or default)
