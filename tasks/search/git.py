"""Objects of one git repository, read through one ``git cat-file --batch``: no hooks, no settings of the user, no network."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tasks.core.errors import RepositoryError

ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
"""A full object id, of SHA-1 or SHA-256."""

LINK = "120000"
"""Mode of a symbolic link."""

_FOLDER = "40000"
_SUBMODULE = "160000"
_AT_ONCE = 500  # requests written ahead of their answers: their 33 KB fit into a pipe, so git is never waited for in vain
_MAX_ENTRIES = 1_000_000
_STREAM_BYTES = 1 << 18
_MESSAGE_CHARS = 300


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a git tree: ``mode`` as git writes it, ``blob`` its id, ``path`` relative to the tree."""

    mode: str
    blob: str
    path: str


class Git:
    """Reads one repository. Use as a context manager: a single git process answers everything.

    ``git_dir`` is a bare repository, a ``.git`` folder or a work tree. Objects that a partial clone lacks are missing:
    nothing is fetched. Everything raises :class:`RepositoryError`, one line, when git cannot give what is asked.
    """

    def __init__(self, git_dir: Path) -> None:
        inner = Path(git_dir) / ".git"
        self.git_dir = inner if inner.exists() else Path(git_dir)
        if not self.git_dir.exists():
            raise RepositoryError(f"{git_dir} is not a git repository: no such folder")

    def __enter__(self) -> Git:
        self._errors = tempfile.TemporaryFile()
        command = git_command(self.git_dir, "cat-file", "--batch")
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                command, env=reading_environment(), stdin=pipe, stdout=pipe, stderr=self._errors, bufsize=_STREAM_BYTES
            )
        except OSError as error:
            self._errors.close()
            raise RepositoryError(f"git cannot be started: {error.strerror}") from None
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdout, self._process.stdin, self._errors):
            _close(stream)

    def resolve(self, commit: str) -> tuple[str, str]:
        """Ids of a commit and of its tree."""
        if not commit.isprintable() or ".." in commit or commit.startswith("^"):
            raise RepositoryError(f"{commit!r} is not a commit")
        stdout = self._ask(f"{commit}^{{commit}}")
        head = stdout.readline().split()
        if len(head) != 3 or head[1] != b"commit":
            raise self._failure() if not head else RepositoryError(f"{self.git_dir}: {commit} is not a commit")
        body = stdout.read(int(head[2]) + 1)
        return head[0].decode("ascii"), body.partition(b"\n")[0].removeprefix(b"tree ").decode("ascii")

    def entries(self, tree_id: str) -> list[Entry]:
        """Files and links of a tree with all its folders; submodules and names that are not UTF-8 are left out."""
        found: list[Entry] = []
        level = [("", tree_id)]
        while level:
            bodies = dict(self._bodies(sorted({folder_id for _, folder_id in level})))
            deeper: list[tuple[str, str]] = []
            for prefix, folder_id in level:
                for mode, name, inner in _parse(bodies[folder_id], len(tree_id) // 2):
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
                    raise RepositoryError(f"{self.git_dir}: the object {object_id} is missing or damaged")
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

    def _ask(self, *names: str) -> IO[bytes]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None  # noqa: S101
        assert stdout is not None  # noqa: S101
        try:
            stdin.write("".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape"))
            stdin.flush()
        except BrokenPipeError:
            raise self._failure() from None
        return stdout

    def _failure(self) -> RepositoryError:
        self._process.wait()
        self._errors.seek(0)
        return RepositoryError(f"{self.git_dir}: {one_line(self._errors.read()) or 'git ended without a word'}")


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


def _parse(body: bytes, id_bytes: int) -> Iterator[tuple[str, str, str]]:
    """``(mode, name, id)`` of the rows of a raw tree; rows whose name is not UTF-8 are left out."""
    start = 0
    while start < len(body):
        space = body.index(b" ", start)
        end = body.index(b"\0", space)
        mode = body[start:space].decode("ascii").removeprefix("0")
        start = end + 1 + id_bytes
        try:
            yield mode, body[space + 1 : end].decode("utf-8"), body[end + 1 : start].hex()
        except UnicodeDecodeError:
            continue


def _close(stream: IO[bytes] | None) -> None:
    """Close a pipe whose reader may be gone: what was still to be written is of no use."""
    try:
        if stream is not None:
            stream.close()
    except BrokenPipeError:
        return
