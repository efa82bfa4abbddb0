"""``fusesearch localize``: find the files and functions an issue is about."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from fusesearch.cli import seconds_since_start
from fusesearch.cli.options import FILTERS, SEARCH, AnswerFormat, Repo, Save, with_options
from fusesearch.cli.output import Format, complain, print_json, read_input, save_text, usage_error
from fusesearch.cli.screen import screen
from fusesearch.core.errors import DataError

if TYPE_CHECKING:
    from fusesearch.cli.report import Report
    from fusesearch.core.schema import Instance, Trajectory
    from fusesearch.localizers.ranker.building import Progress
    from fusesearch.localizers.searcher import Searcher
    from fusesearch.search.repository import Repository

NO_ANSWER = 3
_TEXT_FILES = {".md", ".txt", ".rst", ".json", ".log"}


@with_options({**FILTERS, **SEARCH})
def localize(
    text: Annotated[
        str | None,
        typer.Argument(help="Its text, a file, its address on GitHub, or `-` for stdin.", metavar="ISSUE", show_default=False),
    ] = None,
    repo: Repo = Path(),
    issue: Annotated[str | None, typer.Option(help="The same as ISSUE.", metavar="ISSUE")] = None,
    top: Annotated[int | None, typer.Option(help="Files to show; 5 by default.", min=1, max=100, metavar="N")] = None,
    format: AnswerFormat = Format.text,
    save: Save = None,
    **search: Any,
) -> None:
    """Find the files and functions of an issue; of a question, a phrase or a word, the best places, without percentages.

    Only reads DIR, as it is on disk: it changes and runs nothing. An index is kept in the user's cache folder. An address, such
    as `OWNER/REPO#N`, is fetched with GITHUB_TOKEN if set, from GITHUB_API_URL if set.

    ```
    fusesearch localize "the text of an issue"
    fusesearch localize --repo sympy sympy/sympy#12345 --top 10
    gh issue view 12 | fusesearch localize - --format json
    fusesearch localize issue.md --model qwen3 --base-url http://host:8000/v1
    ```

    Exit codes: 0 an answer, 3 too little to go on, 1 a failure, 2 a wrong option.
    """
    from fusesearch.localizers.ranker.within import within
    from fusesearch.search.repository import Repository

    filters = {name: search.pop(name) for name in FILTERS}
    given, quiet = given_once(text, issue), format is Format.json
    if save is None and not any(search.values()):
        from fusesearch.cli.progress import indexing

        repository, problem = within(Repository(repo), **filters), issue_given(given)[1]
        with indexing(quiet=quiet) as progress:
            found = ranked(problem, repository, top, progress)
    else:
        from fusesearch.cli import report
        from fusesearch.localizers.searcher import SearchOptions, choose, instance_of

        options = SearchOptions(**search, top=top)
        repository = within(Repository(repo), **filters)
        name, problem = issue_given(given)
        instance = instance_of(repository.root.name, problem)
        instance = instance.model_copy(update={"instance_id": name}) if name else instance
        trajectory = run_and_save(instance, repository, choose(options), save, quiet=quiet)
        report.raise_on_failure(trajectory)
        found = report.Report.of(trajectory, repository)
    if format is Format.json:
        print_json(found.as_json())
    else:
        typer.echo(found.as_text(seconds_since_start(), screen()), color=True)
    raise typer.Exit(0 if found.places else NO_ANSWER)


def ranked(issue: str, repository: Repository, top: int | None, progress: Progress) -> Report:
    """The answer that an episode of the ranker gives, without the episode, whose imports take as long again."""
    from types import SimpleNamespace

    from fusesearch.cli.report import Report, cost
    from fusesearch.localizers.order import FILES
    from fusesearch.localizers.ranker import answer_of
    from fusesearch.localizers.registry import WITHOUT_MODEL

    if not issue.strip():
        raise DataError("the issue is empty")
    started = time.perf_counter()
    fields = answer_of(issue, repository, on_progress=progress, top=top or FILES)
    nothing = SimpleNamespace(prompt_tokens=0, completion_tokens=0, seconds=0.0)
    turn = SimpleNamespace(calls=[], observations=[], usage=nothing, seconds_tools=0.0)
    episode = SimpleNamespace(
        localizer=WITHOUT_MODEL, model="", mode="parallel", stop="answer" if fields["modify"] else "no_answer", turns=[turn],
        seconds=time.perf_counter() - started,
    )  # fmt: skip
    return replace(Report.of_fields(fields, cost(cast("Trajectory", episode)), repository), progress=progress)


def given_once(text: str | None, issue: str | None) -> str:
    """The issue, as an argument or an option. Raises a usage error unless there is one."""
    given = text if issue is None else issue
    if given is None or (text is not None and issue is not None):
        raise usage_error("give the issue once: its text, a file, an address or `-`", "ISSUE")
    return given


def issue_given(issue: str) -> tuple[str | None, str]:
    """Name and text of an issue. One of GitHub is named as in SWE-bench (``owner__repo-N``), any other has no name."""
    if issue == "-" or os.path.isfile(issue):
        return None, read_input(Path(issue), "issue")
    if any(character.isspace() for character in issue.strip()):
        return None, issue
    from fusesearch.cli import issues

    if address := issues.address_of(issue):
        return address.instance_id, issues.fetch(address)
    if os.path.exists(issue) or "/" in issue or Path(issue).suffix.lower() in _TEXT_FILES:
        return None, read_input(Path(issue), "issue")
    if issue.strip("#").isdecimal():
        raise DataError(f"{issue} alone does not name an issue: give OWNER/REPO#{issue.strip('#')}, or the issue's text")
    return None, issue


def run_and_save(instance: Instance, repository: Repository, searcher: Searcher, save: Path | None, *, quiet: bool) -> Trajectory:
    """Run one episode. The trajectory is saved even if the episode fails."""
    import asyncio

    from fusesearch.cli.progress import progress

    with progress(quiet=quiet) as show:

        def on_event(kind: str, payload: dict[str, Any]) -> None:
            show(kind, payload)
            if kind == "end" and save is not None:
                save_text(save, payload["trajectory"].model_dump_json(indent=2) + "\n")

        trajectory = asyncio.run(searcher.run(instance, repository, on_event))
    for change in trajectory.changes:
        if change.startswith("asked at"):  # so that the address can be given as it should be
            complain(change)
    return trajectory
