"""``fusesearch tool``: make one tool call and print exactly what a model would see."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from fusesearch.cli.output import print_json, usage_error


def tool(
    name: Annotated[Literal["grep", "glob", "read_file"], typer.Argument(help="Tool to call.")],
    repo: Annotated[Path, typer.Option(help="Directory to search; nothing outside it is read.", metavar="DIR")],
    args: Annotated[str, typer.Option(help="Arguments of the call, a JSON object.", metavar="JSON")],
) -> None:
    """Call one search tool as a model would.

    Paths in the arguments are absolute under `/repo`, which stands for DIR, or relative to it.
    Prints one JSON object: `output`, `entities` (`path` or `path:line`) and `error` (or null).
    The exit code is 0 even if the call fails, since the model sees the error.

    ```
    fusesearch tool grep --repo . --args '{"pattern": "def main", "output_mode": "content"}'
    fusesearch tool glob --repo . --args '{"pattern": "**/test_*.py"}'
    fusesearch tool read_file --repo . --args '{"path": "/repo/setup.py", "start_line": 1, "end_line": 20}'
    ```
    """
    example = """for example '{"pattern": "TODO"}'"""
    try:
        arguments = json.loads(args)
    except (ValueError, RecursionError) as error:
        raise usage_error(f"not valid JSON ({error}); {example}", "--args") from None
    if not isinstance(arguments, dict):
        raise usage_error(f"must be a JSON object, not {type(arguments).__name__}; {example}", "--args")
    import asyncio

    from fusesearch.core.config import Tools
    from fusesearch.search.repository import Repository
    from fusesearch.search.tools import Toolbox

    toolbox = Toolbox(Repository(repo), Tools())
    result = asyncio.run(toolbox.call(name, arguments))
    print_json({"output": result.output, "entities": result.entities, "error": result.error})
