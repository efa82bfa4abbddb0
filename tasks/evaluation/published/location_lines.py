"""The text in which Agentless and CoSIL name places of a file: one line each, ``function: f``, ``class: C``, ``line: 10-12``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tasks.code.names import MAX_TEXT, Claim
from tasks.evaluation.published.claims import clip

MAX_LINES = 20_000

_KIND = re.compile(r"\W{0,8}(function|method|class|variable|line)s?[ \t]{0,8}:(.{0,2000})", re.IGNORECASE)
_LINES = re.compile(r"\D{0,20}(\d{1,7})(?:[ \t]{0,4}[-\u2013][ \t]{0,4}(\d{1,7}))?")
_KINDS = {"method": "function"}


def claims_of_file(path: str, blocks: Iterable[str]) -> Iterator[Claim]:
    """Places named in the blocks of text that a format lists for ``path``, in order. Blank lines name nothing."""
    path = clip(path)
    for block in blocks:
        within = ""
        for line in block.split("\n", MAX_LINES)[:MAX_LINES]:
            if claim := _claim(path, line, within):
                yield claim
                if claim.kind == "class":
                    within = claim.name if "." not in claim.name else ""


def compared_name(line: str) -> str:
    """The name that the evaluations of CoSIL and ToolTrain take from a line: what follows the first ``": "``."""
    if "function:" not in line and "class:" not in line:
        return ""
    parts = line.split(": ", 2)
    return clip(parts[1]) if len(parts) > 1 else ""


def _claim(path: str, line: str, within: str) -> Claim | None:
    if not line.strip():
        return None
    label = compared_name(line)
    match = _KIND.match(line)
    if match is None:
        return Claim(path, line.strip()[:MAX_TEXT], label=label)
    kind = match[1].lower()
    kind, said = _KINDS.get(kind, kind), match[2].strip()
    if kind == "line":
        lines = _lines(said)
        return Claim(path, "" if lines else said[:MAX_TEXT], kind, lines)
    return Claim(path, said[:MAX_TEXT], kind, within=within if kind == "function" else "", label=label)


def _lines(said: str) -> tuple[int, int] | None:
    match = _LINES.match(said)
    if match is None:
        return None
    first = int(match[1])
    return first, max(first, int(match[2] or first))
