"""Shared parts of grep and glob: where ripgrep looks, its results in path order, and which of them may be shown.

Ripgrep searches on all cores in no particular order, and the results are sorted here. Only if there are more than can be
read does it run again in path order, up to the limit. Both ways show the same lines.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from fusesearch.core.errors import ToolError
from fusesearch.search import ripgrep
from fusesearch.search.read_file import decode
from fusesearch.search.repository import VIRTUAL_ROOT, Repository, clean_name, clipped, path_order, virtual_path
from fusesearch.search.results import Outcome

_READ_BYTES = 1 << 20
_SNIFF_BYTES = 1 << 16
_NAMED = 3

CONTENT = re.compile(rb"([^\0]*)\0(\d+)([:-])([^\n]*)\n")
COUNTS = re.compile(rb"([^\0]*)\0(\d+)\r?\n")
PATHS = re.compile(rb"([^\0]*)(\0)")
"""Records of ripgrep's output; the first group is the path."""

Match = tuple[str, list[tuple[bytes, ...]]]
"""A file and its records."""


def matches(
    flags: list[str], records: re.Pattern[bytes], pattern: str, place: Path, repository: Repository, search: ripgrep.RipgrepRun
) -> tuple[list[Match], bool, str]:
    """What ripgrep finds in ``place`` and the glob ``pattern``, in path order, whether that is all, and what it could not read.

    A single file is searched regardless of the glob. Raises :class:`ToolError` with ripgrep's message.
    """
    relative = "" if place == repository.root else place.relative_to(repository.root).as_posix()
    if not place.is_dir():
        _check_searchable(place, repository)
        output = _run([*repository.search_flags, *flags, "--", f"./{relative}"], repository, search)
        return _by_path(output.stdout, records), output.complete, _unread([output])
    globs = [f"--glob={glob}" for glob in _anchored(pattern, relative, repository)] if pattern else []
    walks = repository.walks(globs, relative)
    outputs = [_run([*flags, *walk], repository, search) for walk in walks]
    merged = {name: rows for output in outputs for name, rows in _by_path(output.stdout, records)}
    # ripgrep does not read ignore files above the folder it starts in, its globs override ignore files, and a folder that holds
    # a tracked file is searched with what lies beside it
    whole = not (relative or pattern or walks[1:])
    found = [(name, merged[name]) for name in sorted(merged, key=path_order) if whole or repository.is_visible(name)]
    return found, all(output.complete for output in outputs), _unread(outputs)


def _anchored(pattern: str, relative: str, repository: Repository) -> list[str]:
    """Ripgrep's globs, which start at the root, for a model's glob, which may also start at the folder to search.

    A pattern that is the path of a file means that file. Square brackets are a class and also themselves (``[slug]/*.tsx``).
    """
    inside = f"{relative}/" if relative else ""
    path = pattern.removeprefix(VIRTUAL_ROOT + "/").removeprefix("./")
    if paths := [literal(name) for name in (path, inside + path) if literal(name) != name and repository.is_visible(name)]:
        return [f"/{name}" if "/" in path else name for name in paths]
    negated, body = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    globs = []
    for glob in dict.fromkeys([body, body if "\\" in body else re.sub(r"([\[\]])", r"\\\1", body)]):
        if glob.startswith(VIRTUAL_ROOT + "/"):
            globs.append(glob.removeprefix(VIRTUAL_ROOT))
            continue
        glob = glob.removeprefix("./")
        globs.append(glob)
        if inside and "/" in glob.strip("/"):
            globs.append(f"/{literal(inside)}{glob.lstrip('/')}")
    return [negated + glob for glob in globs]


def literal(path: str) -> str:
    """A glob that matches only ``path``."""
    return re.sub(r"([\[\]{}*?\\!])", r"\\\1", path)


def _check_searchable(real: Path, repository: Repository) -> None:
    """Check a file first, because ripgrep searches a named file of any kind and size."""
    status = real.stat()
    name = repository.virtual(real)
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{clipped(name)} is not a regular file")
    if status.st_size > ripgrep.MAX_FILE_BYTES:
        raise ToolError(f"{clipped(name)} is too large to search ({status.st_size >> 20} MiB); read_file shows its beginning")
    decode(repository.read_bytes(real, _SNIFF_BYTES), name, cut_off=True)


def _run(arguments: list[str], repository: Repository, search: ripgrep.RipgrepRun) -> ripgrep.Output:
    """Run ripgrep, and again in path order if there is too much output. Raises :class:`ToolError` with its message."""
    output = search.run(arguments, repository.root, _READ_BYTES)
    if not output.complete:
        output = search.run(["--sort=path", *arguments], repository.root, _READ_BYTES)
    if output.complete and output.returncode not in (0, 1) and not output.stdout and not ripgrep.unread(output.stderr):
        raise ToolError(clipped(f"ripgrep: {ripgrep.message(output.stderr) or 'failed on this request'}", 300))
    return output


def _unread(outputs: list[ripgrep.Output]) -> str:
    """A line in parentheses with the places that ripgrep could not read; empty if it read all."""
    places = sorted({place for output in outputs for place in ripgrep.unread(output.stderr)})
    named = [f"{clipped(virtual_path(path))}: {reason}" for path, reason in places[:_NAMED]]
    more = f"; and {len(places) - _NAMED} more" if places[_NAMED:] else ""
    return f"(not searched: {'; '.join(named)}{more})" if places else ""


def _by_path(stdout: bytes, record_format: re.Pattern[bytes]) -> list[Match]:
    """Records of each file, in path order, without files whose name cannot be shown."""
    found: dict[bytes, list[tuple[bytes, ...]]] = {}
    for record in record_format.findall(stdout):
        found.setdefault(record[0], []).append(record)
    named = [(clean_name(raw.removeprefix(b"./")), records) for raw, records in found.items()]
    return sorted(((name, records) for name, records in named if name), key=lambda item: path_order(item[0]))


def nothing(start: str, place: Path, pattern: str, repository: Repository, complete: bool, unread: str) -> Outcome:
    """The observation of a search without results, which repeats what was searched and says what was ``unread``.

    Raises :class:`OutsideRootError` for a pattern that is a path of another machine.
    """
    if not complete:
        raise ToolError("too much was found; narrow the pattern, path or glob")
    top = pattern.strip("/").partition("/")[0]
    if pattern.startswith("/") and f"/{top}" != VIRTUAL_ROOT and not os.path.lexists(repository.root / top):
        raise repository.outside(pattern)
    relative = place.relative_to(repository.root).as_posix()
    hidden = any(part.startswith(".") and part != "." for part in (relative + "/" + pattern).split("/"))
    words = [start, clipped(virtual_path(relative)), f"({clipped(pattern, 60)})" if pattern else ""]
    untracked = " that git does not track" * repository.in_git
    hint = f"(hidden files{untracked} are left out)" if hidden and not repository.snapshot else ""
    return Outcome(" ".join(filter(None, [*words, hint, unread])))
