"""``glob``: paths of the files that match a pattern."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from fusesearch.core.errors import OutsideRootError, ToolError
from fusesearch.search import searches
from fusesearch.search.repository import Repository, clipped, virtual_path
from fusesearch.search.results import Hit, Outcome, listing
from fusesearch.search.ripgrep import RipgrepRun
from fusesearch.search.tool import Tool

if TYPE_CHECKING:
    from fusesearch.core.config import Tools


@dataclass(frozen=True)
class Glob(Tool):
    """Find files by name."""

    pattern: str
    path: str = ""

    name = "glob"
    description = "Find files by name. A pattern without a slash matches names at any depth."
    properties: ClassVar = {
        "pattern": {"type": "string", "description": "such as *.py, test_*.py or src/**/models.py"},
        "path": {"type": "string", "description": "folder below /repo to look in"},
    }

    def run(self, repository: Repository, limits: Tools, search: RipgrepRun) -> Outcome:
        """Paths of matching files, in path order. Raises :class:`ToolError`.

        A pattern without a slash matches names at any depth below ``path``; one with a slash starts at ``path`` or at the
        root. A pattern that is the path of a file means that file, and the path of a folder with brackets its files.
        """
        place = repository.resolve(self.path)
        if not place.is_dir():
            raise ToolError(f"glob: {clipped(repository.virtual(place))} is not a folder; give one as path, or use read_file")
        flags = ["--files", "--null"]
        found, complete, unread = searches.matches(flags, searches.PATHS, self.pattern, place, repository, search)
        rows = [Hit(virtual_path(path), path) for path, _ in found]
        if not rows and "[" in self.pattern:
            with suppress(ToolError, OutsideRootError):
                path = repository.relative(self.pattern if self.pattern.startswith("/") else f"{self.path or '.'}/{self.pattern}")
                if (repository.root / path).is_dir():
                    return Glob("*", repository.virtual(repository.resolve(path))).run(repository, limits, search)
        if not rows:
            return searches.nothing("No files match", place, self.pattern, repository, complete, unread)
        return listing(rows, limits.glob_paths, limits.output_chars, "paths; narrow the pattern or path", complete, unread)
