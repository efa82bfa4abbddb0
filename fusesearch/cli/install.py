"""``fusesearch install``: set up coding agents."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fusesearch.core.text import printable

if TYPE_CHECKING:
    from fusesearch.cli.installing.agents import Agent
    from fusesearch.cli.installing.changes import Change


class AgentName(StrEnum):
    """A coding agent."""

    claude = "claude"
    codex = "codex"
    cursor = "cursor"
    vscode = "vscode"
    gemini = "gemini"
    zed = "zed"


def install(
    agent: Annotated[
        list[AgentName] | None, typer.Option(help="Set up this agent, found or not; repeat the option for more.")
    ] = None,
    project: Annotated[
        bool, typer.Option("--project", help="For everybody who works in the current folder, instead of for you everywhere.")
    ] = False,
    instructions: Annotated[bool, typer.Option(help="Also tell the agent in its instructions when to ask the server.")] = True,
    undo: Annotated[bool, typer.Option("--undo", help="Take out what this command wrote.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
) -> None:
    """Set up coding agents: Claude Code, Codex CLI, Cursor, VS Code, Gemini CLI, Zed.

    Finds those on this machine and shows what it would add to which file: the MCP server `fusesearch mcp`, and a few lines of
    instructions. It writes once you agree. Everything else in those files stays as it is, and --undo restores them.

    ```
    fusesearch install
    fusesearch install --project --agent claude --yes
    fusesearch install --undo
    ```

    Exit codes: 0 all is as wanted, 1 something was not written.
    """
    from fusesearch.cli.installing.agents import agents

    folder = Path.cwd()
    known = agents(folder)
    chosen = [one for one in known if (one.id in agent if agent else one.is_here)]
    if not chosen:
        names = ", ".join(one.title for one in known)
        _say(f"found none of {names} here: name one with --agent")
        raise typer.Exit(1)
    changes, refused = _plan(chosen, folder if project else None, instructions=instructions, undo=undo)
    wanted = [change for change in changes if change.before != change.after]
    if not wanted:
        typer.echo("Nothing to take out." if undo else "Nothing to write.")
    elif yes or _agreed():
        refused |= _write(wanted)
    else:
        _say("nothing was written; --yes writes it")
        refused = True
    raise typer.Exit(1 if refused else 0)


def _plan(chosen: list[Agent], folder: Path | None, *, instructions: bool, undo: bool) -> tuple[list[Change], bool]:
    """Print and return the change of each file, and whether one was refused. Files that agents share count once."""
    from fusesearch.cli.installing.changes import planned
    from fusesearch.cli.installing.edits import Block
    from fusesearch.core.errors import DataError

    changes: dict[Path, Change] = {}
    refused, text = False, ""
    for agent in chosen:
        typer.echo(typer.style(agent.title, bold=True))
        for path, edit in agent.edits(project=folder is not None, instructions=instructions):
            try:
                change = planned(path, edit, undo=undo, inside=folder)
            except (DataError, OSError) as error:
                typer.echo(f"  refused: {printable(' '.join(str(error).split()))}")
                refused = True
                continue
            typer.echo(f"  {_short(path)}  ({change.what})")
            changes.setdefault(path.resolve(), change)
            if not undo and change.before != change.after:
                if isinstance(edit, Block):
                    text = edit.shown
                else:
                    typer.echo("".join(f"      {line}\n" for line in edit.shown.splitlines()), nl=False)
    if text:
        typer.echo(typer.style("\nInstructions", bold=True))
        typer.echo("".join(f"  {line}".rstrip() + "\n" for line in text.splitlines()))
    return list(changes.values()), refused


def _write(changes: list[Change]) -> bool:
    """Make the changes; returns whether one failed."""
    from fusesearch.cli.installing.changes import make
    from fusesearch.core.errors import DataError

    failed = 0
    for change in changes:
        try:
            make(change)
        except (DataError, OSError) as error:
            _say(f"not written: {printable(' '.join(str(error).split()))}")
            failed += 1
    done = len(changes) - failed
    typer.echo(f"{done} file{'' if done == 1 else 's'} written. Restart the agents that run.")
    return failed > 0


def _agreed() -> bool:
    """Ask on a terminal; elsewhere nobody can agree."""
    return sys.stdin.isatty() and sys.stdout.isatty() and typer.confirm("Write this?", default=False)


def _short(path: Path) -> str:
    """The path with the home folder as ``~``, or as it is in the current folder."""
    for base, prefix in ((Path.cwd(), ""), (Path.home(), "~/")):
        if path.is_relative_to(base):
            return printable(f"{prefix}{path.relative_to(base)}")
    return printable(str(path))


def _say(line: str) -> None:
    typer.echo(f"fusesearch: {line}", err=True)
