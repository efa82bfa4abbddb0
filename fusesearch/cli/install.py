"""``fusesearch install``: set up coding agents, by their own programs where they have a command for it, else by their file."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Annotated, Any

import typer

from fusesearch.core.errors import DataError
from fusesearch.core.text import printable

AgentName = StrEnum("AgentName", ["claude", "codex", "gemini", "vscode", "cursor", "zed"])
NAME = "fusesearch"
WORKSPACE = "${workspaceFolder}"
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|[{}\[\],:]|[^\s{}\[\],:"/]+|\S', re.DOTALL)


@dataclass(frozen=True)
class Agent:
    """A coding agent. ``add`` and ``remove`` are command lines; without one, the member of ``section`` in ``file`` is edited."""

    title: str
    program: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    file: Path = Path()
    section: str = ""


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
    return {
        "claude": Agent("Claude Code", "claude", ("mcp", "add", *user, "--", *start), ("mcp", "remove", *user)),
        "codex": Agent("Codex CLI", "codex", ("mcp", "add", NAME, "--", *start), ("mcp", "remove", NAME)),
        "gemini": Agent("Gemini CLI", "gemini", ("mcp", "add", *user, start[0], "--", *start[1:]), ("mcp", "remove", *user)),
        "vscode": Agent("VS Code", "code", ("--add-mcp", entry), file=config / "Code/User/mcp.json", section="servers"),
        "cursor": Agent("Cursor", "cursor", file=home / ".cursor/mcp.json", section="mcpServers"),
        "zed": Agent("Zed", "zed", file=config / "zed/settings.json", section="context_servers"),
    }


def install(
    agent: Annotated[
        list[AgentName] | None, typer.Option(help="Set up this agent, found or not; repeat the option for more.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take out what this command wrote.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
) -> None:
    """Set up coding agents: Claude Code, Codex CLI, Gemini CLI, VS Code, Cursor, Zed.

    Finds those on this machine and shows which command it would run, or what it would add to which file, so that the agent starts
    the MCP server `fusesearch mcp`. It does so once you agree; --undo takes the server out again.

    ```
    fusesearch install
    fusesearch install --agent claude --yes
    fusesearch install --undo
    ```

    Exit codes: 0 all is as wanted, 1 something was not written.
    """
    known = agents()
    here = {name for name, one in known.items() if shutil.which(one.program) or (not one.add and one.file.parent.is_dir())}
    chosen = [one for name, one in known.items() if name in (agent or here)]
    if not chosen:
        raise DataError(f"found none of {', '.join(one.title for one in known.values())} here: name one with --agent")
    steps: list[tuple[Agent, Callable[[], None]]] = []
    failed = 0
    for one in chosen:
        try:
            shown, step = _by_program(one, undo) if (one.remove if undo else one.add) else _by_file(one, undo)
        except (DataError, OSError) as error:
            failed += 1
            typer.echo(f"{NAME}: {one.title}: {printable(' '.join(str(error).split()))}", err=True)
            continue
        typer.echo(f"{typer.style(one.title, bold=True)}\n  {printable(shown)}")
        if step is not None:
            steps.append((one, step))
    if steps and not yes and not (sys.stdin.isatty() and sys.stdout.isatty() and typer.confirm("Do this?", default=False)):
        raise DataError("nothing was written; --yes writes it")
    for one, step in steps:
        try:
            step()
        except (DataError, OSError, subprocess.SubprocessError) as error:
            failed += 1
            typer.echo(f"{NAME}: {one.title}: {printable(' '.join(str(error).split()))}", err=True)
    typer.echo("Restart the agents that run." if steps else "Nothing to do.")
    raise typer.Exit(1 if failed else 0)


def _by_program(agent: Agent, undo: bool) -> tuple[str, Callable[[], None]]:
    """The command line of the agent's own program, and what runs it. Raises :class:`DataError` where it is not installed."""
    if not (program := shutil.which(agent.program)):
        raise DataError(f"its program `{agent.program}` is not on the search path")
    command = [program, *(agent.remove if undo else agent.add)]

    def run() -> None:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise DataError(f"`{agent.program}` ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")

    return shlex.join([agent.program, *command[1:]]), run


