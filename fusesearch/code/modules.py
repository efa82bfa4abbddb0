"""Outlines of a snapshot's files, made on demand and shared by all its episodes, and the files of dotted modules."""

from __future__ import annotations

import threading
from contextlib import suppress

from cachetools import LRUCache

from fusesearch.code.outline import Import, Outline, outline
from fusesearch.code.per_snapshot import PerSnapshot
from fusesearch.code.spans import is_python
from fusesearch.core.errors import RepositoryError
from fusesearch.search.repository import Repository

MEMORY_BYTES = 64 * 2**20


class Outlines:
    """Outlines by relative path. Thread-safe; above ``MEMORY_BYTES`` the least recently used are dropped."""

    def __init__(self, repository: Repository) -> None:
        # no reference to the repository: see PerSnapshot
        self._files = repository.files()
        self._root = repository.root
        self._lock = threading.RLock()
        self._known: LRUCache[str, Outline | None] = LRUCache(MEMORY_BYTES, _size)
        self._modules: dict[str, str] | None = None
        self._packages = frozenset(path.rpartition("/")[0] for path in self._files if path.endswith("__init__.py"))
        self._set = frozenset(self._files)

    def get(self, path: str) -> Outline | None:
        """The outline of a file, or None if it cannot be read. The first call takes milliseconds to a second."""
        with self._lock:
            if path not in self._known:
                found = self._read(path)
                with suppress(ValueError):  # larger than the whole cache
                    self._known[path] = found
                return found
            return self._known[path]

    def module(self, name: str) -> str | None:
        """The file of a module by its absolute dotted name: ``flask.app`` is ``src/flask/app.py``."""
        with self._lock:
            if self._modules is None:
                self._modules = self._by_dotted_name()
            return self._modules.get(name)

    def module_of(self, path: str, found: Import) -> str | None:
        """The file an import in ``path`` leads to: the submodule of that name, else the module it imports from."""
        base = self._base(path, found)
        if base is None:
            return None
        inner = self.module(f"{base}.{found.name}".strip(".")) if found.name not in ("", "*") else None
        return inner or self.module(base)

    def source_module(self, path: str, found: Import) -> str | None:
        """The file of the module named after ``from`` or ``import``."""
        base = self._base(path, found)
        return self.module(base) if base is not None else None

    def dotted(self, path: str) -> str:
        """The dotted module name of a file, from the topmost folder above it that has an ``__init__.py``."""
        folder, _, name = path.rpartition("/")
        parts = folder.split("/") if folder else []
        above = (count for count in range(1, len(parts) + 1) if "/".join(parts[:count]) in self._packages)
        first = next(above, len(parts) + 1) - 1
        stem = name.rpartition(".")[0]
        return ".".join([*parts[first:], *([] if stem == "__init__" else [stem])])

    def _base(self, path: str, found: Import) -> str | None:
        if not found.level:
            return found.module
        package = self.dotted(path).split(".")
        up = found.level - path.endswith("__init__.py")
        if up > len(package):
            return None
        return ".".join([*package[: len(package) - up], *([found.module] if found.module else [])])

    def _by_dotted_name(self) -> dict[str, str]:
        """Files by dotted name (the least nested file if several share one), and by their whole path if that is free."""
        found: dict[str, str] = {}
        python = sorted((path for path in self._files if is_python(path)), key=lambda path: (path.count("/"), path))
        for path in python:
            found.setdefault(self.dotted(path), path)
        for path in python:
            whole = path.rpartition(".")[0].removesuffix("/__init__").replace("/", ".")
            found.setdefault(whole, path)
        return found

    def _read(self, path: str) -> Outline | None:
        if path not in self._set:
            return None
        try:
            return outline(path, Repository(self._root).read_text(path))
        except RepositoryError:
            return None


outlines_of = PerSnapshot(Outlines, lambda outlines: 0).get
"""The outlines that all episodes on a repository share; they live as long as that object."""


def _size(found: Outline | None) -> int:
    """Approximate bytes of an outline."""
    if found is None:
        return 200
    calls = sum(len(chains) for chains in found.calls.values())
    return 500 + sum(60 + len(line) for line in found.lines) + 200 * (len(found.functions) + len(found.classes)) + 100 * calls
