"""The options that say who searches: the same for ``fusesearch localize`` and ``fusesearch mcp``."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tasks.cli.output import usage_error


class LocalizerName(StrEnum):
    """Localizers the commands can run by name."""

    lexical = "lexical"


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
LocalizerOption = Annotated[LocalizerName | None, typer.Option(help="A localizer without a model; lexical is also the default.")]
ModeOption = Annotated[ModeName, typer.Option(help="Run the calls of a turn at once, or one call per turn.")]
CallsOption = Annotated[int, typer.Option(help="Calls lexical makes in a turn.", min=1, max=8)]
TurnsOption = Annotated[int | None, typer.Option(help="Turns at most; the last one answers.", min=1)]


def check_choice(
    model: str | None, base_url: str | None, settings: Path | None, checkpoint: Path | None, localizer: LocalizerName | None
) -> None:
    """Raise a usage error when more than one searcher is named, or an endpoint or settings without their model."""
    chosen = [name for name, value in (("--model", model), ("--checkpoint", checkpoint), ("--localizer", localizer)) if value]
    if len(chosen) > 1:
        raise usage_error(f"{' and '.join(chosen)} exclude each other: choose one", chosen[-1])
    if base_url and not model:
        raise usage_error("name the model that the endpoint serves", "--model")
    if settings and not model:
        raise usage_error("is for a model behind an endpoint: name it with --model", "--settings")


def address_of(base_url: str | None) -> str:
    """Address of the endpoint, from the option or ``OPENAI_BASE_URL``; raises a usage error when neither is one."""
    address = base_url or os.environ.get("OPENAI_BASE_URL", "")
    if not address.startswith(("http://", "https://")):
        raise usage_error("a model needs the address of its endpoint, for example http://localhost:8000/v1", "--base-url")
    return address
