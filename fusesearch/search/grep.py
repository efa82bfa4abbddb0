"""``grep``: lines, files or counts that match a regular expression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from fusesearch.core.errors import ToolError
from fusesearch.search import searches
from fusesearch.search.repository import Repository, clipped, virtual_path
from fusesearch.search.results import Hit, Outcome, cut, listing
from fusesearch.search.ripgrep import RipgrepRun
from fusesearch.search.tool import Tool

if TYPE_CHECKING:
    from fusesearch.core.config import Tools

MAX_CONTEXT = 20
_CR = r'"\r" is not allowed'
_NAMED = 2
_RECORDS = {"files_with_matches": searches.PATHS, "content": searches.CONTENT, "count": searches.COUNTS}


@dataclass(frozen=True)
class Grep(Tool):
    """Search file contents."""

    pattern: str
    path: str = ""
    glob: str = ""
    output_mode: str = "files_with_matches"
    context: int | None = None

    name = "grep"
    description = "Search file contents with a regular expression (ripgrep)."
    properties: ClassVar = {
        "pattern": {"type": "string", "description": "regular expression, matched line by line"},
        "path": {"type": "string", "description": "folder or file below /repo to look in"},
        "glob": {"type": "string", "description": "only files that match, such as *.py or src/**/*.py"},
        "output_mode": {"type": "string", "enum": list(_RECORDS), "description": "files_with_matches by default"},
        "context": {"type": "integer", "description": f"content mode: lines shown around each match, at most {MAX_CONTEXT}"},
    }

    def run(self, repository: Repository, limits: Tools, search: RipgrepRun) -> Outcome:
        """Matching lines, files or counts per file, in path order. Raises :class:`ToolError`."""
        place = repository.resolve(self.path)
        context = 0
        if self.output_mode == "content":
            context = min(limits.context_lines if self.context is None else max(self.context, 0), MAX_CONTEXT)
        records = _RECORDS[self.output_mode]
        flags = [*self._mode_flags(limits, context), f"--regexp={self.pattern}"]
        try:
            lines = ["--crlf"] if "$" in self.pattern else []  # without it, `$` does not match before CR LF
            found, complete, unread = searches.matches([*lines, *flags], records, self.glob, place, repository, search)
        except ToolError as error:
            if _CR not in str(error):
                raise
            found, complete, unread = searches.matches(flags, records, self.glob, place, repository, search)
        rows = [hit for path, some in found for hit in self._rows(path, some, limits.line_chars, context)]
        if not rows:
            return searches.nothing(
                f"No matches for {clipped(self.pattern, 60)} in", place, self.glob, repository, complete, unread
            )
        hint = f"{'lines' if self.output_mode == 'content' else 'files'}; narrow the pattern, path or glob"
        notice = "\n".join(filter(None, [self._line_ends(found, repository), unread]))
        return listing(rows, limits.grep_lines, limits.output_chars, hint, complete, notice)

    def _line_ends(self, found: list[searches.Match], repository: Repository) -> str:
        """What models should know about the ends of the lines shown."""
        if self.output_mode != "content":
            return ""
        # with --crlf, ripgrep also writes CR LF after lines that have no end or are cut, so the file itself is asked
        maybe = [path for path, records in found if any(text.endswith(b"\r") for *_, text in records)]
        names = [virtual_path(path) for path in maybe if b"\r\n" in repository.read_bytes(repository.resolve(path))]
        more = f" and {len(names) - _NAMED} more files" if names[_NAMED:] else ""
        return f"(lines end in CR LF in {', '.join(map(clipped, names[:_NAMED]))}{more})" if names else ""

    def _mode_flags(self, limits: Tools, context: int) -> list[str]:
        if self.output_mode == "files_with_matches":
            return ["--files-with-matches", "--null"]
        if self.output_mode == "count":
            return ["--count", "--with-filename", "--null"]
        # ripgrep's own cut keeps its output small; a character has at most four bytes, so ours is always the shorter one
        columns = [f"--max-columns={4 * limits.line_chars}", "--max-columns-preview"]
        return ["--line-number", "--with-filename", "--null", f"--context={context}", "--no-context-separator", *columns]

    def _rows(self, path: str, records: list[tuple[bytes, ...]], chars: int, context: int) -> Iterator[Hit]:
        name = virtual_path(path)
        if self.output_mode == "files_with_matches":
            yield Hit(name, path)
        elif self.output_mode == "count":
            yield Hit(f"{name}:{int(records[0][1])}", path)
        else:
            before = -1
            for _, digits, mark, text in records:
                number, separator = int(digits), mark.decode("ascii")
                line = cut(text.decode("utf-8", "replace"), chars)
                yield Hit(f"{name}{separator}{number}{separator}{line}", f"{path}:{number}", context > 0 and number != before + 1)
                before = number
