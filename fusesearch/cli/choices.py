"""The options that choose a localizer and a model, shared by ``fusesearch localize``, ``ask`` and ``mcp``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fusesearch.localizers.registry import WITHOUT_MODEL


class ModeName(StrEnum):
    """How the calls of a turn run (FuseSearch, table 3)."""

    parallel = "parallel"
    sequential = "sequential"


class ToolFormatName(StrEnum):
    """Where a model's tools stand: in the request, or as Hermes text in the system prompt."""

    auto = "auto"
    native = "native"
    hermes = "hermes"


class PreSearchName(StrEnum):
    """What a model's first message shows besides the issue."""

    none = "none"
    ranker = "ranker"


def _print_whole_help(context: typer.Context, wanted: bool) -> None:
    if wanted:
        for parameter in context.command.params:
            parameter.hidden = False  # type: ignore[attr-defined]
        typer.echo(context.get_help())
        raise typer.Exit


HelpAllOption = Annotated[
    bool,
    typer.Option("--help-all", callback=_print_whole_help, is_eager=True, help="Also show rarely used options."),
]
ModelOption = Annotated[
    str | None,
    typer.Option(help="Model of an endpoint; OPENAI_API_KEY is its key.", metavar="NAME"),
]
BaseUrlOption = Annotated[
    str | None,
    typer.Option(help="Its address, or OPENAI_BASE_URL.", metavar="URL"),
]
SettingsOption = Annotated[
    Path | None,
    typer.Option(
        help="Directory of the checkpoint that the endpoint serves: use its prompt and limits.", metavar="DIR", hidden=True
    ),
]
ToolFormatOption = Annotated[
    ToolFormatName | None,
    typer.Option(
        help="How an endpoint gets tools: in the request, or as text in the system prompt; by default, what it takes.",
        hidden=True,
    ),
]
CheckpointOption = Annotated[Path | None, typer.Option(help="A trained checkpoint, to run here.", metavar="DIR")]
LocalizerOption = Annotated[
    str | None,
    typer.Option(
        help=f"See `fusesearch localizers`; by default {WITHOUT_MODEL}.",
        metavar="NAME",
    ),
]
ModeOption = Annotated[ModeName, typer.Option(help="Several calls per turn, run at once, or one call per turn.", hidden=True)]
CallsOption = Annotated[
    int | None,
    typer.Option(help="Calls per turn of a localizer without a model; 4 if not given.", min=1, max=8, metavar="N", hidden=True),
]
TurnsOption = Annotated[int | None, typer.Option(help="Most turns; the last one must answer.", min=1, metavar="N", hidden=True)]
NewTokensOption = Annotated[
    int | None,
    typer.Option(
        help="Most tokens of one message of the model; more for one that thinks first.", min=8, metavar="N", hidden=True
    ),
]
TemperatureOption = Annotated[
    float | None, typer.Option(help="Sampling temperature of the model; 0 if not given.", min=0, max=2, metavar="X", hidden=True)
]
PreSearchOption = Annotated[
    PreSearchName | None,
    typer.Option(
        help="Show the model the first ten locations of the ranker. Default: as the checkpoint was trained.", hidden=True
    ),
]
EncoderOption = Annotated[
    str | None,
    typer.Option(
        help="Encoder of the localizers swerank and swerank-embed: a directory, or a name on the Hugging Face hub.",
        metavar="DIR",
        hidden=True,
    ),
]
