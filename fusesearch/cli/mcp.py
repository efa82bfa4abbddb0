"""``fusesearch mcp``: an MCP server for coding agents."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fusesearch.cli.choices import (
    BaseUrlOption,
    CallsOption,
    CheckpointOption,
    HelpAllOption,
    LocalizerOption,
    ModelOption,
    ModeName,
    ModeOption,
    NewTokensOption,
    PreSearchOption,
    SettingsOption,
    TemperatureOption,
    TurnsOption,
)
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
    root: Annotated[list[Path], typer.Option(help="Directory to serve; repeat the option for more.", metavar="DIR")],
    transport: Annotated[
        Transport, typer.Option(help="stdio (the client starts the server) or streamable HTTP.")
    ] = Transport.stdio,
    tools: Annotated[
        ToolsChoice, typer.Option(help="localize, context and ask; or all, with grep, glob and read_file.")
    ] = ToolsChoice.answers,
    host: Annotated[str, typer.Option(help="http: address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="http: port to listen on; 0 takes a free one.", min=0, max=65535, metavar="N")] = 8765,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="http: another host name that clients use for the server; repeat the option for more.", metavar="NAME"),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            help="http: bearer token of at least 16 characters; by default a new one is printed.", envvar=TOKEN_VARIABLE
        ),
    ] = None,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    settings: SettingsOption = None,
    checkpoint: CheckpointOption = None,
    localizer: LocalizerOption = None,
    mode: ModeOption = ModeName.parallel,
    calls_per_turn: CallsOption = None,
    max_turns: TurnsOption = None,
    max_new_tokens: NewTokensOption = None,
    temperature: TemperatureOption = None,
    pre_search: PreSearchOption = None,
    help_all: HelpAllOption = False,
) -> None:
    """Serve the localizer over MCP.

    Tools: `localize`, `context` and `ask`; with `--tools all` also those of `fusesearch tool`. They only read DIR: they change
    nothing, run nothing and read nothing outside it, and clients cannot add directories.

    ```
    fusesearch mcp --root .
    fusesearch mcp --root . --root ../library --checkpoint artifacts/grpo/checkpoint
    FUSESEARCH_MCP_TOKEN=$(openssl rand -hex 32) fusesearch mcp --root . --transport http --port 8765
    ```

    The server ends with its stdin or on Ctrl-C. `docs/mcp.md` shows how to configure common coding agents.
    """
    from fusesearch.localizers.searcher import SearchOptions, choose

    options = SearchOptions(
        mode=mode.value, model=model, base_url=base_url, settings=settings, checkpoint=checkpoint, localizer=localizer,
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
