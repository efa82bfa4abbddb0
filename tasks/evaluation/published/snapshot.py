"""The real entities of a repository at a commit, read from git: which files there are, and what those that are named hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import IO

from cachetools import LRUCache

from tasks.code.entities import Entities
from tasks.search.git import LINK, Git, Gits

MAX_SOURCE_BYTES = 8 << 20
"""Larger files hold no entities: they are generated, or made to cost time."""

KEPT_FILES = 600
"""Outlines kept for further commits: most files are the same in many."""

_CHUNK = 1 << 20

Kept = LRUCache[tuple[str, str], Entities]
"""Outlines by path and blob."""


class Snapshot:
    """Files of one commit. Outlines are made when they are asked for, and the last of them ``kept``."""

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
        """What a file of the snapshot holds; nothing where it is too large."""
        key = (path, self._blobs[path])
        if key not in self._kept:
            self._kept[key] = Entities(path, self._text(key[1]))
        return self._kept[key]

    def _text(self, blob: str) -> str:
        text = ""
        for _, size, stream in self._git.contents([blob]):
            data = _bytes(stream, size)
            text = data.decode("utf-8", "replace") if size <= MAX_SOURCE_BYTES else ""
        return text


class Snapshots(Gits):
    """Snapshots of the repositories that ``where`` finds by their name ``owner/name``. A context manager."""

    def __init__(self, where: Callable[[str], Path]) -> None:
        super().__init__(where)
        self._kept: Kept = LRUCache(KEPT_FILES)

    def __enter__(self) -> Snapshots:
        return self

    def at(self, repo: str, commit: str) -> Snapshot:
        """The snapshot of a commit. Raises :class:`RepositoryError` where there is none."""
        return Snapshot(self[repo], commit, self._kept)


def _bytes(stream: IO[bytes], size: int) -> bytes:
    """All of a small object; of a large one nothing, though it is read past."""
    if size <= MAX_SOURCE_BYTES:
        return stream.read(size)
    while size > 0:
        size -= len(stream.read(min(size, _CHUNK))) or size
    return b""
