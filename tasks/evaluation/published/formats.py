"""The formats by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tasks.core.errors import ConfigError
from tasks.evaluation.published import agentless, codescout, cosil, locagent, orcaloca
from tasks.evaluation.published.claims import Published


class Format(NamedTuple):
    """How to read the files of one system, and what they are."""

    read: Callable[[Path], Iterator[Published]]
    files: str


FORMATS = {
    "agentless": Format(agentless.read, "loc_outputs.jsonl of any stage: found_files, found_related_locs, found_edit_locs"),
    "cosil": Format(
        cosil.read, "JSON lines of found_files and found_related_locs; LocAgent and OrcaLoca in CoSIL's repository too"
    ),
    "locagent": Format(locagent.read, "loc_outputs.jsonl: found_files, found_entities"),
    "orcaloca": Format(orcaloca.read, "a folder of searcher_<instance>.json files, or one of them"),
    "codescout": Format(codescout.read, "rollouts, Parquet or JSON lines: prediction, or the call of localization_finish"),
}


def format_named(name: str) -> Format:
    """The format of that name. Raises :class:`ConfigError` listing the names."""
    if name not in FORMATS:
        raise ConfigError(f"format {name!r} is unknown: use one of {', '.join(FORMATS)}")
    return FORMATS[name]
