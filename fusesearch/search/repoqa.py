"""The five tools of RepoQA-Agent (RepoSearch-R1 section 2.3), on the confined repository and without a shell.

They say what the paper's say: a keyword search gives numbers of matching lines without the lines, and a file is read in pieces
of at most 100 lines. Where its code counts wrongly (keywords in over 200 lines) or leaves its folder, these do not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from fusesearch.core.errors import ToolError
from fusesearch.search.grep import Grep
from fusesearch.search.read_file import ReadFile
from fusesearch.search.repository import Repository, clipped, virtual_path
from fusesearch.search.results import Hit, Outcome, listing
from fusesearch.search.ripgrep import RipgrepRun
from fusesearch.search.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fusesearch.core.config import Tools

MAX_LINES = 100
MAX_FILES = 20
_FOLDER = {"type": "string", "description": "folder below /repo"}
_FILE = {"type": "string", "description": "file below /repo"}


@dataclass(frozen=True)
class ListFiles(Tool):
    """List a folder without those inside it."""

    folder: str

    name = "list_files_in_folder"
    description = "List the files and folders in a folder."
    properties: ClassVar = {"folder": _FOLDER}

    def run(self, repository: Repository, limits: Tools, search: RipgrepRun) -> Outcome:
        """Paths in path order, folders among them. Raises :class:`ToolError`."""
        inside = _inside(repository, self.folder)
        names = dict.fromkeys(path[len(inside) :].partition("/")[0] for path in repository.files() if path.startswith(inside))
        return _paths((inside + name for name in names), limits.glob_paths, limits)


@dataclass(frozen=True)
class ReviewFile(Tool):
    """Show some lines of a file."""

    file: str
    start_line: int
    end_line: int

    name = "review_file"
    description = f"Read lines of a file, at most {MAX_LINES} at once."
    properties: ClassVar = {
        "file": _FILE,
        "start_line": {"type": "integer", "description": "first line, from 1"},
        "end_line": {"type": "integer", "description": "last line, inclusive"},
    }
    quick = True

    def run(self, repository: Repository, limits: Tools, search: RipgrepRun) -> Outcome:
        """Numbered lines; see :meth:`ReadFile.run`. Raises :class:`ToolError`."""
        most = limits.model_copy(update={"read_lines": min(MAX_LINES, limits.read_lines)})
        return ReadFile(self.file, self.start_line, self.end_line).run(repository, most, search)


@dataclass(frozen=True)
class SearchFile(Tool):
    """Find files by name."""

    file_name: str
    folder: str

    name = "search_file_in_folder"
    description = "Find the files with exactly this name in a folder and in those inside it."
    properties: ClassVar = {
        "file_name": {"type": "string", "description": "name with its extension, without folders"},
        "folder": _FOLDER,
    }

    def run(self, repository: Repository, limits: Tools, search: RipgrepRun) -> Outcome:
        """At most 20 paths. Raises :class:`ToolError`."""
        inside = _inside(repository, self.folder)
        found = [path for path in repository.files() if path.startswith(inside) and path.rpartition("/")[2] == self.file_name]
        return _paths(found, min(MAX_FILES, limits.glob_paths), limits)


@dataclass(frozen=True)
class SearchSymbol(Tool):
    """Find a text in one file."""

    symbol: str
    file: str

    name = "search_symbol_in_file"
    description = "Show the lines of a file that contain a symbol, with their numbers."
    properties: ClassVar = {"symbol": {"type": "string", "description": "name or text to look for"}, "file": _FILE}

    def run(self, repository: Repository, limits: Tools, search: RipgrepRun) -> Outcome:
        """Matching lines. Raises :class:`ToolError`, also for a folder."""
        if repository.resolve(self.file).is_dir():
            raise ToolError(f"{clipped(self.file)} is a folder; search_keyword_in_folder searches folders")
        return Grep(_literal(self.symbol), self.file, output_mode="content").run(repository, limits, search)


@dataclass(frozen=True)
class SearchKeyword(Tool):
    """Count a text in the files of a folder."""

    keyword: str
    folder: str

    name = "search_keyword_in_folder"
    description = "Count the lines that contain a keyword in each file of a folder and of those inside it."
    properties: ClassVar = {"keyword": {"type": "string", "description": "text to look for"}, "folder": _FOLDER}

    def run(self, repository: Repository, limits: Tools, search: RipgrepRun) -> Outcome:
        """Numbers of matching lines by file. Raises :class:`ToolError`."""
        return Grep(_literal(self.keyword), self.folder, output_mode="count").run(repository, limits, search)


REPOQA: dict[str, type[Tool]] = {
    tool.name: tool for tool in (ListFiles, ReviewFile, SearchFile, SearchSymbol, SearchKeyword)
}  # fmt: skip
"""The tools in the paper's order."""


def _inside(repository: Repository, folder: str) -> str:
    """The start of the paths below a folder. Raises :class:`ToolError` unless it is a folder."""
    real = repository.resolve(folder)
    if not real.is_dir():
        raise ToolError(f"{clipped(folder)} is a file; review_file shows it")
    relative = real.relative_to(repository.root).as_posix()
    return "" if relative == "." else f"{relative}/"


def _paths(paths: Iterable[str], most: int, limits: Tools) -> Outcome:
    rows = [Hit(virtual_path(path), path) for path in paths]
    return listing(rows, most, limits.output_chars, "paths", complete=True) if rows else Outcome("Nothing was found")


def _literal(text: str) -> str:
    """The regular expression that matches ``text``; ``re.escape`` escapes more than ripgrep allows."""
    return re.sub(r"([.^$*+?{}\[\]\\|()])", r"\\\1", text)
