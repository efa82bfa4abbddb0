"""Shared parts of grep and glob: where ripgrep looks, its results in path order, and which of them may be shown.

Ripgrep searches on all cores in no particular order, and the results are sorted here. Only if there are more than can be
read does it run again in path order, up to the limit. Both ways show the same lines.
"""

from __future__ import annotations

import re
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING

from fusesearch.core.errors import ToolError
from fusesearch.search import ripgrep
from fusesearch.search.read_file import decode
from fusesearch.search.repository import VIRTUAL_ROOT, Repository, clean_name, clipped, path_order, virtual_path
from fusesearch.search.results import Outcome

if TYPE_CHECKING:
    from fusesearch.core.config import Tools

_READ_BYTES = 1 << 20
_SNIFF_BYTES = 1 << 16

CONTENT = re.compile(rb"([^\0]*)\0(\d+)([:-])([^\n]*)\n")
COUNTS = re.compile(rb"([^\0]*)\0(\d+)\n")
PATHS = re.compile(rb"([^\0]*)(\0)")
"""Records of ripgrep's output; the first group is the path."""


def where(pattern: str, place: Path, repository: Repository) -> list[str]:
    """Arguments that say where to look. A single file is searched regardless of the glob."""
    relative = place.relative_to(repository.root).as_posix()
    if not place.is_dir():
        _check_searchable(place, repository)
        return ["--", f"./{relative}"]
    globs = [f"--glob={glob}" for glob in _anchored(pattern, relative)] if pattern else []
    return [*globs, ripgrep.NO_HIDDEN, "--", "./" if relative == "." else f"./{relative}"]


def _anchored(pattern: str, relative: str) -> list[str]:
    """Ripgrep's globs, which start at the root, for a model's glob, which may also start at the folder to search."""
    negated, body = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    if body.startswith(VIRTUAL_ROOT + "/"):
        return [negated + body.removeprefix(VIRTUAL_ROOT)]
    body = body.removeprefix("./")
    if "/" not in body.strip("/") or relative == ".":
        return [negated + body]
    literal = re.sub(r"([\[\]{}*?\\!])", r"\\\1", relative)
    return [negated + body, f"{negated}/{literal}/{body.lstrip('/')}"]


def _check_searchable(real: Path, repository: Repository) -> None:
    """Check a file first, because ripgrep searches a named file of any kind and size."""
    status = real.stat()
    name = repository.virtual(real)
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{clipped(name)} is not a regular file")
    if status.st_size > ripgrep.MAX_FILE_BYTES:
        raise ToolError(f"{clipped(name)} is too large to search ({status.st_size >> 20} MiB); read_file shows its beginning")
    decode(repository.read_bytes(real, _SNIFF_BYTES), name, cut_off=True)


def run(arguments: list[str], repository: Repository, limits: Tools, search: ripgrep.RipgrepRun) -> ripgrep.Output:
    """Run ripgrep, and again in path order if there is too much output. Raises :class:`ToolError` with its message."""
    arguments = [*repository.search_flags(), *arguments]
    deadline = time.monotonic() + limits.timeout_seconds
    output = search.run(arguments, repository.root, deadline, _READ_BYTES)
    if not output.complete:
        output = search.run(["--sort=path", *arguments], repository.root, deadline, _READ_BYTES)
    if output.complete and output.returncode not in (0, 1) and not output.stdout:
        raise ToolError(clipped(f"ripgrep: {ripgrep.message(output.stderr) or 'failed on this request'}", 300))
    return output


def by_path(stdout: bytes, record_format: re.Pattern[bytes]) -> list[tuple[str, list[tuple[bytes, ...]]]]:
    """Records of each file, in path order, without files whose name cannot be shown."""
    found: dict[bytes, list[tuple[bytes, ...]]] = {}
    for record in record_format.findall(stdout):
        found.setdefault(record[0], []).append(record)
    named = [(clean_name(raw.removeprefix(b"./")), records) for raw, records in found.items()]
    return sorted(((name, records) for name, records in named if name), key=lambda item: path_order(item[0]))


def is_part(path: str, place: Path, filtered: bool, repository: Repository) -> bool:
    """Whether a result may be shown.

    Ripgrep does not read ignore files above the folder it starts in, and its globs override ignore files. So the listing of
    the whole tree decides, except for a file named in the call.
    """
    if place == repository.root and not filtered:
        return True
    return repository.is_visible(path) or repository.root / path == place


def nothing(start: str, place: Path, pattern: str, repository: Repository, output: ripgrep.Output) -> Outcome:
    """The observation of a search without results, which repeats what was searched."""
    if not output.complete:
        raise ToolError("too much was found; narrow the pattern, path or glob")
    relative = place.relative_to(repository.root).as_posix()
    hidden = any(part.startswith(".") and part != "." for part in (relative + "/" + pattern).split("/"))
    words = [start, clipped(virtual_path(relative)), f"({clipped(pattern, 60)})" if pattern else ""]
    return Outcome(" ".join(filter(None, [*words, "(hidden files are left out)" if hidden else ""])))
