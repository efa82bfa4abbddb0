"""The one client of git's objects: ``git cat-file --batch`` per repository, without hooks, user settings or network."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from cachetools import LRUCache

from tasks.core.errors import DataError, RepositoryError

ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
"""A full object id, of SHA-1 or SHA-256."""

LINK = "120000"
"""Mode of a symbolic link."""

MAX_BYTES = 64 << 20
"""Larger files are refused: no source file is as large."""

_FOLDER = "40000"
_SUBMODULE = "160000"
_AT_ONCE = 500  # requests written ahead of their answers: their 33 KB fit into a pipe, so git is never waited for in vain
_MAX_ENTRIES = 1_000_000
_STREAM_BYTES = 1 << 18
_MESSAGE_CHARS = 300
_HEADER = re.compile(rb"([0-9a-f]{40,64}) (\w+) (\d+)\n")


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a git tree: ``mode`` as git writes it, ``blob`` its id, ``path`` relative to the tree."""

    mode: str
    blob: str
    path: str


class _Object(NamedTuple):
    id: str
    kind: str
    content: bytes


class Git:
    """Reads one repository; a context manager. One git process answers everything, one request at a time.

    ``git_dir`` is a bare repository, a ``.git`` folder or a work tree. Objects that a partial clone lacks are missing:
    nothing is fetched. Everything raises :class:`RepositoryError`, one line, when git cannot give what is asked. A git
    that ended over a damaged object is started again for the next request.
    """

    def __init__(self, git_dir: Path) -> None:
        inner = Path(git_dir) / ".git"
        self.git_dir = inner if inner.exists() else Path(git_dir)
        if not self.git_dir.exists():
            raise RepositoryError(f"{git_dir}: there is no such git repository")
        self._process: subprocess.Popen[bytes] | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  a pipe that nobody reads would fill up and stop git

    def __enter__(self) -> Git:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._stop()
        self._errors.close()

    def resolve(self, commit: str) -> tuple[str, str]:
        """Ids of a commit and of its tree."""
        if commit and commit.isprintable() and ".." not in commit and not commit.startswith("^"):
            found = self._object(f"{commit}^{{commit}}")
            if found is not None and found.kind == "commit":
                return found.id, found.content.partition(b"\n")[0].removeprefix(b"tree ").decode("ascii")
        raise RepositoryError(f"{self.git_dir}: there is no commit {commit!r}")

    def read(self, commit: str, path: str) -> str | None:
        """Text of the file ``path`` in ``commit``, bytes that are not UTF-8 replaced; ``None`` if it is not a file there.

        Raises :class:`DataError` for a file of more than :data:`MAX_BYTES` and :class:`RepositoryError` for one that
        the commit has and git cannot give.
        """
        if not path or "\n" in path or "\0" in path or path.startswith(("./", "../")):
            return None
        found = self._object(f"{commit}:{path}")
        if found is None and self._lists(commit, path):
            raise self._damaged(f"{commit}:{path}")
        return found.content.decode("utf-8", "replace") if found and found.kind == "blob" else None

    def entries(self, tree_id: str) -> list[Entry]:
        """Files and links of a tree with all its folders; submodules and names that are not UTF-8 are left out."""
        found: list[Entry] = []
        level = [("", tree_id)]
        while level:
            bodies = dict(self._bodies(sorted({folder_id for _, folder_id in level})))
            deeper: list[tuple[str, str]] = []
            for prefix, folder_id in level:
                for mode, raw_name, inner in _rows(bodies[folder_id], len(tree_id) // 2):
                    try:
                        name = raw_name.decode("utf-8")
                    except UnicodeDecodeError:
                        continue
                    if mode == _FOLDER:
                        deeper.append((f"{prefix}{name}/", inner))
                    elif mode != _SUBMODULE:
                        found.append(Entry(mode, inner, prefix + name))
                if len(found) + len(deeper) > _MAX_ENTRIES:
                    raise RepositoryError(f"{self.git_dir}: the tree {tree_id} has more than {_MAX_ENTRIES:,} entries")
            level = deeper
        return found

    def contents(self, ids: list[str], kind: str = "blob") -> Iterator[tuple[str, int, IO[bytes]]]:
        """``(id, size, stream)`` of each object; ``size`` bytes must be read from the stream before the next one."""
        for start in range(0, len(ids), _AT_ONCE):
            part = ids[start : start + _AT_ONCE]
            stdout = self._ask(*part)
            for object_id in part:
                head = stdout.readline().split()
                if len(head) != 3 or head[1] != kind.encode("ascii"):
                    self._stop()  # the answers to the rest are still to come
                    raise self._damaged(object_id)
                yield object_id, int(head[2]), stdout
                stdout.read(1)

    def absent(self, tree_id: str) -> set[str]:
        """Ids of the blobs of a tree that this partial clone does not hold yet."""
        command = git_command(self.git_dir, "rev-list", "--objects", "--no-object-names", "--missing=print", tree_id)
        done = subprocess.run(command, env=reading_environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode != 0:
            raise RepositoryError(f"{self.git_dir}: {one_line(done.stderr) or 'git rev-list failed'}")
        return {line[1:] for line in done.stdout.decode("ascii").split() if line.startswith("?")}

    def _bodies(self, trees: list[str]) -> Iterator[tuple[str, bytes]]:
        for tree_id, size, stream in self.contents(trees, "tree"):
            yield tree_id, stream.read(size)

    def _lists(self, commit: str, path: str) -> bool:
        """Whether the commit's trees have ``path`` as a file, link or folder; a submodule does not count."""
        names = path.encode("utf-8", "surrogateescape").split(b"/")
        if {b"", b".", b".."} & set(names):
            return False
        mode, tree = _FOLDER, f"{commit}^{{tree}}"
        for name in names:
            if mode != _FOLDER:
                return False
            mode, tree = self._entry(tree, name)
        return mode not in ("", _SUBMODULE)

    def _entry(self, tree: str, name: bytes) -> tuple[str, str]:
        """Mode and id of what a tree has under a name, empty ones for nothing."""
        found = self._object(tree)
        if found is None or found.kind != "tree":
            raise self._damaged(tree)
        try:
            return next(
                ((mode, inner) for mode, other, inner in _rows(found.content, len(found.id) // 2) if other == name), ("", "")
            )
        except ValueError:
            raise self._damaged(tree) from None

    def _object(self, name: str) -> _Object | None:
        """The object of a name, ``None`` when git says that there is none or that it cannot be read."""
        stdout = self._ask(name)
        header = stdout.readline()
        if not header:
            raise self._failure()
        match = _HEADER.fullmatch(header)
        if not match:
            return None
        size = int(match[3])
        if size > MAX_BYTES:
            self._stop()
            raise DataError(f"{self.git_dir}: {name[:200]} has {size:,} bytes, more than {MAX_BYTES:,}: it is not read")
        content = stdout.read(size + 1)
        if len(content) != size + 1:
            self._stop()
            raise self._damaged(name)
        return _Object(match[1].decode("ascii"), match[2].decode("ascii"), content[:-1])

    def _ask(self, *names: str) -> IO[bytes]:
        process = self._process = self._process or self._started()
        assert process.stdin is not None  # noqa: S101
        assert process.stdout is not None  # noqa: S101
        try:
            process.stdin.write("".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape"))
            process.stdin.flush()
        except BrokenPipeError:
            raise self._failure() from None
        return process.stdout

    def _started(self) -> subprocess.Popen[bytes]:
        self._errors.seek(0)
        self._errors.truncate()
        command, pipe = git_command(self.git_dir, "cat-file", "--batch"), subprocess.PIPE
        try:
            return subprocess.Popen(
                command, env=reading_environment(), stdin=pipe, stdout=pipe, stderr=self._errors, bufsize=_STREAM_BYTES
            )
        except OSError as error:
            raise RepositoryError(f"git cannot be started ({error.strerror}): install git") from None

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stdin):
            with suppress(BrokenPipeError):  # what was still to be written is of no use
                if stream is not None:
                    stream.close()

    def _damaged(self, name: str) -> RepositoryError:
        return RepositoryError(
            f"{self.git_dir}: the object of {name[:200]} is missing or damaged: "
            "`git fsck` there tells which ones are; clone the repository again, whole"
        )

    def _failure(self) -> RepositoryError:
        """git ended; what it wrote before says why."""
        if self._process is not None:
            self._process.wait()
        self._stop()
        self._errors.seek(0)
        reason = one_line(self._errors.read()) or "git ended without a word"
        return RepositoryError(
            f"{self.git_dir}: cannot be read as a git repository ({reason}); if it is one, `git fsck` there tells what is damaged"
        )


class Gits(LRUCache[str, Git]):
    """Clients of the repositories that ``where`` finds by their name ``owner/name``; a context manager.

    The last few used stay open, a process each. Raises :class:`RepositoryError` for one that is not there.
    """

    def __init__(self, where: Callable[[str], Path], most: int = 32) -> None:
        super().__init__(most)
        self._where = where

    def __missing__(self, repo: str) -> Git:
        self[repo] = git = Git(self._where(repo))
        return git

    def popitem(self) -> tuple[str, Git]:
        """Close the client used longest ago."""
        repo, git = super().popitem()
        git.close()
        return repo, git

    def __enter__(self) -> Gits:
        return self

    def __exit__(self, *_: object) -> None:
        while self:
            self.popitem()


def git_command(git_dir: Path, *arguments: str) -> list[str]:
    """A git command on ``git_dir`` that starts no hook, no file-system monitor and no housekeeping."""
    settings = ("safe.directory=*", "core.hooksPath=/dev/null", "core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false")
    return ["git", *(part for setting in settings for part in ("-c", setting)), f"--git-dir={git_dir}", *arguments]


def git_environment() -> dict[str, str]:
    """This process's environment without ``GIT_*``, and with the settings of user and machine switched off."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    fixed = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
    return {**kept, **fixed, "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C"}


def reading_environment() -> dict[str, str]:
    """:func:`git_environment` without a network. Git before 2.45 knows no ``GIT_NO_LAZY_FETCH``: so no protocol is allowed."""
    return {**git_environment(), "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": ""}


def one_line(output: bytes) -> str:
    """What a program said, as one printable line of bounded length."""
    text = " ".join(output.decode("utf-8", "replace").split())
    return "".join(character for character in text if character.isprintable())[:_MESSAGE_CHARS]


def _rows(body: bytes, id_bytes: int) -> Iterator[tuple[str, bytes, str]]:
    """``(mode, name, id)`` of the rows of a raw tree. Raises :class:`ValueError` when it is not one."""
    start = 0
    while start < len(body):
        space = body.index(b" ", start)
        end = body.index(b"\0", space)
        mode = body[start:space].decode("ascii").lstrip("0")
        start = end + 1 + id_bytes
        yield mode, body[space + 1 : end], body[end + 1 : start].hex()
