"""The three tools as plain functions: a checked request in, the text a model sees and its entities out.

All are bounded: in time (ripgrep is ended), in bytes read, in lines, in characters per line and in characters shown.
What was cut is said in a last line in parentheses.
"""

from __future__ import annotations

import codecs
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.core.config import Tools
from tasks.core.errors import ToolError
from tasks.search import ripgrep
from tasks.search.arguments import Glob, Grep, ReadFile
from tasks.search.repository import Repository, clean_name, path_order, shown, virtual_path

_READ_BYTES = 1 << 20
_NOTICE_CHARS = 80
_SNIFF_BYTES = 1 << 16
_CONTENT = re.compile(rb"([^\0]*)\0(\d+)([:-])([^\n]*)\n")
_COUNT = re.compile(rb"([^\0]*)\0(\d+)\n")
_PATH = re.compile(rb"([^\0]*)\0")
_MODES = {
    "content": (["--line-number"], _CONTENT),
    "count": (["--count"], _COUNT),
    "files_with_matches": (["--files-with-matches"], _PATH),
}
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = {code: "\ufffd" for code in (*range(9), *range(10, 32), *range(127, 160), 0x2028, 0x2029)}


@dataclass(frozen=True)
class Outcome:
    """The observation and its entities: ``path`` or ``path:line``, only of what is shown."""

    output: str
    entities: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Row:
    text: str
    entity: str
    starts_group: bool = False


def grep(request: Grep, repository: Repository, limits: Tools, search: ripgrep.Search) -> Outcome:
    """Lines, files or counts per file that match, ordered by path. Raises :class:`ToolError`."""
    if not request.pattern:
        raise ToolError("grep: pattern is empty")
    place = repository.resolve(request.path)
    mode, record = _MODES[request.output_mode]
    context = min(limits.context_lines if request.context is None else max(request.context, 0), 20)
    around = context if request.output_mode == "content" else 0
    arguments = [*mode, "--with-filename", "--null", f"--regexp={request.pattern}"]
    if request.output_mode == "content":
        width = 4 * limits.line_chars
        arguments += [f"--context={around}", "--no-context-separator", f"--max-columns={width}", "--max-columns-preview"]
    arguments += _where(request.glob, place, repository)
    output = _run(arguments, repository, limits, search)
    found = [match for match in record.findall(output.stdout) if match]
    rows = _grep_rows(found, request, repository, limits, check=bool(request.glob or place != repository.root), around=around)
    what = "files" if request.output_mode != "content" else "lines"
    if not rows:
        return Outcome(f"No matches for {shown(request.pattern, 60)} in {shown(_scope(repository.virtual(place), request.glob))}")
    hint = f"{what}; narrow the pattern, path or glob"
    return _shown(rows, limits.grep_lines, limits.output_chars, hint, output.complete)


def glob(request: Glob, repository: Repository, limits: Tools, search: ripgrep.Search) -> Outcome:
    """Paths of files whose name, or path where the pattern has a slash, matches; ordered by path. Raises :class:`ToolError`.

    Hidden and ignored files are left out. A pattern with a slash is anchored at ``path``, or at the root.
    """
    if not request.pattern:
        raise ToolError("glob: pattern is empty")
    place = repository.resolve(request.path)
    if not place.is_dir():
        raise ToolError(f"glob: path {shown(repository.virtual(place))} is no folder; give its folder, or use read_file")
    output = _run(["--files", "--null", *_where(request.pattern, place, repository)], repository, limits, search)
    names = (clean_name(name.removeprefix(b"./")) for name in _PATH.findall(output.stdout))
    paths = sorted((name for name in names if name and repository.is_visible(name)), key=path_order)
    if not paths:
        return Outcome(f"No files match {shown(_scope(repository.virtual(place), request.pattern))}")
    rows = [_Row(virtual_path(path), path) for path in paths]
    return _shown(rows, limits.glob_paths, limits.output_chars, "paths; narrow the pattern or path", output.complete)


