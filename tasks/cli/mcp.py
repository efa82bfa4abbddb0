"""``fusesearch mcp``: an MCP server for coding agents."""

from __future__ import annotations

import secrets
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tasks.cli.choices import (
    BaseUrlOption,
    CallsOption,
    CheckpointOption,
    LocalizerOption,
    ModelOption,
    ModeName,
    ModeOption,
    SettingsOption,
    TurnsOption,
    options_of,
)
from tasks.cli.output import usage_error

if TYPE_CHECKING:
    from tasks.cli.serving.service import Service

TOKEN_VARIABLE = "FUSESEARCH_MCP_TOKEN"  # noqa: S105 - the name of a variable
TOKEN_CHARS = 16


class Transport(StrEnum):
    """What a client reaches the server over."""

    stdio = "stdio"
    http = "http"


def mcp(
    root: Annotated[list[Path], typer.Option(help="Directory to serve; repeat the option for more.", metavar="DIR")],
    transport: Annotated[Transport, typer.Option(help="stdin and stdout, or streamable HTTP.")] = Transport.stdio,
    host: Annotated[str, typer.Option(help="http: address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="http: port to listen on; 0 takes a free one.", min=0, max=65535)] = 8765,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="http: another name by which clients reach the server; may be repeated.", metavar="NAME"),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            help="http: bearer token of at least 16 characters; made and printed when none is given.", envvar=TOKEN_VARIABLE
        ),
    ] = None,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    settings: SettingsOption = None,
    checkpoint: CheckpointOption = None,
    localizer: LocalizerOption = None,
    mode: ModeOption = ModeName.parallel,
    calls_per_turn: CallsOption = 4,
    max_turns: TurnsOption = None,
) -> None:
    """Serve the localizer and the search tools over MCP.

    Tools: `localize` and those of `fusesearch tool`. Nothing in DIR is changed or run, and nothing outside it is read;
    a client cannot name other directories. Without a model the lexical localizer searches,
    unless --localizer names another.

    ```
    fusesearch mcp --root .
    fusesearch mcp --root . --root ../library --checkpoint artifacts/grpo/checkpoint
    FUSESEARCH_MCP_TOKEN=$(openssl rand -hex 32) fusesearch mcp --root . --transport http --port 8765
    ```

    Ends when its stdin does, or on Ctrl-C. `docs/mcp.md` has the configuration of common coding agents.
    """
    options = options_of(model, base_url, settings, checkpoint, localizer, mode, calls_per_turn, max_turns)
    _check_token(token)
    from tasks.cli.serving import stdio
    from tasks.cli.serving.roots import Roots
    from tasks.cli.serving.service import Service
    from tasks.localizers.searcher import choose

    roots = Roots(root)
    with stdio.stdout_to_stderr():
        searcher = choose(options)
    service = Service(roots, searcher)
    if transport is Transport.http:
        _serve_http(service, host, port, allow_host or [], token)
        return
    if sys.stdin.isatty():
        _say("MCP over stdin and stdout, for a client to start; Ctrl-C ends it")
    stdio.run(service.server())


def _check_token(token: str | None) -> None:
    """Raise a usage error, which does not repeat the token, when it is too short to be one or cannot stand in a header."""
    if token and (len(token) < TOKEN_CHARS or not token.isascii() or not token.isprintable() or " " in token):
        raise usage_error(f"must be {TOKEN_CHARS} or more printable ASCII characters without blanks", "--token")


def _serve_http(service: Service, host: str, port: int, names: list[str], token: str | None) -> None:
    """Serve until a signal; say on stderr where, and which token was made if none was given."""
    from tasks.cli.serving import http

    listener = http.listen(host, port)
    secret = token or secrets.token_urlsafe(32)
    _say(f"serving {', '.join(service.roots.names)} at {http.address(host, listener)}")
    if not token:
        _say(f"bearer token, made for this run: {secret}")
    if not http.is_local(host):
        _say("others can reach this address, and HTTP does not hide the token: put TLS in front")
    app = http.application(service.server(), http.BearerToken(secret), [host, *names])
    http.run(app, listener, service.stop)


def _say(line: str) -> None:
    typer.echo(f"fusesearch: {line}", err=True)
