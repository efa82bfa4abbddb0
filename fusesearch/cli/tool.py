"""``fusesearch tool``: make one tool call and print exactly what a model would see."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from fusesearch.cli.output import print_json, usage_error


class ToolName(StrEnum):
    """The tools of ``fusesearch.search.tools``, which only a call imports."""

    grep = "grep"
    glob = "glob"
    read_file = "read_file"


def tool(
    name: Annotated[ToolName, typer.Argument(help="Tool to call.", show_choices=True)],
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
    arguments = _arguments(args)
    import asyncio

    from fusesearch.core.config import Tools
    from fusesearch.search.repository import Repository
    from fusesearch.search.tools import Toolbox

    toolbox = Toolbox(Repository(repo), Tools())
    result = asyncio.run(toolbox.call(name.value, arguments))
    print_json({"output": result.output, "entities": result.entities, "error": result.error})


def _arguments(text: str) -> dict[str, Any]:
    example = """for example '{"pattern": "TODO"}'"""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise usage_error(f"not valid JSON ({error}); {example}", "--args") from None
    if not isinstance(value, dict):
        raise usage_error(f"must be a JSON object, not {type(value).__name__}; {example}", "--args")
    return value
