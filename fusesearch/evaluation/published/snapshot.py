"""The real files and entities of a repository at a commit, read from git."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from cachetools import LRUCache

from fusesearch.code.entities import Entities
from fusesearch.search.git import LINK, Git, Gits

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
