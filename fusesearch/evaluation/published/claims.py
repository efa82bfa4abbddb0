"""Published answers before any look-up: files and names in rank order, as written, and the text that names places.

Agentless and CoSIL name places of a file in text, one per line: ``function: f``, ``class: C``, ``line: 10-12``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from fusesearch.code.names import MAX_TEXT, Claim

MAX_CLAIMS = 5_000
"""Most files, and most names, of one answer."""
MAX_LINES = 20_000
"""Most lines of one block of text."""

_KIND = re.compile(r"\W{0,8}(function|method|class|variable|line)s?[ \t]{0,8}:(.{0,2000})", re.IGNORECASE)
_LINES = re.compile(r"\D{0,20}(\d{1,7})(?:[ \t]{0,4}[-\u2013][ \t]{0,4}(\d{1,7}))?")


@dataclass(frozen=True)
class Published:
    """The answer to one instance: ``files`` and ``claims``, most likely first."""

    instance_id: str
    files: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()


def answer(instance_id: str, files: Iterable[str], claims: Iterable[Claim]) -> Published:
    """A :class:`Published` within the limits."""
    return Published(instance_id, tuple(clip(path) for path in islice(files, MAX_CLAIMS)), tuple(islice(claims, MAX_CLAIMS)))


def clip(text: str) -> str:
    """``text`` cut to the limit."""
    return text[:MAX_TEXT]


def place_claims(places: Iterable[tuple[str, str | None, str | None]]) -> Iterator[Claim]:
    """The places given as file, class and function; those that name neither class nor function are files alone."""
    for path, owner, function in places:
        if name := ".".join(part for part in (owner, function) if part):
            yield Claim(clip(path), clip(name), "function" if function else "class")


def entity_claim(entity: str) -> Claim:
    """The place ``path:Qualified.name``."""
    path, _, name = clip(entity).partition(":")
    return Claim(path, name.lstrip(":"))


def claims_of_file(path: str, blocks: Iterable[str]) -> Iterator[Claim]:
    """Places named in the blocks of text that a format lists for ``path``, in order, without blank lines."""
    path = clip(path)
    for block in blocks:
        within = ""
        for line in block.split("\n", MAX_LINES)[:MAX_LINES]:
            if claim := _claim(path, line, within):
                yield claim
                if claim.kind == "class":
                    within = claim.name if "." not in claim.name else ""


def _claim(path: str, line: str, within: str) -> Claim | None:
    if not line.strip():
        return None
    match = _KIND.match(line)
    if match is None:
        return Claim(path, line.strip()[:MAX_TEXT])
    kind, name = match[1].lower().replace("method", "function"), match[2].strip()
    if kind != "line":
        return Claim(path, name[:MAX_TEXT], kind, within=within if kind == "function" else "")
    numbers = _LINES.match(name)
    if numbers is None:
        return Claim(path, name[:MAX_TEXT], kind)
    first = int(numbers[1])
    return Claim(path, "", kind, (first, max(first, int(numbers[2] or first))))
