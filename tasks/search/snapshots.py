"""``repo@commit`` on disk without a checkout per commit.

::

    cache_dir/
      blobs/ab/cdef...     one read-only file per distinct content, named by its git id
      trees/<tree id>/     a snapshot: folders of hard links into blobs/
      commits/<commit id>  the tree id of a commit, so that git is asked once
      tmp/                 work in progress, renamed when it is whole

Everything is named by content and put in place by a rename or a link, so any number of processes may build the same
snapshot, and one that is killed leaves only something in ``tmp/``. Symbolic links become plain link entries that
:class:`Repository` never follows out; submodules are skipped.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO

from tasks.core.errors import RepositoryError
from tasks.core.schema import Instance
from tasks.search.repository import Repository

_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LINK = "120000"
_CHUNK = 1 << 20
_STALE_SECONDS = 24 * 3600


@dataclass(frozen=True)
class Entry:
    """One file of a git tree: ``mode`` as git writes it, ``blob`` its id."""

    mode: str
    blob: str
    path: str


class SnapshotStore:
    """Snapshots below ``cache_dir``, shared by all processes that name the same folder."""

    def __init__(self, cache_dir: Path) -> None:
        self.cache_dir = Path(cache_dir)
        for name in ("blobs", "trees", "commits", "tmp"):
            (self.cache_dir / name).mkdir(parents=True, exist_ok=True)
        self._sweep()

    def materialize(self, git_dir: Path, commit: str) -> Path:
        """Folder that holds the files of ``commit``; made if it is not there.

        ``git_dir`` is a bare repository, a ``.git`` folder or a work tree; ``commit`` anything git resolves to a commit.
        Raises :class:`RepositoryError` when git cannot give it.
        """
        known = self._known(commit)
        if known is not None:
            return known
        git = Git(git_dir)
        commit_id, tree_id = git.resolve(commit)
        folder = self.cache_dir / "trees" / tree_id
        if not folder.is_dir():
            self._build(git, tree_id, folder)
        self._remember(commit_id, tree_id)
        return folder

    def _known(self, commit: str) -> Path | None:
        if not _ID.fullmatch(commit):
            return None
        try:
            tree_id = (self.cache_dir / "commits" / commit).read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError):
            return None
        folder = self.cache_dir / "trees" / tree_id
        return folder if _ID.fullmatch(tree_id) and folder.is_dir() else None

    def _remember(self, commit_id: str, tree_id: str) -> None:
        final = self.cache_dir / "commits" / commit_id
        if not final.exists():
            descriptor, temporary = tempfile.mkstemp(dir=self.cache_dir / "tmp")
            with os.fdopen(descriptor, "w", encoding="ascii") as handle:
                handle.write(tree_id)
            os.replace(temporary, final)

    def _build(self, git: Git, tree_id: str, final: Path) -> None:
        entries = [entry for entry in git.entries(tree_id) if _is_safe(entry)]
        self._fetch_blobs(git, {entry.blob for entry in entries})
        work = Path(tempfile.mkdtemp(dir=self.cache_dir / "tmp"))
        tree = work / "tree"
        try:
            tree.mkdir()
            self._link_all(entries, tree)
            os.rename(tree, final)
        except OSError as error:
            if not final.is_dir():
                raise RepositoryError(f"the snapshot {final} cannot be made: {error.strerror or error}") from None
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _fetch_blobs(self, git: Git, blobs: set[str]) -> None:
        missing = [blob for blob in sorted(blobs) if not os.path.exists(self._blob(blob))]
        for blob, size, stream in git.contents(missing):
            descriptor, temporary = tempfile.mkstemp(dir=self.cache_dir / "tmp")
            with os.fdopen(descriptor, "wb") as handle:
                _copy(stream, handle, size)
            os.chmod(temporary, 0o444)
            os.makedirs(os.path.dirname(self._blob(blob)), exist_ok=True)
            os.replace(temporary, self._blob(blob))

    def _link_all(self, entries: Iterable[Entry], work: Path) -> None:
        """Files first and links last, so that no file can be written through a link of the same tree."""
        made = {""}
        for entry in sorted(entries, key=lambda entry: entry.mode == _LINK):
            folder = entry.path.rpartition("/")[0]
            if folder not in made:
                (work / folder).mkdir(parents=True, exist_ok=True)
                made.add(folder)
            if entry.mode == _LINK:
                self._symlink(self._blob(entry.blob), f"{work}/{entry.path}")
            else:
                self._link(self._blob(entry.blob), f"{work}/{entry.path}")

    @staticmethod
    def _symlink(blob: str, target: str) -> None:
        """A link as git has it; one whose text no link can have (too long, NUL) is left out."""
        with suppress(OSError, ValueError):
            os.symlink(Path(blob).read_bytes(), os.fsencode(target))

    def _link(self, blob: str, target: str) -> None:
        try:
            os.link(blob, target)
        except OSError as error:
            if error.errno not in (errno.EMLINK, errno.EPERM, errno.EOPNOTSUPP):
                raise
            # No links here, or this file has all it may have (65,000 on ext4): the copy takes the next ones.
            shutil.copy(blob, target)
            if error.errno == errno.EMLINK:
                self._renew(blob)

    def _renew(self, blob: str) -> None:
        descriptor, fresh = tempfile.mkstemp(dir=self.cache_dir / "tmp")
        os.close(descriptor)
        shutil.copy(blob, fresh)
        os.replace(fresh, blob)

    def _blob(self, blob: str) -> str:
        return f"{self.cache_dir}/blobs/{blob[:2]}/{blob[2:]}"

    def _sweep(self) -> None:
        """Remove what killed processes left in ``tmp`` long ago."""
        for entry in os.scandir(self.cache_dir / "tmp"):
            try:
                if time.time() - entry.stat(follow_symlinks=False).st_mtime < _STALE_SECONDS:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)
            except OSError:
                continue


class Git:
    """Reads one repository with the ``git`` program: plumbing commands, no hooks, no configuration of the user."""

    def __init__(self, git_dir: Path) -> None:
        inner = Path(git_dir) / ".git"
        self.git_dir = inner if inner.exists() else Path(git_dir)
        if not self.git_dir.exists():
            raise RepositoryError(f"{git_dir} is not a git repository: no such folder")

    def resolve(self, commit: str) -> tuple[str, str]:
        """Ids of a commit and of its tree. Raises :class:`RepositoryError` when there is none."""
        if not commit.isprintable() or ".." in commit or commit.startswith("^"):
            raise RepositoryError(f"{commit!r} is not a commit")
        ids = self._read("log", "-1", "--no-show-signature", "--format=%H %T", "--end-of-options", commit, "--").split()
        if len(ids) != 2:
            raise RepositoryError(f"{self.git_dir}: {commit} is not a commit")
        return ids[0].decode("ascii"), ids[1].decode("ascii")

    def entries(self, tree_id: str) -> Iterator[Entry]:
        """Files and links of a tree with all its folders; submodules and names that are not UTF-8 are left out."""
        for record in self._read("ls-tree", "-r", "-z", "--full-tree", tree_id).split(b"\0")[:-1]:
            head, _, name = record.partition(b"\t")
            mode, kind, blob = head.decode("ascii").split()
            try:
                path = name.decode("utf-8")
            except UnicodeDecodeError:
                continue
            if kind == "blob":
                yield Entry(mode, blob, path)

    def contents(self, blobs: list[str]) -> Iterator[tuple[str, int, IO[bytes]]]:
        """``(id, size, stream)`` of each blob; ``size`` bytes must be read from the stream before the next one."""
        if not blobs:
            return
        with tempfile.TemporaryFile() as wanted:
            wanted.write("".join(f"{blob}\n" for blob in blobs).encode("ascii"))
            wanted.seek(0)
            command = [*self._command(), "cat-file", "--batch"]
            with subprocess.Popen(command, env=git_environment(), stdin=wanted, stdout=subprocess.PIPE) as process:
                assert process.stdout is not None  # noqa: S101
                try:
                    for blob in blobs:
                        yield blob, self._size(process.stdout, blob), process.stdout
                        process.stdout.read(1)
                finally:
                    process.kill()

    def _size(self, stream: IO[bytes], blob: str) -> int:
        head = stream.readline().split()
        if len(head) != 3 or head[1] != b"blob":
            raise RepositoryError(f"{self.git_dir}: the object {blob} is missing or damaged")
        return int(head[2])

    def _read(self, *arguments: str) -> bytes:
        command = [*self._command(), *arguments]
        try:
            done = subprocess.run(command, env=git_environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False)
        except OSError as error:
            raise RepositoryError(f"git cannot be started: {error.strerror}") from None
        if done.returncode != 0:
            reason = " ".join(done.stderr.decode("utf-8", "replace").split())
            raise RepositoryError(f"{self.git_dir}: {reason or 'git ' + arguments[0] + ' failed'}")
        return done.stdout

    def _command(self) -> list[str]:
        settings = ("safe.directory=*", "core.hooksPath=/dev/null", "core.fsmonitor=false")
        return ["git", *(part for setting in settings for part in ("-c", setting)), f"--git-dir={self.git_dir}"]


def instance_snapshot(store: SnapshotStore, repos_dir: Path, instance: Instance) -> Repository:
    """The tree an instance is about: ``base_commit`` of ``repos_dir/<owner>__<name>.git``."""
    git_dir = Path(repos_dir) / (instance.repo.replace("/", "__") + ".git")
    return _repository(store.materialize(git_dir, instance.base_commit))


@lru_cache(maxsize=64)
def _repository(folder: Path) -> Repository:
    """One object per snapshot, so that all episodes on it share its listing and what its tools remember."""
    return Repository(folder)


def git_environment() -> dict[str, str]:
    """This process's environment without ``GIT_*``, and with the settings of user and machine switched off."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    fixed = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
    return {**kept, **fixed, "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C"}


def _is_safe(entry: Entry) -> bool:
    """Whether all names are ordinary: a hostile tree may hold ``..`` or ``.git``, or an ignore file that is a link."""
    parts = entry.path.split("/")
    if entry.mode == _LINK and parts[-1] == ".gitignore":
        return False
    return all(part not in ("", ".", "..") and part.lower() != ".git" for part in parts)


def _copy(source: IO[bytes], target: IO[bytes], size: int) -> None:
    while size > 0:
        chunk = source.read(min(size, _CHUNK))
        if not chunk:
            raise RepositoryError("git ended in the middle of an object")
        target.write(chunk)
        size -= len(chunk)
