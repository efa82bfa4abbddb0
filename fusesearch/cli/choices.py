"""The options that choose a localizer and a model, shared by ``fusesearch localize`` and ``fusesearch mcp``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fusesearch.cli.output import usage_error
from fusesearch.localizers.registry import WITHOUT_MODEL

if TYPE_CHECKING:
    from fusesearch.localizers.searcher import SearchOptions


class ModeName(StrEnum):
    """How the calls of a turn run (FuseSearch, table 3)."""

    parallel = "parallel"
    sequential = "sequential"


class PreSearchName(StrEnum):
    """What a model's first message shows besides the issue."""

    none = "none"
    ranker = "ranker"


ModelOption = Annotated[
    str | None, typer.Option(help="Model of an OpenAI-compatible endpoint. Its key is read from OPENAI_API_KEY.")
]
BaseUrlOption = Annotated[
    str | None, typer.Option(help="Address of the endpoint, such as http://localhost:8000/v1; defaults to OPENAI_BASE_URL.")
]
SettingsOption = Annotated[
    Path | None,
    typer.Option(help="Directory of the checkpoint that the endpoint serves: use its prompt and limits.", metavar="DIR"),
]
CheckpointOption = Annotated[
    Path | None, typer.Option(help="Directory of a trained checkpoint to run on this machine.", metavar="DIR")
]
LocalizerOption = Annotated[
    str | None,
    typer.Option(
        help=f"How to search: one of `fusesearch localizers`. Default: fusesearch with a model, {WITHOUT_MODEL} without one.",
        metavar="NAME",
    ),
]
ModeOption = Annotated[ModeName, typer.Option(help="Several calls per turn, run at once, or one call per turn.")]
CallsOption = Annotated[
    int | None, typer.Option(help="Calls per turn of a localizer without a model; 4 if not given.", min=1, max=8)
]
TurnsOption = Annotated[int | None, typer.Option(help="Most turns; the last one must answer.", min=1)]
NewTokensOption = Annotated[
    int | None, typer.Option(help="Most tokens of one message of the model; more for one that thinks first.", min=8)
]
TemperatureOption = Annotated[float | None, typer.Option(help="Sampling temperature of the model; 0 if not given.", min=0, max=2)]
PreSearchOption = Annotated[
    PreSearchName | None,
    typer.Option(help="Show the model the first ten locations of the ranker. Default: as the checkpoint was trained."),
]


def options_of(mode: ModeName, **options: Any) -> SearchOptions:
    """The options above, checked together. Raises a usage error for values or combinations that make no sense."""
    from fusesearch.core.errors import OptionError
    from fusesearch.localizers.searcher import SearchOptions

    try:
        return SearchOptions(mode=mode.value, **options)
    except OptionError as error:
        raise usage_error(error.message, f"--{error.option}") from None
