"""``fusesearch localize``: find the files and functions an issue is about."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fusesearch.cli import choices, seconds_since_start
from fusesearch.cli.output import Format, print_json, read_input, save_text, usage_error
from fusesearch.core.errors import DataError

if TYPE_CHECKING:
    from fusesearch.core.schema import Instance, Trajectory
    from fusesearch.localizers.searcher import Searcher
    from fusesearch.search.repository import Repository

NO_ANSWER = 3
_TEXT_FILES = {".md", ".txt", ".rst", ".json", ".log"}


def localize(
    text: Annotated[
        str | None,
        typer.Argument(help="Its text, a file, its address on GitHub, or `-` for stdin.", metavar="ISSUE", show_default=False),
    ] = None,
    repo: Annotated[Path, typer.Option(help="Directory to search, by default this.", metavar="DIR", show_default=False)] = Path(),
    issue: Annotated[str | None, typer.Option(help="The same as ISSUE.", metavar="ISSUE", hidden=True)] = None,
    model: choices.ModelOption = None,
    base_url: choices.BaseUrlOption = None,
    settings: choices.SettingsOption = None,
    tool_format: choices.ToolFormatOption = None,
    checkpoint: choices.CheckpointOption = None,
    localizer: choices.LocalizerOption = None,
    encoder: choices.EncoderOption = None,
    top: Annotated[int | None, typer.Option(help="Files to show; 5 by default.", min=1, max=100, metavar="N")] = None,
    format: Annotated[Format, typer.Option(help="How to print it.", show_default=False)] = Format.text,
    save: Annotated[Path | None, typer.Option(help="Also write the trajectory here.", metavar="FILE", hidden=True)] = None,
    mode: choices.ModeOption = choices.ModeName.parallel,
    calls_per_turn: choices.CallsOption = None,
    max_turns: choices.TurnsOption = None,
    max_new_tokens: choices.NewTokensOption = None,
    temperature: choices.TemperatureOption = None,
    pre_search: choices.PreSearchOption = None,
    help_all: choices.HelpAllOption = False,
) -> None:
    """Find the files and functions of an issue.

    Only reads DIR, as it is on disk: it changes and runs nothing. An index is kept in the user's cache folder. An address, such
    as `OWNER/REPO#N`, is fetched with GITHUB_TOKEN if set, from GITHUB_API_URL if set.

    ```
    fusesearch localize "perimeter(3) returns 9 but should be 12"
    fusesearch localize --repo sympy sympy/sympy#12345 --top 10
    gh issue view 12 | fusesearch localize - --format json
    fusesearch localize issue.md --model qwen3 --base-url http://host:8000/v1
    ```

    Exit codes: 0 an answer, 3 too little to go on, 1 a failure, 2 a wrong option.
    """
    from fusesearch.cli import report
    from fusesearch.localizers.searcher import SearchOptions, choose
    from fusesearch.search.repository import Repository

    given = given_once(text, issue)
    options = SearchOptions(
        mode=mode.value, model=model, base_url=base_url, settings=settings,
        tool_format=tool_format.value if tool_format else None, checkpoint=checkpoint, localizer=localizer,
        calls_per_turn=calls_per_turn, max_turns=max_turns, max_new_tokens=max_new_tokens, temperature=temperature,
        top=top, pre_search=pre_search, encoder=encoder,
    )  # fmt: skip
    repository = Repository(repo)
    instance = instance_given(repository.root.name, given)
    searcher = choose(options)
    trajectory = run_and_save(instance, repository, searcher, save, quiet=format is Format.json)
    report.raise_on_failure(trajectory)
    found = report.Report.of(trajectory, repository)
    if format is Format.json:
        print_json(found.as_json())
    else:
        typer.echo(found.as_text(seconds_since_start()))
    raise typer.Exit(0 if found.modify else NO_ANSWER)


def given_once(text: str | None, issue: str | None) -> str:
    """The issue, as an argument or an option. Raises a usage error unless there is one."""
    given = text if issue is None else issue
    if given is None or (text is not None and issue is not None):
        raise usage_error("give the issue once: its text, a file, an address or `-`", "ISSUE")
    return given


def instance_given(tree: str, issue: str) -> Instance:
    """The task. A GitHub issue names it as in SWE-bench (``owner__repo-N``), any other text gets the name of the directory."""
    from fusesearch.localizers.searcher import instance_of

    if issue == "-" or os.path.isfile(issue):
        return instance_of(tree, read_input(Path(issue), "issue"))
    if any(character.isspace() for character in issue.strip()):
        return instance_of(tree, issue)
    from fusesearch.cli import issues

    if address := issues.address_of(issue):
        instance = instance_of(tree, issues.fetch(address))
        return instance.model_copy(update={"instance_id": address.instance_id})
    if os.path.exists(issue) or "/" in issue or Path(issue).suffix.lower() in _TEXT_FILES:
        return instance_of(tree, read_input(Path(issue), "issue"))
    if issue.strip("#").isdecimal():
        raise DataError(f"{issue} alone does not name an issue: give OWNER/REPO#{issue.strip('#')}, or the issue's text")
    return instance_of(tree, issue)


def run_and_save(instance: Instance, repository: Repository, searcher: Searcher, save: Path | None, *, quiet: bool) -> Trajectory:
    """Run one episode. The trajectory is saved even if the episode fails."""
    import asyncio

    from fusesearch.cli.progress import progress

    with progress(quiet=quiet) as show:

        def on_event(kind: str, payload: dict[str, Any]) -> None:
            show(kind, payload)
            if kind == "end" and save is not None:
                save_text(save, payload["trajectory"].model_dump_json(indent=2) + "\n")

        return asyncio.run(searcher.run(instance, repository, on_event))
