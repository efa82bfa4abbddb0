"""``fusesearch context``: what to read for an issue or a name, within a budget of tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fusesearch.cli.localize import NO_ANSWER, given_once, issue_given
from fusesearch.cli.options import FILTERS, AnswerFormat, Repo, with_options
from fusesearch.cli.output import Format, print_json


@with_options(FILTERS)
def context(
    text: Annotated[
        str | None, typer.Argument(help="A name; or an issue as in `localize`.", metavar="NAME|ISSUE", show_default=False)
    ] = None,
    repo: Repo = Path(),
    issue: Annotated[str | None, typer.Option(help="The same as ISSUE.", metavar="ISSUE")] = None,
    tokens: Annotated[int, typer.Option(help="Most tokens, of four bytes each.", min=100, max=100_000, metavar="N")] = 4000,
    impact: Annotated[bool, typer.Option("--impact", help="Of a name: callers of callers, and the tests to run.")] = False,
    format: AnswerFormat = Format.text,
    **filters: Any,
) -> None:
    """Print what to read for a name or an issue.

    For a name: its definitions, its callers, what it calls, the tests that name it. For an issue: the best functions, what they
    call, their callers, outlines. Only reads DIR, as it is on disk; no model is asked.

    ```
    fusesearch context YourClass.method
    fusesearch context your_function --impact --no-tests
    fusesearch context --tokens 2000 https://github.com/OWNER/REPO/issues/1 | llm "Fix this"
    ```

    Exit codes: 0 something to read, 3 too little to go on, 1 a failure or nothing has the name, 2 a wrong option.
    """
    given = given_once(text, issue)
    from fusesearch.cli import report
    from fusesearch.cli.progress import indexing
    from fusesearch.localizers.ranker.context import context_of, name_in
    from fusesearch.localizers.ranker.within import within
    from fusesearch.search.repository import Repository

    repository = within(Repository(repo), **filters)
    named = name_in(given) is not None and not Path(given).is_file()
    with indexing(quiet=format is Format.json) as progress:
        text = given if named else issue_given(given)[1]
        found = context_of(text, repository, tokens, on_progress=progress, impact=impact)
    if format is Format.json:
        print_json(report.context_json(found) | progress.fields())
    else:
        typer.echo(report.context_text(found, repository))
        for note in progress.notes():
            typer.echo(f"fusesearch: {note}", err=True)
    raise typer.Exit(0 if found.excerpts else NO_ANSWER)
