"""The real entities of a repository at a commit, read from git: which files there are, and what those that are named hold."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import IO

from cachetools import LRUCache

from tasks.code.outline import definitions
from tasks.code.spans import FunctionSpan, function_at
from tasks.code.structure import function_spans, is_python, parse, spans_in_tree
from tasks.search.git import LINK, Git, Gits

MAX_SOURCE_BYTES = 8 << 20
"""Larger files hold no entities: they are generated, or made to cost time."""

KEPT_FILES = 600
"""Outlines kept for further commits: most files are the same in many."""

_CHUNK = 1 << 20
_DEFINITION = re.compile(r"\s*(?:async\s+)?(?:def|class)\s+(\w+)")


class Entities:
    """What one file holds: functions with their lines, classes, variables, and what is nested in its functions.

    Of Python that does not parse, and of other languages, only functions and the classes that their names tell of are known.
    """

    def __init__(self, path: str, source: str) -> None:
        tree = parse(source) if is_python(path) else None
        self.lines = source.split("\n")
        self.spans = function_spans(source, path) if tree is None else spans_in_tree(tree, source)
        self.functions = dict.fromkeys(span.name for span in self.spans)
        self.classes = _classes(self.functions) if tree is None else dict.fromkeys(_defined_classes(tree))
        self.variables = set() if tree is None else set(_variables(tree))

    @cached_property
    def nested(self) -> dict[str, list[str]]:
        """Bare name of each definition inside a function -> the functions that hold one."""
        holders: dict[str, dict[str, None]] = defaultdict(dict)
        headed: set[FunctionSpan] = set()
        for number, line in enumerate(self.lines, 1):
            match = _DEFINITION.match(line)
            span = function_at(self.spans, number) if match else None
            if match and span and span in headed:
                holders[match[1]][span.name] = None
            elif span:
                headed.add(span)
        return {name: list(functions) for name, functions in holders.items()}

    def called(self, name: str) -> list[str]:
        """Functions whose qualified name is ``name`` or ends with it."""
        return _ending(name, self.functions)

    def classes_called(self, name: str) -> list[str]:
        """Classes, likewise."""
        return _ending(name, self.classes)


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


def _defined_classes(tree: ast.Module) -> Iterator[str]:
    return (f"{prefix}{node.name}" for node, prefix in definitions(tree) if isinstance(node, ast.ClassDef))


def _variables(tree: ast.Module) -> Iterator[str]:
    """Names assigned in the module, or as ``Class.name`` in a class."""
    for node, prefix in definitions(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (name for target in targets for name in [target, *getattr(target, "elts", [])])
            yield from (f"{prefix}{name.id}" for name in names if isinstance(name, ast.Name))


def _classes(functions: Iterable[str]) -> dict[str, None]:
    """What holds functions, by their qualified names."""
    holders = (name.split(".")[:-1] for name in functions)
    return dict.fromkeys(".".join(parts[:count]) for parts in holders for count in range(1, len(parts) + 1))


def _ending(name: str, names: dict[str, None]) -> list[str]:
    return [name] if name in names else [full for full in names if full.endswith(f".{name}")]


def _bytes(stream: IO[bytes], size: int) -> bytes:
    """All of a small object; of a large one nothing, though it is read past."""
    if size <= MAX_SOURCE_BYTES:
        return stream.read(size)
    while size > 0:
        size -= len(stream.read(min(size, _CHUNK))) or size
    return b""
