"""``read_file``: numbered lines of one file of any size and encoding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from fusesearch.core.errors import ToolError
from fusesearch.core.text import marked
from fusesearch.search.repository import Repository, clipped
from fusesearch.search.results import Hit, Outcome, cut, fitting, shorten
from fusesearch.search.ripgrep import MAX_FILE_BYTES, RipgrepRun
from fusesearch.search.tool import Tool

if TYPE_CHECKING:
    from fusesearch.core.config import Tools

_SNIFF_BYTES = 1 << 16


@dataclass(frozen=True)
class ReadFile(Tool):
    """Show lines of one file."""

    path: str
    start_line: int | None = None
    end_line: int | None = None

    name = "read_file"
    description = "Read a file with line numbers, whole or a range of lines."
    properties: ClassVar = {
        "path": {"type": "string", "description": "file below /repo"},
        "start_line": {"type": "integer", "description": "first line, from 1"},
        "end_line": {"type": "integer", "description": "last line, inclusive"},
    }
    quick = True

    def run(self, repository: Repository, limits: Tools, search: RipgrepRun) -> Outcome:
        """Lines ``start_line`` to ``end_line`` with their numbers, at most ``limits.read_lines``. Raises :class:`ToolError`.

        Lines end at newlines alone, as in ripgrep. If not all requested lines are shown, a last line in parentheses says which
        ones are. If lines end in CR LF, another line says so.
        """
        real = repository.resolve(self.path)
        name = repository.virtual(real)
        text, notices = decode(repository.read_bytes(real, MAX_FILE_BYTES + 1), name)
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        if not lines:
            return Outcome("(empty file)")
        start, end = self._range(len(lines), name, limits.read_lines)
        relative = real.relative_to(repository.root).as_posix()
        numbers = range(start, end + 1)
        rows = [Hit(f"{number}\t{cut(lines[number - 1], limits.line_chars)}", f"{relative}:{number}") for number in numbers]
        kept = rows[: fitting(rows, limits.output_chars)]
        last = start + len(kept) - 1
        if (start, last) != (self.start_line or 1, self.end_line or len(lines)):
            notices.append(f"(lines {start}-{last} of {len(lines)})")
        if crlf := text.count("\r\n"):
            share = "" if crlf == text.count("\n") else f"{crlf} of {text.count(chr(10))} "
            notices.append(f"({share}lines end in CR LF)")
        body = shorten("\n".join(row.text for row in kept), limits.output_chars)
        return Outcome("\n".join([body, *notices]), [row.entity for row in kept])

    def _range(self, total: int, name: str, most: int) -> tuple[int, int]:
        """First and last line to show, clamped to the file and to ``most`` lines. Raises :class:`ToolError` if it is empty."""
        start = max(1, self.start_line or 1)
        end = min(total, total if self.end_line is None else self.end_line, start + most - 1)
        if start > total:
            raise ToolError(f"read_file: start_line {start} is past the end of {clipped(name)}, which has {total} lines")
        if end < start:
            raise ToolError(f"read_file: end_line {self.end_line} is before start_line {start}")
        return start, end


def decode(data: bytes, name: str, cut_off: bool = False) -> tuple[str, list[str]]:
    """Text of a file's bytes, and notices about its size and encoding. Raises :class:`ToolError` for a binary file.

    ``cut_off`` means that ``data`` is only the beginning of the file, so that its last character may be incomplete.
    """
    notices = []
    if len(data) > MAX_FILE_BYTES:
        data, cut_off = data[:MAX_FILE_BYTES], True
        notices.append(f"(only the first {MAX_FILE_BYTES >> 20} MiB of the file)")
    if (text := marked(data)) is not None:
        return text, notices
    if b"\0" in data[:_SNIFF_BYTES]:
        raise ToolError(f"{clipped(name)} is a binary file")
    try:
        return data.decode("utf-8"), notices
    except UnicodeDecodeError as error:
        if cut_off and error.start >= len(data) - 3:
            return data[: error.start].decode("utf-8"), notices
    return data.decode("latin-1"), [*notices, "(not UTF-8; read as Latin-1)"]
