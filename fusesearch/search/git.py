"""The one client of git's objects: ``git cat-file --batch`` per repository, without hooks, user settings or network."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from cachetools import LRUCache

from fusesearch.core.errors import DataError, RepositoryError

ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
"""A full object id, of SHA-1 or SHA-256."""

LINK = "120000"
"""Mode of a symbolic link."""

SUBMODULE = "160000"
"""Mode of a submodule: a commit of another repository."""

MAX_BYTES = 64 << 20
"""Larger files are refused; source files are smaller."""

_FOLDER = "40000"
_AT_ONCE = 500  # requests written before reading answers: their 33 KB fit into a pipe, so neither side blocks
_MAX_ENTRIES = 1_000_000
_STREAM_BYTES = 1 << 18
_MESSAGE_CHARS = 300
_LISTING_SECONDS = 20
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
    """Reads one repository; a context manager. One git process answers all requests, one at a time.

    ``git_dir`` is a bare repository, a ``.git`` folder or a work tree. Nothing is fetched: objects that a partial clone
    lacks are missing. All methods raise a one-line :class:`RepositoryError` if git cannot read an object. If git died
    over a damaged object, the next request starts it again.
    """

    def __init__(self, git_dir: Path) -> None:
        inner = Path(git_dir) / ".git"
        self.git_dir = inner if inner.exists() else Path(git_dir)
        if not self.git_dir.exists():
            raise RepositoryError(f"{git_dir}: there is no such git repository")
        self._process: subprocess.Popen[bytes] | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  an unread pipe would fill up and block git

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
        """Text of the file ``path`` in ``commit``, with non-UTF-8 bytes replaced; ``None`` if it is not a file there.

        Raises :class:`DataError` for a file larger than :data:`MAX_BYTES` and :class:`RepositoryError` if the commit
        has the file but git cannot read it.
        """
        if not path or "\n" in path or "\0" in path or path.startswith(("./", "../")):
            return None
        found = self._object(f"{commit}:{path}")
        if found is None and self._lists(commit, path):
            raise self._damaged(f"{commit}:{path}")
        return found.content.decode("utf-8", "replace") if found and found.kind == "blob" else None

    def entries(self, tree_id: str) -> list[Entry]:
        """Files and links of a tree and its folders, without submodules and names that are not UTF-8."""
        found: list[Entry] = []
        level = [("", tree_id)]
        while level:
            folders = self.contents(sorted({folder_id for _, folder_id in level}), "tree")
            bodies = {folder_id: stream.read(size) for folder_id, size, stream in folders}
            deeper: list[tuple[str, str]] = []
            for prefix, folder_id in level:
                for mode, raw_name, inner in _rows(bodies[folder_id], len(tree_id) // 2):
                    try:
                        name = raw_name.decode("utf-8")
                    except UnicodeDecodeError:
                        continue
                    if mode == _FOLDER:
                        deeper.append((f"{prefix}{name}/", inner))
                    elif mode != SUBMODULE:
                        found.append(Entry(mode, inner, prefix + name))
                if len(found) + len(deeper) > _MAX_ENTRIES:
                    raise RepositoryError(f"{self.git_dir}: the tree {tree_id} has more than {_MAX_ENTRIES:,} entries")
            level = deeper
        return found

    def contents(self, ids: list[str], kind: str = "blob") -> Iterator[tuple[str, int, IO[bytes]]]:
        """``(id, size, stream)`` of each object. Read ``size`` bytes from the stream before taking the next one."""
        for start in range(0, len(ids), _AT_ONCE):
            part = ids[start : start + _AT_ONCE]
            stdout = self._ask(*part)
            for object_id in part:
                head = stdout.readline().split()
                if len(head) != 3 or head[1] != kind.encode("ascii"):
                    self._stop()  # answers to the rest are still in the pipe
                    raise self._damaged(object_id)
                yield object_id, int(head[2]), stdout
                stdout.read(1)

    def lacking(self, commits: Iterable[str]) -> set[str]:
        """The commits that the repository does not have."""
        found = ((commit, self._object(f"{commit}^{{commit}}")) for commit in dict.fromkeys(commits) if commit)
        return {commit for commit, there in found if there is None}

    def absent(self, names: Iterable[str]) -> set[str]:
        """Ids of the blobs in the trees of commits, or in trees, that this partial clone lacks."""
        sent = "".join(f"{name}^{{tree}}\n" for name in sorted(set(names))).encode("ascii")
        command = git_command(self.git_dir, "rev-list", "--objects", "--no-object-names", "--missing=print", "--stdin")
        done = subprocess.run(command, env=reading_environment(), input=sent, capture_output=True, check=False)
        if done.returncode != 0:
            raise RepositoryError(f"{self.git_dir}: {one_line(done.stderr) or 'git rev-list failed'}")
        return {line[1:] for line in done.stdout.decode("ascii").split() if line.startswith("?")}

    def _lists(self, commit: str, path: str) -> bool:
        """Whether the commit has ``path`` as a file, link or folder; submodules do not count."""
        names = path.encode("utf-8", "surrogateescape").split(b"/")
        if {b"", b".", b".."} & set(names):
            return False
        mode, tree = _FOLDER, f"{commit}^{{tree}}"
        for name in names:
            if mode != _FOLDER:
                return False
            found = self._object(tree)
            try:
                if found is None or found.kind != "tree":
                    raise ValueError
                rows = {other: (mode, inner) for mode, other, inner in _rows(found.content, len(found.id) // 2)}
            except ValueError:
                raise self._damaged(tree) from None
            mode, tree = rows.get(name, ("", ""))
        return mode not in ("", SUBMODULE)

    def _object(self, name: str) -> _Object | None:
        """The object of a name; ``None`` if git reports it as missing or unreadable."""
        stdout = self._ask(name)
        header = stdout.readline()
        if not header:
            raise self._failure(name)
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
        process = self._process = self._process or self._start()
        assert process.stdin is not None  # noqa: S101
        assert process.stdout is not None  # noqa: S101
        try:
            process.stdin.write("".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape"))
            process.stdin.flush()
        except BrokenPipeError:
            raise self._failure() from None
        return process.stdout

    def _start(self) -> subprocess.Popen[bytes]:
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
            with suppress(BrokenPipeError):  # unwritten requests no longer matter
                if stream is not None:
                    stream.close()

    def _damaged(self, name: str) -> RepositoryError:
        if self._is_partial():
            return RepositoryError(
                f"{self.git_dir}: this partial clone lacks {name[:200]}: `git show {name[:200]}` there fetches it"
            )
        return RepositoryError(
            f"{self.git_dir}: the object of {name[:200]} is missing or damaged: "
            "`git fsck` there shows which ones; clone the repository again, completely"
        )

    def _is_partial(self) -> bool:
        command = git_command(self.git_dir, "config", "--get-regexp", r"\.(promisor|partialclonefilter)$")
        return subprocess.run(command, env=reading_environment(), capture_output=True, check=False).returncode == 0

    def _failure(self, name: str = "") -> RepositoryError:
        """The error for a git that ended over the object ``name``, with what it wrote to stderr."""
        if self._process is not None:
            self._process.wait()
        self._stop()
        self._errors.seek(0)
        reason = one_line(self._errors.read()) or "git ended without a message"
        if name and self._is_partial():
            return self._damaged(name)
        return RepositoryError(
            f"{self.git_dir}: cannot be read as a git repository ({reason}); if it is one, `git fsck` there shows what is damaged"
        )


class Gits(LRUCache[str, Git]):
    """Clients of repositories by name (``owner/name``), at the paths that ``where`` returns; a context manager.

    The most recently used stay open, with one process each. Raises :class:`RepositoryError` for a missing repository.
    """

    def __init__(self, where: Callable[[str], Path], most: int = 32) -> None:
        super().__init__(most)
        self._where = where

    def __missing__(self, repo: str) -> Git:
        self[repo] = git = Git(self._where(repo))
        return git

    def popitem(self) -> tuple[str, Git]:
        """Close the least recently used client."""
        repo, git = super().popitem()
        git.close()
        return repo, git

    def __enter__(self) -> Gits:
        return self

    def __exit__(self, *_: object) -> None:
        while self:
            self.popitem()


def tracked_files(root: Path) -> list[bytes]:
    """Names of the files in the index of the work tree ``root``; none if git cannot list them within 20 seconds."""
    git_dir = root / ".git"
    read = (git_dir / name for name in ("HEAD", "commondir", "config", "index"))
    if any(os.path.exists(path) and not os.path.isfile(path) for path in read):  # git would wait for a pipe
        return []
    command = git_command(git_dir, "--work-tree=.", "ls-files", "-z")
    try:
        done = subprocess.run(
            command, cwd=root, env=reading_environment(), stdin=subprocess.DEVNULL, capture_output=True, check=True,
            timeout=_LISTING_SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.split(b"\0")[:-1]


def git_command(git_dir: Path, *arguments: str) -> list[str]:
    """A git command on ``git_dir`` without hooks, file-system monitor and housekeeping."""
    settings = ("safe.directory=*", "core.hooksPath=/dev/null", "core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false")
    return ["git", *(part for setting in settings for part in ("-c", setting)), f"--git-dir={git_dir}", *arguments]


def git_environment() -> dict[str, str]:
    """This process's environment without ``GIT_*`` and without the configuration of user and machine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    fixed = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
    return {**kept, **fixed, "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C"}


def reading_environment() -> dict[str, str]:
    """:func:`git_environment` without network. Git before 2.45 lacks ``GIT_NO_LAZY_FETCH``, so no protocol is allowed either."""
    return {**git_environment(), "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": ""}


def one_line(output: bytes) -> str:
    """Output of a program as one printable line of limited length."""
    text = " ".join(output.decode("utf-8", "replace").split())
    return "".join(character for character in text if character.isprintable())[:_MESSAGE_CHARS]


def _rows(body: bytes, id_bytes: int) -> Iterator[tuple[str, bytes, str]]:
    """``(mode, name, id)`` of the rows of a raw tree. Raises :class:`ValueError` if it is malformed."""
    start = 0
    while start < len(body):
        space = body.index(b" ", start)
        end = body.index(b"\0", space)
        mode = body[start:space].decode("ascii").lstrip("0")
        start = end + 1 + id_bytes
        yield mode, body[space + 1 : end], body[end + 1 : start].hex()
