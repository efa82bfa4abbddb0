"""``grep`` and ``glob``: ripgrep's results in path order, shown under ``/repo``.

Ripgrep searches on all cores, in no order, and what it found is sorted here; only where that is more than can be read
does it run again in path order, up to the limit. Both ways show the same lines.
"""

from __future__ import annotations

import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from tasks.core.config import Tools
from tasks.core.errors import ToolError
from tasks.search import ripgrep
from tasks.search.arguments import Glob, Grep
from tasks.search.reading import decode
from tasks.search.repository import VIRTUAL_ROOT, Repository, clean_name, path_order, shown, virtual_path
from tasks.search.results import Outcome, Row, cut, listing

_READ_BYTES = 1 << 20
_SNIFF_BYTES = 1 << 16
_MAX_CONTEXT = 20
_RECORDS = {
    "content": re.compile(rb"([^\0]*)\0(\d+)([:-])([^\n]*)\n"),
    "count": re.compile(rb"([^\0]*)\0(\d+)\n"),
    "files_with_matches": re.compile(rb"([^\0]*)(\0)"),
}


def grep(request: Grep, repository: Repository, limits: Tools, search: ripgrep.Search) -> Outcome:
    """Lines, files or counts per file that match, ordered by path. Raises :class:`ToolError`."""
    place = repository.resolve(request.path)
    context = _context(request, limits)
    arguments = [*_mode_flags(request, limits, context), f"--regexp={request.pattern}", *_where(request.glob, place, repository)]
    output = _run(arguments, repository, limits, search)
    rows: list[Row] = []
    for path, records in _by_path(output.stdout, request.output_mode):
        if _is_part(path, place, bool(request.glob), repository):
            rows.extend(_rows(path, records, request.output_mode, limits.line_chars, context))
    if not rows:
        return _nothing(f"No matches for {shown(request.pattern, 60)} in", place, request.glob, repository, output)
    hint = f"{'lines' if request.output_mode == 'content' else 'files'}; narrow the pattern, path or glob"
    return listing(rows, limits.grep_lines, limits.output_chars, hint, output.complete)


def glob(request: Glob, repository: Repository, limits: Tools, search: ripgrep.Search) -> Outcome:
    """Paths of the files that match, ordered by path. Raises :class:`ToolError`.

    A pattern without a slash matches names at any depth below ``path``; one with a slash begins at ``path`` or at the
    root. Hidden and ignored files are left out.
    """
    place = repository.resolve(request.path)
    if not place.is_dir():
        raise ToolError(f"glob: {shown(repository.virtual(place))} is no folder; give a folder as path, or use read_file")
    output = _run(["--files", "--null", *_where(request.pattern, place, repository)], repository, limits, search)
    paths = [path for path, _ in _by_path(output.stdout, "files_with_matches") if _is_part(path, place, True, repository)]
    if not paths:
        return _nothing("No files match", place, request.pattern, repository, output)
    rows = [Row(virtual_path(path), path) for path in paths]
    return listing(rows, limits.glob_paths, limits.output_chars, "paths; narrow the pattern or path", output.complete)


def _context(request: Grep, limits: Tools) -> int:
    if request.output_mode != "content":
        return 0
    return min(limits.context_lines if request.context is None else max(request.context, 0), _MAX_CONTEXT)


def _mode_flags(request: Grep, limits: Tools, context: int) -> list[str]:
    if request.output_mode == "files_with_matches":
        return ["--files-with-matches", "--null"]
    if request.output_mode == "count":
        return ["--count", "--with-filename", "--null"]
    # A character has at most four bytes: ripgrep's own cut, which keeps its output small, never shows through ours.
    columns = [f"--max-columns={4 * limits.line_chars}", "--max-columns-preview"]
    return ["--line-number", "--with-filename", "--null", f"--context={context}", "--no-context-separator", *columns]


def _where(pattern: str, place: Path, repository: Repository) -> list[str]:
    """Arguments that say where to look. A file is searched whatever the glob says."""
    relative = place.relative_to(repository.root).as_posix()
    if not place.is_dir():
        _check_searchable(place, repository)
        return ["--", f"./{relative}"]
    globs = [f"--glob={glob}" for glob in _anchored(pattern, relative)] if pattern else []
    return [*globs, ripgrep.NO_HIDDEN, "--", "./" if relative == "." else f"./{relative}"]


