"""The functions of a repository at a commit: all of the code that the repairer reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from fusesearch.data.sources.synthetic.corpus import Function, outermost_functions
from fusesearch.data.sources.synthetic.edits import FunctionNode, Source
from fusesearch.search.git import Git


@dataclass
class File:
    """A Python file and its outermost functions by entity."""

    source: Source
    functions: dict[str, tuple[Function, FunctionNode]] = field(default_factory=dict)


class Snapshots:
    """Reads commits of one repository; a file that several commits share is parsed once."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._files: dict[tuple[str, str], File | None] = {}

    def files(self, commit: str) -> dict[str, File]:
        """Python files by path that can be parsed. Raises :class:`RepositoryError`."""
        entries = [entry for entry in self._git.entries(self._git.resolve(commit)[1]) if entry.path.endswith(".py")]
        lacking = sorted({entry.blob for entry in entries if (entry.path, entry.blob) not in self._files})
        texts = {blob: stream.read(size).decode("utf-8", "replace") for blob, size, stream in self._git.contents(lacking)}
        for entry in entries:
            if (entry.path, entry.blob) not in self._files:
                self._files[entry.path, entry.blob] = _parsed(entry.path, texts[entry.blob])
        found = {entry.path: self._files[entry.path, entry.blob] for entry in entries}
        return {path: file for path, file in found.items() if file is not None}


def _parsed(path: str, text: str) -> File | None:
    try:
        source = Source(text)
    except (SyntaxError, ValueError):
        return None
    file = File(source)
    for function, node in outermost_functions(source.tree, path):
        file.functions.setdefault(function.entity, (function, node))
    return file
