"""``fusesearch ask``: answer a question about a repository."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from fusesearch.cli import seconds_since_start
from fusesearch.cli.localize import NO_ANSWER, run_and_save
from fusesearch.cli.options import OWN_OPTIONS, AnswerFormat, Repo, Save, with_search
from fusesearch.cli.output import Format, print_json, read_input


@with_search("pre_search", "localizer", *OWN_OPTIONS)
def ask(
    question: Annotated[str, typer.Argument(help="Its text, or `-` for stdin.", metavar="QUESTION")],
    repo: Repo = Path(),
    localizer: Annotated[str | None, typer.Option(help="fusesearch, or closed-book, rag, ircot.", metavar="NAME")] = None,
    tools: Annotated[
        Literal["questions", "repoqa"],
        typer.Option(help="grep, glob and read_file in parallel, or RepoQA-Agent's five, one a turn.", show_default=False),
    ] = "questions",
    format: AnswerFormat = Format.text,
    save: Save = None,
    **search: Any,
) -> None:
    """Let a model answer a question about the code in DIR.

    Only reads DIR: it changes and runs nothing. Without a model, `fusesearch context NAME` shows where a name is defined, who
    calls it and which tests name it.

    ```
    fusesearch ask 'How are results cached?' --model qwen3 --base-url http://host:8000/v1
    ```

    Exit codes: 0 an answer, 3 no answer, 1 a failure, 2 a wrong option.
    """
    from fusesearch.cli import report
    from fusesearch.localizers.searcher import SearchOptions, choose_answerer, instance_of
    from fusesearch.search.repository import Repository

    options = SearchOptions(**search, localizer=localizer)
    repository = Repository(repo)
    text = read_input(Path("-"), "question") if question == "-" else question
    searcher = choose_answerer(options, tools)
    instance = instance_of(repository.root.name, text, "question")
    trajectory = run_and_save(instance, repository, searcher, save, quiet=format is Format.json)
    report.raise_on_failure(trajectory)
    if format is Format.json:
        print_json(report.answer_json(trajectory))
    else:
        typer.echo(report.answer_text(trajectory, seconds_since_start()))
    raise typer.Exit(0 if trajectory.stop == "answer" else NO_ANSWER)
