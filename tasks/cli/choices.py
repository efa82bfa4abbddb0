"""The options that say who searches: the same for ``fusesearch localize`` and ``fusesearch mcp``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tasks.cli.output import usage_error
from tasks.localizers.registry import LOCALIZERS

if TYPE_CHECKING:
    from tasks.localizers.searcher import SearchOptions


class ModeName(StrEnum):
    """Whether the calls of a turn run at once (FuseSearch, table 3)."""

    parallel = "parallel"
    sequential = "sequential"


ModelOption = Annotated[str | None, typer.Option(help="Model of an OpenAI-compatible endpoint. OPENAI_API_KEY is its key.")]
BaseUrlOption = Annotated[
    str | None, typer.Option(help="Address of that endpoint, as http://localhost:8000/v1. OPENAI_BASE_URL counts too.")
]
SettingsOption = Annotated[
    Path | None,
    typer.Option(help="Directory of a checkpoint: its prompt and limits, for the endpoint that serves it.", metavar="DIR"),
]
CheckpointOption = Annotated[Path | None, typer.Option(help="Directory of a trained checkpoint.", metavar="DIR")]
_SYSTEMS = "".join(f"\n\n    * `{name}`: {entry.summary}" for name, entry in LOCALIZERS.items())
LocalizerOption = Annotated[
    str | None,
    typer.Option(
        help=f"How to search; fusesearch is the default with a model, lexical without one.{_SYSTEMS}",
        metavar="NAME",
    ),
]
ModeOption = Annotated[ModeName, typer.Option(help="Run the calls of a turn at once, or one call per turn.")]
CallsOption = Annotated[int, typer.Option(help="Calls lexical makes in a turn.", min=1, max=8)]
TurnsOption = Annotated[int | None, typer.Option(help="Turns at most; the last one answers.", min=1)]


def options_of(
    model: str | None,
    base_url: str | None,
    settings: Path | None,
    checkpoint: Path | None,
    localizer: str | None,
    mode: ModeName,
    calls_per_turn: int,
    max_turns: int | None,
) -> SearchOptions:
    """The options above as one, checked. What does not fit is a usage error."""
    from tasks.core.errors import OptionError
    from tasks.localizers.searcher import SearchOptions

    try:
        return SearchOptions(model, base_url, settings, checkpoint, localizer, mode.value, calls_per_turn, max_turns)
    except OptionError as error:
        raise usage_error(error.message, f"--{error.option}") from None
