"""File contents of a commit, read from a git repository by one ``git cat-file --batch`` process."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

from tasks.core.errors import DataError, RepositoryError
from tasks.search.git import one_line, reading_environment

MAX_BYTES = 64 << 20
"""Larger files are refused: no source file is as large."""

_CHUNK = 1 << 20
_FOLDER = b"40000"
_SUBMODULE = b"160000"


class _Object(NamedTuple):
    id_bytes: int
    kind: str
    content: bytes


class Blobs:
    """Files of a repository's commits. Use as a context manager; one request at a time.

    ``git_dir`` is a bare repository, a ``.git`` folder or the root of a working tree. Nothing is written, no hook runs
    and nothing is fetched from a network. A git that ended over a damaged object is started again for the next request.
    """

    def __init__(self, git_dir: Path) -> None:
        where = git_dir / ".git" if (git_dir / ".git").exists() else git_dir
        if not where.exists():
            raise RepositoryError(f"{git_dir}: there is no such git repository")
        self.git_dir = git_dir
        self._command = ["git", "-c", "safe.directory=*", f"--git-dir={where}", "cat-file", "--batch"]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  a pipe that nobody reads would fill up and stop git
        try:
            self._process = self._started()
        except RepositoryError:
            self._errors.close()
            raise

    def check_commit(self, commit: str) -> None:
        """Raise :class:`RepositoryError` unless ``commit`` names a commit of the repository."""
        if not commit or re.search(r"\s|\0", commit) or self._request(f"{commit}^{{commit}}") is None:
            raise RepositoryError(f"{self.git_dir}: there is no commit {commit!r}")

    def read(self, commit: str, path: str) -> str | None:
        """Text of the file ``path`` in ``commit``, bytes that are not UTF-8 replaced; ``None`` if it is no file there.

        Raises :class:`DataError` for a file of more than :data:`MAX_BYTES` and :class:`RepositoryError` for one that
        the commit has and git cannot give.
        """
        if not path or "\n" in path or "\0" in path or path.startswith(("./", "../")):
            return None
        found = self._request(f"{commit}:{path}")
        if found is None and self._lists(commit, path):
            raise self._damaged(f"{commit}:{path}")
        return found.content.decode("utf-8", "replace") if found and found.kind == "blob" else None

    def close(self) -> None:
        """End the process."""
        self._end()
        self._errors.close()

    def __enter__(self) -> Blobs:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _started(self) -> subprocess.Popen[bytes]:
        self._errors.seek(0)
        self._errors.truncate()
        pipe = subprocess.PIPE
        try:
            return subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=self._errors, env=reading_environment())
        except OSError as error:
            raise RepositoryError(f"git cannot be started ({error.strerror}): install git") from None

    def _end(self) -> None:
        self._process.terminate()
        with suppress(BrokenPipeError, ValueError):
            self._process.communicate()
        self._process.wait()

    def _lists(self, commit: str, path: str) -> bool:
        """Whether the commit's trees have ``path`` as a file, link or folder; asked of the same git, folder by folder.

        A submodule counts for none: its commit lies in another repository. Raises :class:`RepositoryError` when a tree
        cannot be read.
        """
        names = path.encode("utf-8", "surrogateescape").split(b"/")
        if {b"", b".", b".."} & set(names):
            return False
        tree = f"{commit}^{{tree}}"
        for name in names[:-1]:
            mode, tree = self._entry(tree, name)
            if mode != _FOLDER:
                return False
        mode, _ = self._entry(tree, names[-1])
        return mode not in (b"", _SUBMODULE)

    def _entry(self, tree: str, name: bytes) -> tuple[bytes, str]:
        """Mode and id of what a tree has under a name, empty ones for nothing."""
        found = self._request(tree)
        if found is None or found.kind != "tree":
            raise self._damaged(tree)
        try:
            return next(((mode, other.hex()) for mode, one, other in _rows(found) if one == name), (b"", ""))
        except ValueError:
            raise self._damaged(tree) from None

    def _request(self, name: str) -> _Object | None:
        """The object of a name, ``None`` when git says that there is none or that it cannot be read."""
        if self._process.returncode is not None:
            self._process = self._started()
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise self._failure()
        try:
            stdin.write(name.encode("utf-8", "surrogateescape") + b"\n")
            stdin.flush()
            header = stdout.readline()
        except (BrokenPipeError, ValueError):
            header = b""
        if not header:
            raise self._failure()
        match = re.fullmatch(rb"([0-9a-f]{40,64}) (\w+) (\d+)\n", header)
        if not match:
            return None
        size = int(match[3])
        if size > MAX_BYTES:
            self._skip(stdout, size + 1)
            raise DataError(f"{self.git_dir}: {name[:200]} has {size:,} bytes, more than {MAX_BYTES:,}: it is not read")
        content = stdout.read(size + 1)
        if len(content) != size + 1:
            self._end()
            raise self._damaged(name)
        return _Object(len(match[1]) // 2, match[2].decode(), content[:-1])

    def _skip(self, stdout: IO[bytes], size: int) -> None:
        while size and (chunk := stdout.read(min(size, _CHUNK))):
            size -= len(chunk)

    def _damaged(self, name: str) -> RepositoryError:
        return RepositoryError(
            f"{self.git_dir}: the object of {name[:200]} is missing or damaged: "
            "`git fsck` there tells which ones are; clone the repository again, whole"
        )

    def _failure(self) -> RepositoryError:
        self._end()
        self._errors.seek(0)
        reason = one_line(self._errors.read()) or "git ended without a word"
        return RepositoryError(
            f"{self.git_dir}: cannot be read as a git repository ({reason}); if it is one, `git fsck` there tells what is damaged"
        )


def _rows(tree: _Object) -> Iterator[tuple[bytes, bytes, bytes]]:
    """``(mode, name, id)`` of the rows of a raw tree. Raises :class:`ValueError` when it is none."""
    body, start = tree.content, 0
    while start < len(body):
        space = body.index(b" ", start)
        end = body.index(b"\0", space)
        behind = end + 1 + tree.id_bytes
        yield body[start:space].lstrip(b"0"), body[space + 1 : end], body[end + 1 : behind]
        start = behind