def read_file(request: ReadFile, repository: Repository, limits: Tools) -> Outcome:
    """Lines ``start_line`` to ``end_line`` with their numbers, at most ``limits.read_lines``. Raises :class:`ToolError`."""
    real = repository.resolve(request.path)
    data = repository.read_bytes(real, ripgrep.MAX_FILE_BYTES + 1)
    name = repository.virtual(real)
    text, notices = _decoded(data, name)
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if not lines:
        return Outcome("(empty file)")
    start, end = _range(request, len(lines), shown(name), limits.read_lines)
    relative = real.relative_to(repository.root).as_posix()
    rows = [
        _Row(f"{number}\t{_cut(lines[number - 1], limits.line_chars)}", f"{relative}:{number}")
        for number in range(start, end + 1)
    ]
    count = _fitting(rows, limits.output_chars)
    asked = (max(request.start_line or 1, 1), request.end_line or len(lines))
    if (start, start + count - 1) != asked:
        notices.append(f"(lines {start}-{start + count - 1} of {len(lines)})")
    return Outcome("\n".join([*(row.text for row in rows[:count]), *notices]), tuple(row.entity for row in rows[:count]))


def _run(arguments: list[str], repository: Repository, limits: Tools, search: ripgrep.Search) -> ripgrep.Output:
    """Run on all cores and sort here; where that is too much to read, again in path order up to the limit."""
    arguments = [*repository.search_flags(), *arguments]
    output = search.run(arguments, repository.root, limits.timeout_seconds, _READ_BYTES)
    if not output.complete:
        output = search.run(["--sort=path", *arguments], repository.root, limits.timeout_seconds, _READ_BYTES)
    if output.complete and output.returncode not in (0, 1) and not output.stdout:
        raise ToolError(shown(f"ripgrep: {ripgrep.message(output.stderr) or 'failed on this request'}", 300))
    return output


def _where(pattern: str, place: Path, repository: Repository) -> list[str]:
    """Arguments that say where to look: a glob anchored at ``place`` or at the root, then the path itself."""
    relative = place.relative_to(repository.root).as_posix()
    if place.is_file():
        _check_searchable(place, repository)
        return ["--", f"./{relative}"]
    if not place.is_dir():
        raise ToolError(f"{shown(virtual_path(relative))} is not a regular file")
    globs = _anchored(pattern, relative) if pattern else []
    return [*(f"--glob={glob}" for glob in globs), ripgrep.NO_HIDDEN, "--", "./" if relative == "." else f"./{relative}"]


def _anchored(pattern: str, relative: str) -> list[str]:
    """Ripgrep globs for a model's pattern; with a slash, both readings of where it begins."""
    negated, body = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    if body.startswith(virtual_path("") + "/"):
        return [negated + body.removeprefix(virtual_path(""))]
    body = body.removeprefix("./")
    if "/" not in body.strip("/") or relative == ".":
        return [negated + body]
    inside = re.sub(r"([\[\]{}*?\\!])", r"\\\1", relative)
    return [negated + body, f"{negated}/{inside}/{body.lstrip('/')}"]


def _check_searchable(real: Path, repository: Repository) -> None:
    """Ripgrep reads a file it is given whatever its kind and size: look first."""
    name = shown(repository.virtual(real))
    status = real.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{name} is not a regular file")
    if status.st_size > ripgrep.MAX_FILE_BYTES:
        raise ToolError(f"{name} is too large to search ({status.st_size} bytes); read_file shows ranges of its start")
    _decoded(repository.read_bytes(real, _SNIFF_BYTES), name, cut=True)


