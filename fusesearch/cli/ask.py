"""``fusesearch ask``: answer a question about a repository."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fusesearch.cli import choices, seconds_since_start
from fusesearch.cli.localize import NO_ANSWER, run_and_save
from fusesearch.cli.output import Format, print_json, read_input


class ToolsName(StrEnum):
    """The tools that a model gets."""

    questions = "questions"
    repoqa = "repoqa"


def ask(
    question: Annotated[str, typer.Argument(help="Its text, or `-` for stdin.", metavar="QUESTION")],
    repo: Annotated[Path, typer.Option(help="Directory to search, by default this.", metavar="DIR", show_default=False)] = Path(),
    model: choices.ModelOption = None,
    base_url: choices.BaseUrlOption = None,
    settings: choices.SettingsOption = None,
    tool_format: choices.ToolFormatOption = None,
    checkpoint: choices.CheckpointOption = None,
    localizer: Annotated[
        str | None,
        typer.Option(help="By default fusesearch; or closed-book, rag, ircot.", metavar="NAME"),
    ] = None,
    tools: Annotated[
        ToolsName,
        typer.Option(
            help="A model's tools: grep, glob and read_file in parallel, or RepoQA-Agent's five, one a turn.", hidden=True
        ),
    ] = ToolsName.questions,
    format: Annotated[Format, typer.Option(help="How to print it.", show_default=False)] = Format.text,
    save: Annotated[Path | None, typer.Option(help="Also write the trajectory here.", metavar="FILE", hidden=True)] = None,
    mode: choices.ModeOption = choices.ModeName.parallel,
    calls_per_turn: choices.CallsOption = None,
    max_turns: choices.TurnsOption = None,
    max_new_tokens: choices.NewTokensOption = None,
    temperature: choices.TemperatureOption = None,
    help_all: choices.HelpAllOption = False,
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

    options = SearchOptions(
        mode=mode.value, model=model, base_url=base_url, settings=settings,
        tool_format=tool_format.value if tool_format else None, checkpoint=checkpoint, localizer=localizer,
        calls_per_turn=calls_per_turn, max_turns=max_turns, max_new_tokens=max_new_tokens, temperature=temperature,
    )  # fmt: skip
    repository = Repository(repo)
    text = read_input(Path("-"), "question") if question == "-" else question
    searcher = choose_answerer(options, tools.value)
    instance = instance_of(repository.root.name, text, "question")
    trajectory = run_and_save(instance, repository, searcher, save, quiet=format is Format.json)
    report.raise_on_failure(trajectory)
    if format is Format.json:
        print_json(report.answer_json(trajectory))
    else:
        typer.echo(report.answer_text(trajectory, seconds_since_start()))
    raise typer.Exit(0 if trajectory.stop == "answer" else NO_ANSWER)
