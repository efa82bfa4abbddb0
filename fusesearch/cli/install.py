"""``fusesearch install``: set up coding agents, by their own programs where they have a command for it, else by their files."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from pathlib import Path, PurePath
from typing import Annotated, Any

import typer

from fusesearch.cli.settings import Keys, at, parsed, put, take
from fusesearch.core.errors import DataError
from fusesearch.core.text import printable

AgentName = StrEnum("AgentName", ["claude", "codex", "gemini", "vscode", "cursor", "zed"])
PartName = StrEnum("PartName", ["server", "skill", "hook"])
NAME = "fusesearch"
NEW = "{}\n"  # an empty file of settings
EVENT, TOOLS = "PreToolUse", "Grep|Bash"
_HINT = re.compile(rf"{NAME}'? hint\b")
WORKSPACE = "${workspaceFolder}"
MARK = "<!-- fusesearch install wrote this file, and takes it out with --undo -->"
SKILL = Path(__file__).with_name("skill.md")

Planned = tuple[str, Callable[[], None] | None]
"""What would be done, in words, empty if the agent has no such thing; and what does it, None if it is done."""


@dataclass(frozen=True)
class Agent:
    """A coding agent. ``add`` and ``remove`` are command lines; without one, the member of ``section`` in ``file`` is edited.

    ``skill`` is a file with instructions that it reads when they fit: a sub-agent or a skill. ``hook`` is a file of settings in
    which it can be told to run a program before its own tools.
    """

    title: str
    program: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    file: Path = Path()
    section: str = ""
    skill: Path = Path()
    hook: Path = Path()


def this_program() -> list[str]:
    """The command that starts this copy from anywhere."""
    script = Path(sys.executable).with_name(NAME)
    return [str(script)] if script.is_file() else [sys.executable, "-P", "-m", NAME]


def agents() -> dict[str, Agent]:
    """The agents by name, with their places for this user."""
    home, config = Path.home(), Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    start = [*this_program(), "mcp", "--root", "."]
    entry = json.dumps({"name": NAME, "command": start[0], "args": [*start[1:-1], WORKSPACE]})
    user = ("--scope", "user", NAME)
    shared = home / f".agents/skills/{NAME}/SKILL.md"
    return {
        "claude": Agent(
            "Claude Code", "claude", ("mcp", "add", *user, "--", *start), ("mcp", "remove", *user),
            skill=home / f".claude/agents/{NAME}.md", hook=home / ".claude/settings.json",
        ),
        "codex": Agent("Codex CLI", "codex", ("mcp", "add", NAME, "--", *start), ("mcp", "remove", NAME), skill=shared),
        "gemini": Agent(
            "Gemini CLI", "gemini", ("mcp", "add", *user, start[0], "--", *start[1:]), ("mcp", "remove", *user), skill=shared
        ),
        "vscode": Agent(
            "VS Code", "code", ("--add-mcp", entry), file=config / "Code/User/mcp.json", section="servers", skill=shared
        ),
        "cursor": Agent("Cursor", "cursor", file=home / ".cursor/mcp.json", section="mcpServers", skill=shared),
        "zed": Agent("Zed", "zed", file=config / "zed/settings.json", section="context_servers"),
    }  # fmt: skip


def install(
    agent: Annotated[list[AgentName] | None, typer.Option(help="Set up this one, found or not; may be repeated.")] = None,
    part: Annotated[list[PartName] | None, typer.Option(help="Do only this; repeat the option for more.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take out what this command wrote.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
) -> None:
    """Set up coding agents: Claude Code, Codex CLI, Gemini CLI, VS Code, Cursor, Zed.

    Finds those on this machine and shows which command it would run, or what it would add to which file, so that the agent starts
    the MCP server `fusesearch mcp` (`server`), has a sub-agent or skill that says when to use it (`skill`), and (Claude Code) is
    reminded of it when it greps over the tree (`hook`). It does each once you agree; --undo takes them out again.

    ```
    fusesearch install
    fusesearch install --agent claude --yes
    fusesearch install --part hook --undo
    ```

    Exit codes: 0 all is as wanted, 1 something was not written.
    """
    known = agents()
    here = {name for name, one in known.items() if shutil.which(one.program) or (not one.add and one.file.parent.is_dir())}
    chosen = [one for name, one in known.items() if name in (agent or here)]
    if not chosen:
        raise DataError(f"found none of {', '.join(one.title for one in known.values())} here: name one with --agent")
    steps: dict[str, list[tuple[Agent, Callable[[], None]]]] = {}
    failed, told = 0, {""}
    for one in chosen:
        typer.echo(typer.style(one.title, bold=True))
        for name, planned in _PARTS.items():
            wanted = (not part or name in part) and getattr(one, name, SKILL) != Path()
            try:
                shown, step = planned(one, undo) if wanted else ("", None)
            except (DataError, OSError) as error:
                failed += _complain(one, error)
                continue
            if shown not in told:  # agents share a skill
                typer.echo(f"  {name}: {printable(shown)}")
                told.add(shown)
                if step is not None:
                    steps.setdefault(name, []).append((one, step))
    asks = not yes and sys.stdin.isatty() and sys.stdout.isatty()
    agreed = [name for name in steps if yes or (asks and typer.confirm(f"Do this for each {name}?", default=False))]
    if steps and not agreed:
        raise DataError("nothing was written; --yes writes it")
    for one, step in (pair for name in agreed for pair in steps[name]):
        try:
            step()
        except (DataError, OSError, subprocess.SubprocessError) as error:
            failed += _complain(one, error)
    typer.echo("Restart the agents that run." if steps else "Nothing to do.")
    raise typer.Exit(1 if failed else 0)


def _complain(agent: Agent, error: Exception) -> int:
    typer.echo(f"{NAME}: {agent.title}: {printable(' '.join(str(error).split()))}", err=True)
    return 1


def _skill(agent: Agent, undo: bool) -> Planned:
    """The file of the sub-agent or skill."""
    before = _read(agent.skill)
    if before and MARK not in before:
        raise DataError(f"{agent.skill} is not a file that this program wrote")
    return _change(agent.skill, before, "" if undo else _read(SKILL), "goes" if undo else "says when and how to ask fusesearch")


def _hook(agent: Agent, undo: bool) -> Planned:
    """The program that an agent runs with its own searches, by a member of a list in its settings."""
    value = {"matcher": TOOLS, "hooks": [{"type": "command", "command": shlex.join([*this_program(), "hint"])}]}
    return _member(agent.hook, ("hooks", EVENT), value, undo)


def _server(agent: Agent, undo: bool) -> Planned:
    """The command line of the agent's own program, or the change of its file. Raises :class:`DataError` where neither can be."""
    arguments = agent.remove if undo else agent.add
    if not arguments:
        first, *rest = this_program()
        entry = {"command": first, "args": [*rest, "mcp", "--root", "." if agent.section == "context_servers" else WORKSPACE]}
        return _member(agent.file, (agent.section,), entry, undo)
    if not (program := shutil.which(agent.program)):
        raise DataError(f"its program `{agent.program}` is not on the search path")

    def run() -> None:
        command = [program, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise DataError(f"`{agent.program}` ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")

    return shlex.join([agent.program, *arguments]), run


_PARTS: dict[str, Callable[[Agent, bool], Planned]] = {"skill": _skill, "hook": _hook, "server": _server}
"""In the order of writing: a program may rewrite the file that a hook is put in."""


def _member(file: Path, keys: Keys, value: Any, undo: bool) -> Planned:
    """A member ``fusesearch`` of an object, or one of a list that starts this program."""
    before = _read(file)
    try:
        known = at(parsed(before or "{}"), keys)
        listed = keys[0] == "hooks"
        members = list(enumerate(known or [])) if listed else [(NAME, one)] if (one := at(known, (NAME,))) is not None else []
        places = [place for place, one in members if _ours(one)]
        if members and not places and not listed and not undo:
            raise DataError(f"its entry `{NAME}` starts another program")
        after = before
        if undo and places:
            after = take(before, (*keys, places[0]))
        elif not undo and not places:
            after = put(before or NEW, (*keys, 0 if listed else NAME), value)
    except DataError as error:
        raise DataError(f"{file}: {error}; what belongs into `{'.'.join(map(str, keys))}` is {json.dumps(value)}") from None
    what = f"`{'.'.join(map(str, keys))}` {'without' if undo else 'gets'} {'' if listed else f'`{NAME}`: '}{json.dumps(value)}"
    return _change(file, before, after, what)


def _change(file: Path, before: str, after: str, what: str) -> Planned:
    """What is written to a file, and what does it. A file that is left with nothing goes, with folders left empty."""
    if after == before:
        return f"{file}: nothing to do", None

    def write() -> None:
        from fusesearch.core.storage import replacing

        if _read(file) != before:
            raise DataError(f"{file} was changed by another program meanwhile: run this again")
        path = file.resolve()  # a link stays
        if before and after in ("", NEW):
            path.unlink()
            with suppress(OSError):  # not empty
                for folder in takewhile(Path.home().__ne__, path.parents):
                    folder.rmdir()
            return
        with replacing(path) as temporary:
            temporary.touch(0o600)  # it may have keys
            temporary.write_text(after, encoding="utf-8", newline="")
            if path.exists():
                shutil.copymode(path, temporary)

    return f"{file}: {what}", write


def _ours(found: Any) -> bool:
    """Whether an entry or a hook starts this program."""
    if not isinstance(found, dict):
        return False
    command, arguments = str(found.get("command")), str(found.get("args"))
    by_name = PurePath(command).name == NAME or arguments.startswith(f"['-P', '-m', '{NAME}'")
    return by_name or _HINT.search(command) is not None or any(map(_ours, found.get("hooks") or []))


def _read(path: Path) -> str:
    if not path.exists():
        return ""
    try:
        if path.is_file() and path.stat().st_size <= 50_000_000:
            return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        pass
    raise DataError(f"{path} is not a file of settings in UTF-8")