def _grep_rows(
    found: Sequence[tuple[bytes, ...]] | Sequence[bytes],
    request: Grep,
    repository: Repository,
    limits: Tools,
    check: bool,
    around: int,
) -> list[_Row]:
    by_file: dict[bytes, list[tuple[bytes, ...]]] = {}
    for match in found:
        fields = match if isinstance(match, tuple) else (match,)
        by_file.setdefault(fields[0], []).append(fields)
    named = ((clean_name(raw.removeprefix(b"./")), fields) for raw, fields in by_file.items())
    explicit = bool(request.path) and not (repository.root / repository.relative(request.path)).is_dir()
    kept = [(name, fields) for name, fields in named if name and (not check or explicit or repository.is_visible(name))]
    kept.sort(key=lambda item: path_order(item[0]))
    return [row for name, fields in kept for row in _file_rows(name, fields, request.output_mode, limits.line_chars, around)]


def _file_rows(path: str, matches: Iterable[tuple[bytes, ...]], mode: str, chars: int, around: int) -> Iterable[_Row]:
    if mode == "files_with_matches":
        yield _Row(virtual_path(path), path)
    elif mode == "count":
        yield from (_Row(f"{virtual_path(path)}:{int(fields[1])}", path) for fields in matches)
    else:
        previous = 0
        for _, number, separator, text in matches:
            line, mark = int(number), separator.decode()
            shown_text = _cut(text.decode("utf-8", "replace"), chars)
            gap = around > 0 and line != previous + 1
            yield _Row(f"{virtual_path(path)}{mark}{line}{mark}{shown_text}", f"{path}:{line}", starts_group=gap)
            previous = line


def _shown(rows: list[_Row], most: int, chars: int, hint: str, complete: bool) -> Outcome:
    count = min(_fitting(rows, chars), most)
    lines = [
        text for index, row in enumerate(rows[:count]) for text in (["--"] if index and row.starts_group else []) + [row.text]
    ]
    if count < len(rows) or not complete:
        lines.append(f"({count} of {'' if complete else 'over '}{len(rows)} {hint})")
    return Outcome("\n".join(lines), tuple(row.entity for row in rows[:count]))


def _fitting(rows: Sequence[_Row], chars: int) -> int:
    """How many rows fit into ``chars`` with room for a notice; at least one."""
    left = chars - _NOTICE_CHARS
    for count, row in enumerate(rows):
        left -= len(row.text) + 1 + 3 * row.starts_group
        if left < 0:
            return max(count, 1)
    return len(rows)


def _cut(line: str, chars: int) -> str:
    line = line.rstrip().translate(_CONTROLS)
    return line if len(line) <= chars else line[: chars - 1] + "…"


def _decoded(data: bytes, name: str, cut: bool = False) -> tuple[str, list[str]]:
    """Text of a file and what is to be said about its size and encoding. Raises :class:`ToolError` for binary files."""
    notices = []
    if len(data) > ripgrep.MAX_FILE_BYTES:
        data, cut = data[: ripgrep.MAX_FILE_BYTES], True
        notices.append(f"(only the first {ripgrep.MAX_FILE_BYTES >> 20} MiB of the file)")
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data.decode(encoding, "replace").removeprefix("\ufeff"), notices
    if b"\0" in data[:_SNIFF_BYTES]:
        raise ToolError(f"{shown(name)} is a binary file")
    try:
        return data.decode("utf-8"), notices
    except UnicodeDecodeError as error:
        if cut and error.start >= len(data) - 3:
            return data[: error.start].decode("utf-8"), notices
    return data.decode("latin-1"), [*notices, "(not UTF-8; read as Latin-1)"]


def _range(request: ReadFile, total: int, name: str, most: int) -> tuple[int, int]:
    """First and last line to show, clamped to the file and to ``most`` lines. Raises :class:`ToolError` when empty."""
    start = max(1, request.start_line or 1)
    end = min(total, total if request.end_line is None else request.end_line, start + most - 1)
    if start > total:
        raise ToolError(f"read_file: start_line {start} is past the end of {name}, which has {total} lines")
    if end < start:
        raise ToolError(f"read_file: end_line {request.end_line} is before start_line {start}")
    return start, end


def _scope(name: str, pattern: str) -> str:
    return f"{name} ({pattern})" if pattern else name
