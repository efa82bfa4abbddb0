"""The options that commands share. :data:`SEARCH` has those that choose a localizer and its model, for :func:`with_search`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

from fusesearch.cli.output import Format
from fusesearch.localizers.registry import OWN, WITHOUT_MODEL

Repo = Annotated[Path, typer.Option(help="Directory to search, by default this.", metavar="DIR", show_default=False)]
AnswerFormat = Annotated[Format, typer.Option(help="How to print it.", show_default=False)]
Save = Annotated[Path | None, typer.Option(help="Also write the trajectory here.", metavar="FILE")]
BaseUrl = Annotated[str | None, typer.Option(help="Its address, or OPENAI_BASE_URL.", metavar="URL")]
FILTERS: dict[str, Any] = {
    "path": Annotated[str | None, typer.Option(help="Only this folder, file or glob; several by commas.", metavar="GLOB")],
    "lang": Annotated[str | None, typer.Option(help="Only this language or suffix; several by commas.", metavar="NAME")],
    "since": Annotated[str | None, typer.Option(help="Only what changed since `3 weeks`, a date, a revision.", metavar="WHEN")],
    "no_tests": Annotated[bool | None, typer.Option("--no-tests", help="Leave tests out.", show_default=False)],
}
"""What :func:`fusesearch.localizers.ranker.within.within` takes."""

OWN_OPTIONS: dict[str, Any] = {name: Annotated[str | None, typer.Option(help=said, metavar="NAME")] for name, said in OWN.items()}
"""Those that localizers need of their own."""

SEARCH: dict[str, Any] = {
    "model": Annotated[str | None, typer.Option(help="Model of an endpoint; OPENAI_API_KEY is its key.", metavar="NAME")],
    "base_url": BaseUrl,
    "settings": Annotated[Path | None, typer.Option(help="Checkpoint that it serves: use its prompt and limits.", metavar="DIR")],
    "tool_format": Annotated[
        Literal["auto", "native", "hermes"] | None, typer.Option(help="Where it gets tools: in the request, or as text.")
    ],
    "checkpoint": Annotated[Path | None, typer.Option(help="A trained checkpoint, to run here.", metavar="DIR")],
    "localizer": Annotated[str | None, typer.Option(help=f"See `localizers`; by default {WITHOUT_MODEL}.", metavar="NAME")],
    **OWN_OPTIONS,
    "max_turns": Annotated[int | None, typer.Option(help="Most turns; the last one must answer.", min=1, metavar="N")],
    "max_new_tokens": Annotated[int | None, typer.Option(help="Most tokens of a message of the model.", min=8, metavar="N")],
    "pre_search": Annotated[
        Literal["none", "ranker"] | None, typer.Option(help="Show the model the ranker's first ten locations.")
    ],
}
"""The type of each field of :class:`fusesearch.localizers.searcher.SearchOptions`, with what its option says."""

Command = TypeVar("Command", bound=Callable[..., None])


def with_search(*without: str) -> Callable[[Command], Command]:
    """:func:`with_options` of :data:`SEARCH`, but those named."""
    return with_options({name: kind for name, kind in SEARCH.items() if name not in without})


def with_options(options: dict[str, Any]) -> Callable[[Command], Command]:
    """A decorator for commands: in place of ``**more`` Typer sees the options."""

    def decorated(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for name, kind in options.items()
        ]
        command.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        return command

    return decorated
