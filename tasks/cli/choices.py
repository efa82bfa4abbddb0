"""The options that say who searches: the same for ``fusesearch localize`` and ``fusesearch mcp``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tasks.cli.output import usage_error
from tasks.localizers.registry import LOCALIZERS


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
_SYSTEMS = "".join(f"\n\n    * `{name}`: {entry.says}" for name, entry in LOCALIZERS.items())
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


@dataclass(frozen=True)
class SearchOptions:
    """The options above, checked.

    Raises a usage error for an unknown localizer, two models, a model where none is asked or none where one is, and a model
    without the address of its endpoint, which ``OPENAI_BASE_URL`` gives too.
    """

    model: str | None
    base_url: str | None
    settings: Path | None
    checkpoint: Path | None
    localizer: str | None
    mode: ModeName
    calls_per_turn: int
    max_turns: int | None

    def __post_init__(self) -> None:
        if self.localizer and self.localizer not in LOCALIZERS:
            raise usage_error(f"{self.localizer!r} is unknown: use one of {', '.join(LOCALIZERS)}", "--localizer")
        if self.model and self.checkpoint:
            raise usage_error("--model and --checkpoint exclude each other: choose one", "--checkpoint")
        given = "--model" if self.model else "--checkpoint" if self.checkpoint else None
        asks_model = LOCALIZERS[self.localizer].asks_model if self.localizer else bool(given)
        if asks_model and not given:
            raise usage_error(f"{self.localizer} asks a model: name one with --model or --checkpoint", "--localizer")
        if given and not asks_model:
            raise usage_error(f"{given} and --localizer {self.localizer}, which asks no model, exclude each other", "--localizer")
        if self.base_url and not self.model:
            raise usage_error("name the model that the endpoint serves", "--model")
        if self.settings and not self.model:
            raise usage_error("is for a model behind an endpoint: name it with --model", "--settings")
        if self.model:
            address = self.base_url or os.environ.get("OPENAI_BASE_URL", "")
            if not address.startswith(("http://", "https://")):
                raise usage_error("a model needs the address of its endpoint, for example http://localhost:8000/v1", "--base-url")
            object.__setattr__(self, "base_url", address)
