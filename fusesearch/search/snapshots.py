"""``repo@commit`` on disk without a checkout per commit.

::

    cache_dir/
      blobs/ab/cdef...     one read-only file per distinct content, named by its git id
      trees/<tree id>/     a snapshot: folders of hard links into blobs/
      commits/<commit id>  a link whose text is the commit's tree id, so that git is asked once
      tmp/                 work in progress, renamed when it is complete

Everything is named by content and put in place by a rename or a link, so any number of processes may build the same
snapshot, and a killed one leaves something only in ``tmp/``. ``eviction.py`` limits the size, ``trees.py`` builds. Symbolic
links are kept as links, which :class:`Repository` never follows outside; submodules are skipped.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from fusesearch.core.errors import RepositoryError
from fusesearch.core.schema import Instance
from fusesearch.core.text import flat_name
from fusesearch.search.eviction import evict, limit_from_environment, touch
from fusesearch.search.git import ID, Git
from fusesearch.search.repository import Repository
from fusesearch.search.trees import TreeBuilder

_STALE_SECONDS = 24 * 3600
_ATTEMPTS = 10
_MEASURED_AFTER = 0.02  # of the limit: additions by this process before it measures again, which walks the whole cache


class SnapshotStore:
    """Snapshots below ``cache_dir``, shared by all processes that name the same folder.

    ``limit`` is in bytes, ``FUSESEARCH_CACHE_GB`` or 20 GB by default. Only what was used within a day may exceed it.
    """

    def __init__(self, cache_dir: Path, limit: int | None = None) -> None:
        self.cache_dir = Path(cache_dir)
        for name in ("blobs", "trees", "commits", "tmp"):
            (self.cache_dir / name).mkdir(parents=True, exist_ok=True)
        self.limit = limit_from_environment() if limit is None else limit
        self._unmeasured = self.limit  # bytes added since the cache was measured: the first addition measures it
        self._sweep()

    def repository(self, source: Path, commit: str, needed: Callable[[str], bool] | None = None) -> Repository:
        """The files of ``commit``, built if necessary. They stay for a day after their last use.

        ``source`` is a bare repository, a ``.git`` folder or a work tree, ``commit`` anything that git resolves to a commit.
        A file whose content a partial clone lacks is empty if its path is not ``needed``; by default every file is.
        Raises :class:`RepositoryError` on failure.
        """
        try:
            for _ in range(_ATTEMPTS):  # more than one only if other processes evict the snapshot meanwhile
                folder = self._known(commit) or self._make(source, commit, needed)
                if touch(folder):
                    repository = _repository(folder)
                    inner = source / ".git"
                    repository.history = (inner if inner.exists() else source, commit)
                    return repository
        except OSError as error:
            raise RepositoryError(f"{self.cache_dir} cannot store snapshots: {error.strerror or error}") from None
        raise RepositoryError(f"{commit} is evicted as soon as it is built: raise the limit of {self.cache_dir}")

    def _known(self, commit: str) -> Path | None:
        if not ID.fullmatch(commit):
            return None
        try:
            tree_id = os.readlink(self.cache_dir / "commits" / commit)
        except OSError:
            return None
        folder = self.cache_dir / "trees" / tree_id
        return folder if ID.fullmatch(tree_id) and folder.is_dir() else None

    def _make(self, source: Path, commit: str, needed: Callable[[str], bool] | None) -> Path:
        with Git(source) as git:
            commit_id, tree_id = git.resolve(commit)
            empty = _spare(git, tree_id, needed) if needed else set()
            # a tree with emptied files has a name of its own, and no link: a whole clone of the commit gets the whole tree
            name = hashlib.sha256(" ".join([tree_id, *sorted(empty)]).encode()).hexdigest() if empty else tree_id
            builder, folder = TreeBuilder(self.cache_dir, git, empty), self.cache_dir / "trees" / name
            if not touch(folder):
                builder.build(tree_id, folder)
        if not empty:
            with suppress(FileExistsError):
                os.symlink(tree_id, self.cache_dir / "commits" / commit_id)
        self._unmeasured += builder.added
        if self._unmeasured > self.limit * _MEASURED_AFTER:
            self._unmeasured = 0
            evict(self.cache_dir, self.limit)
        return folder

    def _sweep(self) -> None:
        """Remove old leftovers of killed processes from ``tmp``."""
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


def _spare(git: Git, tree_id: str, needed: Callable[[str], bool]) -> set[str]:
    """Ids of the blobs that the clone lacks and that no needed file has."""
    lacking = git.absent([tree_id])
    return lacking - {entry.blob for entry in git.entries(tree_id) if needed(entry.path)} if lacking else lacking


def instance_snapshot(
    store: SnapshotStore, repos_dir: Path, instance: Instance, needed: Callable[[str], bool] | None = None
) -> Repository:
    """The tree of an instance: ``base_commit`` of ``repos_dir/<owner>__<name>.git``; ``needed`` as in :class:`SnapshotStore`.

    A synthetic one has no history, because its newest commit planted the fault.
    """
    git_dir = Path(repos_dir) / f"{flat_name(instance.repo)}.git"
    repository = store.repository(git_dir, instance.base_commit, needed)
    if instance.provenance.get("source") == "synthetic":
        repository.history = (repository.root / ".git", "HEAD")
    return repository


@lru_cache(maxsize=64)
def _repository(folder: Path) -> Repository:
    """One object per snapshot, so that all episodes on it share its listing and its tools' memory."""
    return Repository(folder, snapshot=True)