def _anchored(pattern: str, relative: str) -> list[str]:
    """Ripgrep's globs, which begin at the root, for a model's; one with a slash may also begin at the folder searched."""
    negated, body = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    if body.startswith(VIRTUAL_ROOT + "/"):
        return [negated + body.removeprefix(VIRTUAL_ROOT)]
    body = body.removeprefix("./")
    if "/" not in body.strip("/") or relative == ".":
        return [negated + body]
    literal = re.sub(r"([\[\]{}*?\\!])", r"\\\1", relative)
    return [negated + body, f"{negated}/{literal}/{body.lstrip('/')}"]


def _check_searchable(real: Path, repository: Repository) -> None:
    """Ripgrep searches a file it is given by name whatever its kind and size: look first."""
    status = real.stat()
    name = repository.virtual(real)
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{shown(name)} is not a regular file")
    if status.st_size > ripgrep.MAX_FILE_BYTES:
        raise ToolError(f"{shown(name)} is too large to search ({status.st_size >> 20} MiB); read_file shows its beginning")
    decode(repository.read_bytes(real, _SNIFF_BYTES), name, cut_off=True)


def _run(arguments: list[str], repository: Repository, limits: Tools, search: ripgrep.Search) -> ripgrep.Output:
    arguments = [*repository.search_flags(), *arguments]
    deadline = time.monotonic() + limits.timeout_seconds
    output = search.run(arguments, repository.root, deadline, _READ_BYTES)
    if not output.complete:
        output = search.run(["--sort=path", *arguments], repository.root, deadline, _READ_BYTES)
    if output.complete and output.returncode not in (0, 1) and not output.stdout:
        raise ToolError(shown(f"ripgrep: {ripgrep.message(output.stderr) or 'failed on this request'}", 300))
    return output


def _by_path(stdout: bytes, mode: str) -> list[tuple[str, list[tuple[bytes, ...]]]]:
    """Records of each file, in path order; those of files whose name cannot be shown are left out."""
    found: dict[bytes, list[tuple[bytes, ...]]] = {}
    for record in _RECORDS[mode].findall(stdout):
        found.setdefault(record[0], []).append(record)
    named = [(clean_name(raw.removeprefix(b"./")), records) for raw, records in found.items()]
    return sorted(((name, records) for name, records in named if name), key=lambda item: path_order(item[0]))


def _is_part(path: str, place: Path, filtered: bool, repository: Repository) -> bool:
    """Whether a result may be shown.

    Ripgrep is told not to look at ignore files above the folder it starts in, and its globs override those there are,
    so the listing of the whole tree decides; except for a file that was asked for by name.
    """
    if place == repository.root and not filtered:
        return True
    return repository.is_visible(path) or repository.root / path == place


def _rows(path: str, records: list[tuple[bytes, ...]], mode: str, chars: int, context: int) -> Iterator[Row]:
    name = virtual_path(path)
    if mode == "files_with_matches":
        yield Row(name, path)
    elif mode == "count":
        yield Row(f"{name}:{int(records[0][1])}", path)
    else:
        before = -1
        for _, digits, mark, text in records:
            number, separator = int(digits), mark.decode("ascii")
            line = cut(text.decode("utf-8", "replace"), chars)
            yield Row(f"{name}{separator}{number}{separator}{line}", f"{path}:{number}", context > 0 and number != before + 1)
            before = number


def _nothing(start: str, place: Path, pattern: str, repository: Repository, output: ripgrep.Output) -> Outcome:
    if not output.complete:
        raise ToolError("too much was found; narrow the pattern, path or glob")
    relative = place.relative_to(repository.root).as_posix()
    hidden = any(part.startswith(".") and part != "." for part in (relative + "/" + pattern).split("/"))
    words = [start, shown(virtual_path(relative)), f"({shown(pattern, 60)})" if pattern else ""]
    return Outcome(" ".join(filter(None, [*words, "(hidden files are left out)" if hidden else ""])))
