"""Published answers before any look-up: files and names in rank order, as written, and the text that names places.

Agentless and CoSIL name places of a file in text, one per line: ``function: f``, ``class: C``, ``line: 10-12``. The content of
published files is untrusted: each row is validated against a strict model, and one that does not fit raises :class:`DataError`
with file and line, so that nothing is lost silently. Absent and null values are empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from fusesearch.code.names import MAX_TEXT, Claim
from fusesearch.core.errors import DataError, first_fault

MAX_ROW_BYTES = 64 << 20
"""Longer lines are refused."""

BOM = b"\xef\xbb\xbf"  # which some editors put before the first line


class ReleasedRow(BaseModel):
    """Base of the formats' rows: ignores other columns and does not convert types."""

    model_config = ConfigDict(extra="ignore", strict=True)


R = TypeVar("R", bound=BaseModel)


def json_lines(path: Path, model: type[R]) -> Iterator[R]:
    """Rows of a JSON-lines file, read line by line."""
    try:
        with path.open("rb") as handle:
            number = 0
            while line := handle.readline(MAX_ROW_BYTES + 1):
                number += 1
                if len(line) > MAX_ROW_BYTES:
                    raise DataError(f"{path}:{number}: the line is longer than {MAX_ROW_BYTES:,} bytes")
                if line.strip():
                    yield _checked(f"{path}:{number}", line.removeprefix(BOM), model)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None


def json_document(path: Path, model: type[R]) -> R:
    """The one object of a JSON file."""
    try:
        with path.open("rb") as handle:
            data = handle.read(MAX_ROW_BYTES + 1)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_ROW_BYTES:
        raise DataError(f"{path} is longer than {MAX_ROW_BYTES:,} bytes")
    return _checked(str(path), data, model)


def _checked(where: str, row: bytes, model: type[R]) -> R:
    try:
        return model.model_validate_json(row)
    except ValidationError as error:
        raise DataError(f"{where}: {first_fault(error)}") from None


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
