"""``fusesearch mcp``: an MCP server for coding agents."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from fusesearch.cli.options import with_search
from fusesearch.cli.output import usage_error


@with_search()
def mcp(
    root: Annotated[list[Path], typer.Option(help="Directory to serve.", metavar="DIR")],
    transport: Annotated[
        Literal["stdio", "http"], typer.Option(help="stdio: the client starts it; or HTTP for this machine.", show_default=False)
    ] = "stdio",
    port: Annotated[int, typer.Option(help="http: its port.", min=1, max=65535, metavar="N")] = 8765,
    **search: Any,
) -> None:
    """Serve the localizer over MCP.

    Its tools are `localize`, `context` and, with a model, `ask`. They only read DIR: they change and run nothing, and clients
    cannot add directories. Over HTTP every program of this machine can ask, and no other: put a proxy in front for others.

    ```
    fusesearch mcp --root .
    fusesearch mcp --root . --checkpoint grpo/checkpoint
    fusesearch mcp --root . --transport http
    ```

    It ends with its stdin or on Ctrl-C. `fusesearch install` sets coding agents up; `docs/mcp.md` has what it writes.
    """
    from fusesearch.localizers.searcher import SearchOptions, choose
    from fusesearch.search.repository import Repository

    if len(root) > 1:
        raise usage_error("a server has one directory: start one for each", "--root")
    options, folder = SearchOptions(**search), Repository(root[0]).root
    with redirect_stdout(sys.stderr):  # stdout is for the protocol alone
        searcher = choose(options)
    from fusesearch.cli.serving import stdio
    from fusesearch.cli.serving.service import Service

    server = Service(folder, searcher).server()
    if transport == "http":
        typer.echo(f"fusesearch: serving {folder} at http://127.0.0.1:{port}/mcp", err=True)
        server.run("streamable-http", host="127.0.0.1", port=port)  # where the SDK refuses other names in Host and Origin
        return
    if sys.stdin.isatty():
        typer.echo("fusesearch: speaking MCP on stdin and stdout; normally a client starts this. Ctrl-C ends it", err=True)
    stdio.run(server)
