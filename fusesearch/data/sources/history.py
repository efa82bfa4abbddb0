"""What mining reads from a local git repository: existing objects, commits, and changes between commits.

Uses only plumbing commands, without network, hooks or the user's settings, with limits on time and output; runs nothing of a
repository. Asks about many commits at once, because starting git costs more than its work.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import IO

from fusesearch.code.kinds import file_kind
from fusesearch.core.errors import DataError, RepositoryError
from fusesearch.data.sources.base import moment
from fusesearch.search.git import ID, git_command, one_line, reading_environment

TIMEOUT_SECONDS = 600.0
MAX_PATCH_BYTES = 20_000_000
"""Longer patches are dropped: they are not localization tasks."""

EPOCH = datetime.fromtimestamp(0, UTC)
"""The time of a commit that says none."""

Pair = tuple[str, str]
"""Two commits, before and after a change."""

_MAX_LIST_BYTES = 500_000_000
_LINE_BYTES = 1 << 16
_SETTINGS = ("diff.noprefix=false", "diff.mnemonicPrefix=false", "core.quotePath=true", "core.bigFileThreshold=16m")
_TREES = ("diff-tree", "--stdin", "-r", "--no-ext-diff", "--no-textconv")
_RAW = (*_TREES, "-z", "--raw", "--no-abbrev", "--no-renames")
_PATCH = (
    *_TREES, "-p", "--find-renames", "--full-index", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short",
)  # fmt: skip
_NO_FILE = {"000000", "160000"}
"""Modes of a missing file and of a submodule."""
_HEADER = re.compile(rb"([0-9a-f]{40,64}) ([0-9a-f]{40,64})\n")
_PATH = re.compile(r'^(?:rename to |\+\+\+ "?b/|--- "?a/|diff --git .* "?b/)(.*?)"?$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs between two trees: ``status`` is A, M, D or T; ``old`` and ``new`` are blob ids, or empty."""

    status: str
    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit; times are in UTC."""

    id: str
    parents: tuple[str, ...]
    authored: datetime
    committed: datetime
    author: str
    message: str


def resolve(git_dir: Path, names: Iterable[str]) -> dict[str, str | None]:
    """Ids for names such as ``HEAD``, ``<id>~2`` or ``<id>^{tree}``; None for missing objects."""
    asked = [name for name in dict.fromkeys(names) if name]
    for name in asked:
        if name.startswith("-") or not name.isprintable() or " " in name:
            raise RepositoryError(f"{name[:100]!r} is not a branch or commit")
    if not asked:
        return {}
    found = _run(git_dir, "cat-file", "--batch-check=%(objectname)", sent=_lines(asked)).decode().splitlines()
    return {name: line if ID.fullmatch(line) else None for name, line in zip(asked, found, strict=True)}


def changes(git_dir: Path, pairs: Sequence[Pair]) -> dict[Pair, list[Change]]:
    """Changed paths of each pair whose commits exist; a rename is a deletion and an addition."""
    trees = _trees(git_dir, pairs)
    raw = _run(git_dir, *_RAW, sent=_lines(sorted({" ".join(two) for two in trees.values()}))) if trees else b""
    found: dict[tuple[str, str], list[Change]] = {}
    position, current = 0, []
    while position < len(raw):
        header = _HEADER.match(raw, position)
        if header:
            current = found[header[1].decode(), header[2].decode()] = []
            position = header.end()
            continue
        middle = raw.index(b"\0", position)
        end = raw.index(b"\0", middle + 1)
        before, after, old, new, status = raw[position:middle].decode("ascii").lstrip(":").split(" ")
        old, new = ("" if mode in _NO_FILE else blob for mode, blob in ((before, old), (after, new)))
        current.append(Change(status[0], raw[middle + 1 : end].decode("utf-8", "surrogateescape"), old, new))
        position = end + 1
    return {pair: found.get(two, []) for pair, two in trees.items()}


def patches(git_dir: Path, pairs: Sequence[Pair]) -> dict[Pair, tuple[str, str]]:
    """The diff of each pair as two patches: without tests, and of tests only.

    If only tests change, they are the first patch. Leaves out pairs whose patch is longer than :data:`MAX_PATCH_BYTES`.
    """
    trees = _trees(git_dir, pairs)
    wanted = sorted({" ".join(two) for two in trees.values()})
    texts: dict[tuple[str, str], bytes | None] = {}
    if wanted:
        with _running(git_dir, *_PATCH, sent=_lines(wanted)) as stdout:
            texts = dict(_texts(stdout))
    whole = {pair: text for pair, two in trees.items() if (text := texts.get(two)) is not None}
    return {pair: without_tests(text.decode("utf-8", "replace")) for pair, text in whole.items()}


def without_tests(patch: str) -> tuple[str, str]:
    """Split a patch into one without tests and one of tests; a patch of tests only stays whole, as the first."""
    starts = [match.start() for match in re.finditer(r"^diff --git ", patch, re.MULTILINE)]
    sections = [patch[start:end] for start, end in pairwise([*starts, len(patch)])]
    paths = [_PATH.findall(section.partition("\n@@")[0]) for section in sections]  # last the new name, or that of a deleted file
    tests = [file_kind(names[-1] if names else "") == "test" for names in paths]
    if all(tests):
        return patch, ""
    code = "".join(section for section, test in zip(sections, tests, strict=True) if not test)
    return code, "".join(section for section, test in zip(sections, tests, strict=True) if test)


def commits(git_dir: Path, ids: Iterable[str]) -> dict[str, Commit]:
    """Commits by their ids."""
    wanted = list(dict.fromkeys(ids))
    return {commit.id: commit for commit in log(git_dir, "--no-walk=unsorted", "--stdin", sent=_lines(wanted))} if wanted else {}


def log(git_dir: Path, *arguments: str, sent: str = "") -> list[Commit]:
    """Commits that ``git log`` lists. The arguments must not come from outside."""
    form = "--format=%H%x00%P%x00%aI%x00%cI%x00%aN <%aE>%x00%B%x00%x01"
    output = _run(git_dir, "log", "--no-show-signature", "--no-notes", "-z", form, *arguments, sent=sent)
    entries = output.decode("utf-8", "replace").split("\0\x01")
    return [_commit(entry.lstrip("\0")) for entry in entries if entry.strip("\0\n")]


def _trees(git_dir: Path, pairs: Sequence[Pair]) -> dict[Pair, tuple[str, str]]:
    """Ids of both trees of each pair whose commits exist."""
    found = resolve(git_dir, (f"{commit}^{{tree}}" for pair in pairs for commit in pair))
    trees = {pair: (found.get(f"{pair[0]}^{{tree}}"), found.get(f"{pair[1]}^{{tree}}")) for pair in pairs}
    return {pair: (old, new) for pair, (old, new) in trees.items() if old and new}


def _texts(stdout: IO[bytes]) -> Iterator[tuple[tuple[str, str], bytes | None]]:
    """Yield patches with their trees; None for one that is too long."""
    trees: tuple[str, str] | None = None
    parts: list[bytes] = []
    size, fresh = 0, True
    while line := stdout.readline(_LINE_BYTES):
        if fresh and (header := _HEADER.fullmatch(line)):
            if trees:
                yield trees, b"".join(parts) if size <= MAX_PATCH_BYTES else None
            trees, parts, size = (header[1].decode(), header[2].decode()), [], 0
        else:
            size += len(line)
            if size <= MAX_PATCH_BYTES:
                parts.append(line)
        fresh = line.endswith(b"\n")
    if trees:
        yield trees, b"".join(parts) if size <= MAX_PATCH_BYTES else None


def _run(git_dir: Path, *arguments: str, sent: str = "", limit: int = _MAX_LIST_BYTES) -> bytes:
    """Output of git; :class:`DataError` when it is longer than ``limit`` bytes."""
    with _running(git_dir, *arguments, sent=sent) as stdout:
        output = stdout.read(limit + 1)
        if len(output) > limit:
            raise DataError(f"git {arguments[0]} prints more than {limit:,} bytes")
        return output


@contextmanager
def _running(git_dir: Path, *arguments: str, sent: str = "") -> Iterator[IO[bytes]]:
    """Output of git as a stream; read it to its end. Raises :class:`RepositoryError` when git fails or takes too long."""
    command = git_command(git_dir, *(part for setting in _SETTINGS for part in ("-c", setting)), *arguments)
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
        given.write(sent.encode())
        given.seek(0)
        try:
            process = subprocess.Popen(command, env=reading_environment(), stdin=given, stdout=subprocess.PIPE, stderr=errors)
        except OSError as error:
            raise RepositoryError(f"git cannot be started: {error.strerror}") from None
        timed_out = threading.Event()

        def end() -> None:
            timed_out.set()
            process.kill()

        timer = threading.Timer(TIMEOUT_SECONDS, end)
        timer.start()
        try:
            assert process.stdout is not None  # noqa: S101
            yield process.stdout
            process.wait()
        finally:
            timer.cancel()
            process.kill()
            process.communicate()
        if process.returncode:
            errors.seek(0)
            reason = "git took too long" if timed_out.is_set() else one_line(errors.read(4000)) or f"git {arguments[0]} failed"
            raise RepositoryError(f"{git_dir}: {reason}")


def _lines(names: Iterable[str]) -> str:
    return "".join(f"{name}\n" for name in names)


def _commit(entry: str) -> Commit:
    name, parents, authored, committed, author, message = entry.split("\0", 5)
    times = [moment(text) or EPOCH for text in (authored, committed)]
    return Commit(name.strip(), tuple(parents.split()), times[0], times[1], author, message.strip())
