"""Answers that other systems released, read from their published files and looked up in the snapshots of their instances.

**Agentless**: ``loc_outputs.jsonl`` of any stage, and its merged locations. Functions come from ``found_edit_locs``, the last
stage, if it names any, else from ``found_related_locs``. Either is a mapping from file to blocks of location lines, a list of
such mappings (one per sample), or, in old versions, a list of blocks parallel to ``found_files``.

**CoSIL**: ``found_related_locs`` is a mapping from file to blocks of location lines. Its repository publishes the answers of
LocAgent and OrcaLoca in this form too.

Both name places of a file in text, one per line: ``function: f``, ``class: C``, ``line: 10-12``. Absent and null values are
empty. A name that does not exist stays in the prediction as written, at its rank, because it was a wrong answer. A class, a
variable or lines outside functions exist but are not functions, so ``functions`` leaves them out. Duplicates are dropped.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from cachetools import LRUCache

from experiments.evidence.claims import REAL, Claim, Place, file_named, functions_named
from experiments.evidence.entities import Entities
from fusesearch.code.names import MAX_TEXT
from fusesearch.evaluation.predictions import Prediction, ReleasedRow, json_lines
from fusesearch.search.git import LINK, Git, Gits

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


Blocks = str | list[str] | None
ByFile = dict[str, Blocks]
Found = ByFile | list[ByFile | Blocks] | None


class _Row(ReleasedRow):
    """One line of a file, without the model's texts and the copy of the instance."""

    instance_id: str
    found_files: list[str] | None = None


class _AgentlessRow(_Row):
    found_related_locs: Found = None
    found_edit_locs: Found = None


class _CosilRow(_Row):
    found_related_locs: dict[str, list[str] | None] | None = None


def read_agentless(path: Path) -> Iterator[Published]:
    """The answers in one file of Agentless."""
    for row in json_lines(path, _AgentlessRow):
        files = row.found_files or []
        claims = list(_claims(files, row.found_edit_locs)) or list(_claims(files, row.found_related_locs))
        yield answer(row.instance_id, files, claims)


def read_cosil(path: Path) -> Iterator[Published]:
    """The answers in one file of CoSIL."""
    for row in json_lines(path, _CosilRow):
        located = (row.found_related_locs or {}).items()
        claims = (claim for path, blocks in located for claim in claims_of_file(path, blocks or []))
        yield answer(row.instance_id, row.found_files or [], claims)


def _claims(files: list[str], found: Found) -> Iterator[Claim]:
    for sample in found if isinstance(found, list) else [found]:
        if isinstance(sample, dict):
            for path, blocks in sample.items():
                yield from claims_of_file(path, _blocks(blocks))
    if isinstance(found, list):
        for path, item in zip(files, found, strict=False):
            if not isinstance(item, dict):
                yield from claims_of_file(path, _blocks(item))


def _blocks(blocks: Blocks) -> list[str]:
    return [blocks] if isinstance(blocks, str) else blocks or []


FORMATS: dict[str, Callable[[Path], Iterator[Published]]] = {"agentless": read_agentless, "cosil": read_cosil}
"""The readers by format."""


def prediction(given: Published, snapshot: Snapshot) -> Prediction:
    """One answer in the terms of a snapshot. If it lists no files, those of its names count."""
    named = given.files or tuple(dict.fromkeys(claim.path for claim in given.claims))
    files = dict.fromkeys(file_named(text, snapshot).path for text in named)
    functions: dict[str, None] = {}
    for claim in given.claims:
        functions |= dict.fromkeys(_entities(functions_named(claim, snapshot), claim.name))
    return Prediction(instance_id=given.instance_id, files=[path for path in files if path], functions=list(functions))


def _entities(place: Place, text: str) -> list[str]:
    """Entries for ``functions``: what was found, or the name as written if it does not exist, or nothing for other kinds."""
    if place.functions:
        return [f"{place.path}::{name}" for name in place.functions]
    if place.reason in REAL or not text.strip():
        return []
    return [f"{place.path}::{text.strip()}"]


MAX_SOURCE_BYTES = 8 << 20
"""Larger files count as empty: they are generated, or hostile."""

KEPT_FILES = 600
"""Entities cached across commits, which share most files."""

_CHUNK = 1 << 20

Kept = LRUCache[tuple[str, str], Entities]
"""Entities by path and blob."""


class Snapshot:
    """Files of one commit. Entities are read on demand and cached in ``kept``."""

    def __init__(self, git: Git, commit: str, kept: Kept | None = None) -> None:
        self._git = git
        entries = git.entries(git.resolve(commit)[1])
        self._blobs = {entry.path: entry.blob for entry in entries if entry.mode != LINK}
        self._kept: Kept = LRUCache(KEPT_FILES) if kept is None else kept

    def __contains__(self, path: str) -> bool:
        return path in self._blobs

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        names: dict[str, list[str]] = defaultdict(list)
        for path in self._blobs:
            names[path.rpartition("/")[2]].append(path)
        return names

    def ending(self, tail: str) -> list[str]:
        """Files whose path is ``tail`` or ends with it after a slash."""
        return [path for path in self._by_name.get(tail.rpartition("/")[2], []) if f"/{path}".endswith(f"/{tail}")]

    def entities(self, path: str) -> Entities:
        """The entities of a file, empty if it is too large."""
        key = (path, self._blobs[path])
        if key not in self._kept:
            self._kept[key] = Entities(path, self._text(key[1]))
        return self._kept[key]

    def _text(self, blob: str) -> str:
        data = b""
        for _, size, stream in self._git.contents([blob]):
            if size <= MAX_SOURCE_BYTES:
                data = stream.read(size)
                continue
            remaining = size
            while remaining > 0:  # the stream must be read to its end
                remaining -= len(stream.read(min(remaining, _CHUNK))) or remaining
        return data.decode("utf-8", "replace")


class Snapshots(Gits):
    """Snapshots of repositories by name (``owner/name``), at the paths that ``where`` returns; a context manager."""

    def __init__(self, where: Callable[[str], Path]) -> None:
        super().__init__(where)
        self._kept: Kept = LRUCache(KEPT_FILES)

    def __enter__(self) -> Snapshots:
        return self

    def at(self, repo: str, commit: str) -> Snapshot:
        """The snapshot of a commit. Raises :class:`RepositoryError` if it does not exist."""
        return Snapshot(self[repo], commit, self._kept)
