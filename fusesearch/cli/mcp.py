"""``fusesearch mcp``: an MCP server for coding agents."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fusesearch.cli import choices
from fusesearch.cli.output import usage_error

if TYPE_CHECKING:
    from fusesearch.cli.serving.service import Service

TOKEN_VARIABLE = "FUSESEARCH_MCP_TOKEN"  # noqa: S105 - the name of a variable
TOKEN_CHARS = 16


class Transport(StrEnum):
    """How clients reach the server."""

    stdio = "stdio"
    http = "http"


class ToolsChoice(StrEnum):
    """The tools that clients see."""

    answers = "answers"
    all = "all"


def mcp(
    root: Annotated[list[Path], typer.Option(help="Directory to serve; repeat it for more.", metavar="DIR")],
    transport: Annotated[
        Transport, typer.Option(help="stdio: the client starts it; or HTTP.", show_default=False)
    ] = Transport.stdio,
    tools: Annotated[
        ToolsChoice, typer.Option(help="`all`: also grep, glob, read_file.", show_default=False)
    ] = ToolsChoice.answers,
    host: Annotated[str, typer.Option(help="http: address to listen on.", hidden=True)] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="http: by default 8765.", min=0, max=65535, metavar="N", show_default=False)] = 8765,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="http: another host name that clients use for the server; repeat the option for more.",
            metavar="NAME",
            hidden=True,
        ),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            help="http: its bearer token, of 16 characters or more; by default a new one is printed.",
            envvar=TOKEN_VARIABLE,
            hidden=True,
        ),
    ] = None,
    model: choices.ModelOption = None,
    base_url: choices.BaseUrlOption = None,
    settings: choices.SettingsOption = None,
    tool_format: choices.ToolFormatOption = None,
    checkpoint: choices.CheckpointOption = None,
    localizer: choices.LocalizerOption = None,
    mode: choices.ModeOption = choices.ModeName.parallel,
    calls_per_turn: choices.CallsOption = None,
    max_turns: choices.TurnsOption = None,
    max_new_tokens: choices.NewTokensOption = None,
    temperature: choices.TemperatureOption = None,
    pre_search: choices.PreSearchOption = None,
    help_all: choices.HelpAllOption = False,
) -> None:
    """Serve the localizer over MCP.

    Its tools are `localize`, `context` and, with a model, `ask`. They only read DIR: they change and run nothing, and clients
    cannot add directories. Over HTTP clients need a token: FUSESEARCH_MCP_TOKEN, or a new one, which is printed.

    ```
    fusesearch mcp --root .
    fusesearch mcp --root . --root ../library --checkpoint grpo/checkpoint
    fusesearch mcp --root . --transport http
    ```

    It ends with its stdin or on Ctrl-C. `fusesearch install` sets coding agents up; `docs/mcp.md` has what it writes.
    """
    from fusesearch.localizers.searcher import SearchOptions, choose

    options = SearchOptions(
        mode=mode.value, model=model, base_url=base_url, settings=settings,
        tool_format=tool_format.value if tool_format else None, checkpoint=checkpoint, localizer=localizer,
        calls_per_turn=calls_per_turn, max_turns=max_turns, max_new_tokens=max_new_tokens, temperature=temperature,
        pre_search=pre_search,
    )  # fmt: skip
    if token and (len(token) < TOKEN_CHARS or not token.isascii() or not token.isprintable() or " " in token):
        raise usage_error(f"must be {TOKEN_CHARS} or more printable ASCII characters without blanks", "--token")
    from fusesearch.cli.serving import stdio
    from fusesearch.cli.serving.roots import Roots
    from fusesearch.cli.serving.service import Service

    roots = Roots(root)
    with stdio.stdout_to_stderr():
        searcher = choose(options)
    service = Service(roots, searcher, search=tools is ToolsChoice.all)
    if transport is Transport.http:
        _serve_http(service, host, port, allow_host or [], token)
        return
    if sys.stdin.isatty():
        _print("speaking MCP on stdin and stdout; normally a client starts this. Ctrl-C ends it")
    stdio.run(service.server())


def _serve_http(service: Service, host: str, port: int, names: list[str], token: str | None) -> None:
    """Serve until a signal. Prints the address on stderr, and the token if it was generated."""
    from fusesearch.cli.serving import http

    listener = http.listen(host, port)
    import secrets

    secret = token or secrets.token_urlsafe(32)
    _print(f"serving {', '.join(service.roots.names)} at {http.address(host, listener)}")
    if not token:
        _print(f"bearer token for this run: {secret}")
    if not http.is_local(host):
        _print("other machines can reach this address, and HTTP does not encrypt the token: put TLS in front")
    app = http.application(service.server(), http.BearerToken(secret), [host, *names])
    http.run(app, listener, service.stop)


def _print(line: str) -> None:
    typer.echo(f"fusesearch: {line}", err=True)
