"""``fusesearch localize``: the files and functions an issue is about."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tasks.cli.output import Format, print_json, read_input, save_text, usage_error

if TYPE_CHECKING:
    from tasks.cli.searchers import Searcher
    from tasks.core.schema import Instance, Trajectory
    from tasks.search.repository import Repository

NO_ANSWER = 3


class LocalizerName(StrEnum):
    """Localizers the command can run by name."""

    lexical = "lexical"


class ModeName(StrEnum):
    """Whether the calls of a turn run at once (FuseSearch, table 3)."""

    parallel = "parallel"
    sequential = "sequential"


def localize(
    repo: Annotated[Path, typer.Option(help="Directory to search, under git or not, as it is on disk.", metavar="DIR")],
    issue: Annotated[
        str, typer.Option(help="The issue as text, or its address on GitHub; `-` reads stdin.", metavar="FILE|ADDRESS")
    ],
    model: Annotated[str | None, typer.Option(help="Model of an OpenAI-compatible endpoint. OPENAI_API_KEY is its key.")] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Address of that endpoint, as http://localhost:8000/v1. OPENAI_BASE_URL counts too.")
    ] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="Directory of a trained checkpoint.", metavar="DIR")] = None,
    localizer: Annotated[
        LocalizerName | None, typer.Option(help="A localizer without a model; lexical is also the default.")
    ] = None,
    format: Annotated[Format, typer.Option(help="How to print the answer.")] = Format.text,
    explain: Annotated[bool, typer.Option("--explain", help="Also say which call led to each location.")] = False,
    save: Annotated[Path | None, typer.Option(help="Also write the whole trajectory to this file.", metavar="FILE")] = None,
    mode: Annotated[ModeName, typer.Option(help="Run the calls of a turn at once, or one call per turn.")] = ModeName.parallel,
    calls_per_turn: Annotated[int, typer.Option(help="Calls lexical makes in a turn.", min=1, max=8)] = 4,
    max_turns: Annotated[int | None, typer.Option(help="Turns at most; the last one answers.", min=1)] = None,
) -> None:
    """Find the files and functions of an issue.

    Nothing in DIR is changed or run, and nothing outside it is read. Without a model the lexical localizer searches.
    An ADDRESS is `https://github.com/OWNER/REPO/issues/N` or `OWNER/REPO#N`: its title and text are fetched.
    GITHUB_TOKEN is used if set; GITHUB_API_URL leads to a server of your own.

    ```
    fusesearch localize --repo . --issue issue.md
    fusesearch localize --repo . --issue https://github.com/sympy/sympy/issues/12345 --explain
    fusesearch localize --repo . --issue issue.md --checkpoint artifacts/grpo/checkpoint
    gh issue view 12 | fusesearch localize --repo . --issue - --model qwen3 --base-url http://localhost:8000/v1 --format json
    ```

    Exit codes: 0 an answer, 3 no answer, 1 a failure, 2 a wrong option.
    """
    _check_choice(model, base_url, checkpoint, localizer)
    address = _address(base_url) if model else None
    from tasks.cli import report, searchers
    from tasks.search.repository import Repository

    repository = Repository(repo)
    instance = _instance(repository, issue)
    searcher = searchers.choose(
        model=model, base_url=address, checkpoint=checkpoint, calls_per_turn=calls_per_turn, mode=mode.value, max_turns=max_turns
    )
    trajectory = _search(instance, repository, searcher, save, quiet=format is Format.json)
    report.raise_on_failure(trajectory)
    found = report.Report.of(trajectory, repository, explained=explain)
    if format is Format.json:
        print_json(found.as_json())
    else:
        typer.echo(found.as_text())
    raise typer.Exit(0 if found.modify else NO_ANSWER)


def _check_choice(model: str | None, base_url: str | None, checkpoint: Path | None, localizer: LocalizerName | None) -> None:
    chosen = [name for name, value in (("--model", model), ("--checkpoint", checkpoint), ("--localizer", localizer)) if value]
    if len(chosen) > 1:
        raise usage_error(f"{' and '.join(chosen)} exclude each other: choose one", chosen[-1])
    if base_url and not model:
        raise usage_error("name the model that the endpoint serves", "--model")


def _address(base_url: str | None) -> str:
    address = base_url or os.environ.get("OPENAI_BASE_URL", "")
    if not address.startswith(("http://", "https://")):
        raise usage_error("a model needs the address of its endpoint, for example http://localhost:8000/v1", "--base-url")
    return address


def _instance(repository: Repository, issue: str) -> Instance:
    """What to search for. An issue of GitHub gives it a name as SWE-bench makes them, a text that of the directory."""
    from tasks.cli.issues import address_of, fetch
    from tasks.core.errors import DataError
    from tasks.core.schema import Instance

    address = None if issue == "-" or os.path.isfile(issue) else address_of(issue)
    text = fetch(address) if address else read_input(Path(issue), "issue")
    if not text.strip():
        raise DataError("the issue is empty")
    name = repository.root.name
    instance_id = address.instance_id if address else name
    return Instance(instance_id=instance_id, repo=name, base_commit="", problem_statement=text)


def _search(instance: Instance, repository: Repository, searcher: Searcher, save: Path | None, *, quiet: bool) -> Trajectory:
    """One episode; its trajectory is saved however it ends."""
    import asyncio

    from tasks.cli.live import progress

    with progress(quiet=quiet) as show:

        def on_event(kind: str, payload: dict[str, Any]) -> None:
            show(kind, payload)
            if kind == "end" and save is not None:
                save_text(save, payload["trajectory"].model_dump_json(indent=2) + "\n")

        return asyncio.run(searcher.run(instance, repository, on_event))
