"""``fusesearch context``: what to read for an issue, within a budget of tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fusesearch.cli.localize import NO_ANSWER, given_once, instance_given
from fusesearch.cli.output import Format, print_json


def context(
    text: Annotated[
        str | None,
        typer.Argument(
            help="The issue: its text, a file, its address on GitHub, or `-` for stdin.", metavar="ISSUE", show_default=False
        ),
    ] = None,
    repo: Annotated[Path, typer.Option(help="Directory to search.", metavar="DIR")] = Path(),
    issue: Annotated[str | None, typer.Option(help="The same as ISSUE.", metavar="ISSUE")] = None,
    tokens: Annotated[
        int, typer.Option(help="The most to print, in tokens of four bytes each.", min=100, max=100_000, metavar="N")
    ] = 4000,
    format: Annotated[Format, typer.Option(help="How to print it.")] = Format.text,
) -> None:
    """Print what to read for an issue: the best functions, what they call, their callers, outlines.

    Only reads DIR, as it is on disk: it changes nothing, runs nothing and reads nothing outside it. No model is asked: the
    ranker chooses, as in `localize`. The best stands first, with its path and lines, and no function stands twice.

    ```
    fusesearch context "perimeter(3) returns 9 but should be 12" --tokens 2000
    fusesearch context --repo . --issue https://github.com/sympy/sympy/issues/12345 | llm "Fix this"
    ```

    Exit codes: 0 something to read, 3 too little to go on, 1 a failure, 2 a wrong option.
    """
    given = given_once(text, issue)
    from fusesearch.cli import report
    from fusesearch.cli.progress import progress
    from fusesearch.localizers.ranker.context import context_of
    from fusesearch.search.repository import Repository

    repository = Repository(repo)
    instance = instance_given(repository.root.name, given)
    with progress(quiet=format is Format.json) as show:

        def on_progress(done: int, total: int) -> None:
            show("index", {"done": done, "total": total})

        found = context_of(instance.problem_statement, repository, tokens, on_progress=on_progress)
    if format is Format.json:
        print_json(report.context_json(found))
    else:
        typer.echo(report.context_text(found))
    raise typer.Exit(0 if found.excerpts else NO_ANSWER)
