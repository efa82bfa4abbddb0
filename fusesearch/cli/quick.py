"""``fusesearch localize`` without a model, as most call it: without Typer and pydantic, whose imports take longer than an answer.

It takes a command line only if it is certain what Typer makes of it. All others, wrong ones and those that ask for help among
them, are left to Typer.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from fusesearch.core.schema import Trajectory

OPTIONS = ("--repo", "--issue", "--format", "--top")
ANSWER, FAILURE, NO_ANSWER = 0, 1, 3
COMPLETION = "_FUSESEARCH_COMPLETE"


def options_of(arguments: Sequence[str]) -> dict[str, str] | None:
    """The options of ``localize`` by name, and its argument as ``--issue``; None if Typer has to read them."""
    given: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if not argument.startswith("-") or argument == "-":
            name, value = "--issue", argument
        elif not equals:
            value = next(rest, "")
        if name not in OPTIONS or name in given or not value or (value.startswith("-") and value != "-"):
            return None
        given[name] = value
    top = given.get("--top", "1")
    number = top.isascii() and top.isdecimal() and 1 <= int(top[:4]) <= 100
    fits = number and given.get("--format", "text") in ("text", "json") and "--issue" in given
    return given if fits and all(map(_encodable, given.values())) else None


def localize(arguments: Sequence[str]) -> int | None:
    """Print the answer; the exit code, or None if Typer has to run this command line."""
    given = options_of(arguments)
    if given is None or COMPLETION in os.environ or not _says_what(given["--issue"]):
        return None
    from fusesearch.cli.output import Format, print_json, read_input
    from fusesearch.core.errors import FusesearchError
    from fusesearch.search.repository import Repository

    issue, style = given["--issue"], Format(given.get("--format", "text"))
    try:
        repository = Repository(Path(given.get("--repo", ".")))
        if issue == "-" or os.path.isfile(issue):
            issue = read_input(Path(issue), "issue")
        if not issue.strip():
            raise FusesearchError("the issue is empty")
        found = _answered(issue, repository, int(given.get("--top", 0)), quiet=style is Format.json)
    except (FusesearchError, OSError) as error:
        print(f"fusesearch: {' '.join(str(error).split())}", file=sys.stderr)
        return FAILURE
    try:
        if style is Format.json:
            print_json(found.as_json())
        else:
            from fusesearch.cli import seconds_since_start

            print(found.as_text(seconds_since_start()), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains as it ends
        return FAILURE
    return ANSWER if found.modify else NO_ANSWER


def _answered(issue: str, repository: Any, top: int, *, quiet: bool) -> Any:
    from fusesearch.cli.progress import indexing
    from fusesearch.cli.report import Report, cost
    from fusesearch.localizers.order import FILES
    from fusesearch.localizers.ranker import ranking_of
    from fusesearch.localizers.ranker.places import FEW_FILES, fields_for_people
    from fusesearch.localizers.registry import WITHOUT_MODEL

    started = time.perf_counter()
    with indexing(quiet=quiet) as progress:
        ranking = ranking_of(issue, repository, on_progress=progress, least=FEW_FILES)
    fields = fields_for_people(ranking, issue, top or FILES)
    nothing = SimpleNamespace(prompt_tokens=0, completion_tokens=0, seconds=0.0)
    turn = SimpleNamespace(calls=[], observations=[], usage=nothing, seconds_tools=0.0)
    episode = SimpleNamespace(
        localizer=WITHOUT_MODEL, model="", mode="parallel", stop="answer" if fields["modify"] else "no_answer", turns=[turn],
        seconds=time.perf_counter() - started,
    )  # fmt: skip
    return Report.of_fields(fields, cost(cast("Trajectory", episode)), repository)


def _says_what(issue: str) -> bool:
    """Whether this is a text or a file, and not an address."""
    return issue == "-" or os.path.isfile(issue) or any(character.isspace() for character in issue.strip())


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