def _by_file(agent: Agent, undo: bool) -> tuple[str, Callable[[], None] | None]:
    """The change of the agent's file in words, and what makes it, if anything is to do. Raises :class:`DataError`."""
    first, *rest = this_program()
    entry = {"command": first, "args": [*rest, "mcp", "--root", "." if agent.section == "context_servers" else WORKSPACE]}
    before = _read(agent.file)
    try:
        after = without_server(before, agent.section) if undo else with_server(before, agent.section, entry)
    except DataError as error:
        raise DataError(f"{agent.file}: {error}; the entry is `{agent.section}: {{{NAME}: {json.dumps(entry)}}}`") from None
    if after == before:
        return f"{agent.file}: nothing to do", None

    def write() -> None:
        from fusesearch.core.storage import replacing

        if _read(agent.file) != before:
            raise DataError(f"{agent.file} was changed by another program meanwhile: run this again")
        path = agent.file.resolve()  # a link stays
        if undo and "".join(after.split()) == "{}":
            return path.unlink()
        with replacing(path) as temporary:
            temporary.touch(0o600)  # it may have keys
            temporary.write_text(after, encoding="utf-8", newline="")
            if path.exists():
                shutil.copymode(path, temporary)

    what = f"without `{NAME}` in `{agent.section}`" if undo else f"`{agent.section}` gets `{NAME}`: {json.dumps(entry)}"
    return f"{agent.file}: {what}", write


def with_server(text: str, section: str, entry: dict[str, Any]) -> str:
    """``text`` (JSON with comments) with the member ``fusesearch`` first in ``section``; all else stays as it is.

    Raises :class:`DataError` for a text that is no such JSON, and where another program has that name.
    """
    if not text.strip():
        return json.dumps({section: {NAME: entry}}, indent=2) + "\n"
    known = _parsed(text, section)
    if (found := known.get(section, {}).get(NAME)) is not None:
        if not _ours(found):
            raise DataError(f"its entry `{NAME}` starts another program")
        return text
    inside, member = (section,) if section in known else (), f'"{NAME}": {json.dumps(entry)}'
    start, _ = _object(text, inside)
    new = member if inside else f'"{section}": {{{member}}}'
    others = known.get(section) if inside else known
    wanted = known | {section: {**known.get(section, {}), NAME: entry}}
    return _checked(f"{text[:start]}{new}{', ' if others else ''}{text[start:]}", section, wanted)


def without_server(text: str, section: str) -> str:
    """``text`` without the member if it starts this program, and without a section that has no other; see :func:`with_server`."""
    known = _parsed(text, section) if text.strip() else {}
    if not _ours(known.get(section, {}).get(NAME)):
        return text
    rest = {name: value for name, value in known[section].items() if name != NAME}
    keys = (section, NAME) if rest else (section,)
    (inside, _), (value, last) = _object(text, keys[:-1]), _object(text, keys)
    start, end = text.rindex(json.dumps(keys[-1]), inside, value), last + 1
    if after := re.compile(r"\s*, ?").match(text, end):
        end = after.end()
    elif before := re.search(r",\s*$", text[inside:start]):
        start = inside + before.start()
    others = {name: value for name, value in known.items() if name != section}
    return _checked(text[:start] + text[end:], section, known | {section: rest} if rest else others)


def _object(text: str, keys: tuple[str, ...]) -> tuple[int, int]:
    """Where the object at ``keys`` begins (after its brace) and ends (at its brace)."""
    path: list[str] = []
    key, start = "", -1
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word[0] == '"':
            key = word
        elif word in "{[":
            path.append(key)
            if start < 0 and word == "{" and path[1:] == [json.dumps(one) for one in keys]:
                start, depth = token.end(), len(path)
        elif word in "}]" and path:
            if start >= 0 and len(path) == depth:
                return start, token.start()
            path.pop()
    raise DataError(f"{' '.join(keys)} cannot be found in it")


def _parsed(text: str, section: str) -> dict[str, Any]:
    """The value of JSON with comments and trailing commas: an object, and so is its ``section``."""
    words = [token[0] for token in _TOKEN.finditer(text.removeprefix("\ufeff")) if token[0][:2] not in ("//", "/*")]
    pairs = zip(words, [*words[1:], ""], strict=True)
    try:
        value = json.loads(" ".join(word for word, after in pairs if word != "," or after not in ("}", "]")))
    except (ValueError, RecursionError) as error:
        raise DataError(f"not valid JSON ({error})") from None
    if not isinstance(value, dict) or not isinstance(value.get(section, {}), dict):
        raise DataError("not an object of settings")
    return value


def _checked(text: str, section: str, wanted: dict[str, Any]) -> str:
    """``text`` if it says what is ``wanted``: the edit was by characters."""
    if _parsed(text, section) != wanted:
        raise DataError("it is written in a way that this program cannot edit")
    return text


def _ours(found: Any) -> bool:
    """Whether an entry starts this program."""
    entry = found if isinstance(found, dict) else {}
    return PurePath(str(entry.get("command"))).name == NAME or str(entry.get("args")).startswith(f"['-P', '-m', '{NAME}'")


def _read(path: Path) -> str:
    if not path.exists():
        return ""
    try:
        if path.is_file() and path.stat().st_size <= 50_000_000:
            return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        pass
    raise DataError(f"{path} is not a file of settings in UTF-8")
