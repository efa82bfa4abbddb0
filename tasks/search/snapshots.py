"""``repo@commit`` on disk without a checkout per commit.

::

    cache_dir/
      blobs/ab/cdef...     one read-only file per distinct content, named by its git id
      trees/<tree id>/     a snapshot: folders of hard links into blobs/
      commits/<commit id>  a link whose text is the commit's tree id, so that git is asked once
      clones/<name>.git    partial clones of remote repositories
      tmp/                 work in progress, renamed when it is whole

Everything is named by content and put in place by a rename or a link, so any number of processes may build the same
snapshot, and one that is killed leaves only something in ``tmp/``. ``eviction.py`` keeps the whole below a limit, and a
snapshot that is in use from going; ``trees.py`` builds, ``clones.py`` fetches. Symbolic links become plain link entries that
:class:`Repository` never follows out; submodules are skipped.
"""

from __future__ import annotations

import os
import shutil
import time
import weakref
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from tasks.core.errors import RepositoryError
from tasks.core.schema import Instance
from tasks.core.text import flat_name
from tasks.search.clones import is_address, opened
from tasks.search.eviction import Bound, lease, limit_from_environment
from tasks.search.git import ID, Git
from tasks.search.repository import Repository
from tasks.search.trees import TreeBuilder

_STALE_SECONDS = 24 * 3600
_ATTEMPTS = 10


class SnapshotStore:
    """Snapshots below ``cache_dir``, shared by all processes that name the same folder.

    ``limit`` is in bytes; without it, ``FUSESEARCH_CACHE_GB`` says it, else 20 GB. Only what is in use may exceed it.
    """

    def __init__(self, cache_dir: Path, limit: int | None = None) -> None:
        self.cache_dir = Path(cache_dir)
        for name in ("blobs", "trees", "commits", "clones", "tmp"):
            (self.cache_dir / name).mkdir(parents=True, exist_ok=True)
        self.bound = Bound(self.cache_dir, limit_from_environment() if limit is None else limit)
        self._sweep()

    def repository(self, source: Path | str, commit: str) -> Repository:
        """The files of ``commit``, made if they are not there; they are not evicted as long as somebody has the object.

        ``source`` is a bare repository, a ``.git`` folder, a work tree, or the address of a remote repository as text
        (``https://``, ``ssh://``, ``file://``, ``git@host:path``), of which a partial clone is kept. ``commit`` is anything
        git resolves to a commit; of a remote, an id, a branch or a tag. Raises :class:`RepositoryError` when it cannot be had.
        """
        folder, held = self._hold(source, commit)
        try:
            return _repository(folder)
        finally:
            os.close(held)

    def materialize(self, source: Path | str, commit: str) -> Path:
        """Folder of the files of ``commit``, as :meth:`repository` makes it. Nothing keeps it from being evicted later."""
        folder, held = self._hold(source, commit)
        os.close(held)
        return folder

    def _hold(self, source: Path | str, commit: str) -> tuple[Path, int]:
        """A snapshot's folder and the lease on it. The limit is seen to under that lease: others go, not this one."""
        try:
            for _ in range(_ATTEMPTS):
                folder, added = self._known(commit), 0
                if folder is None:
                    folder, added = self._make(source, commit)
                held = lease(folder)
                if held is not None:
                    self._charge(added, held)
                    return folder, held
        except OSError as error:
            raise RepositoryError(f"{self.cache_dir} cannot hold snapshots: {error.strerror or error}") from None
        raise RepositoryError(f"{commit} is evicted as soon as it is made: raise the limit of {self.cache_dir}")

    def _charge(self, added: int, held: int) -> None:
        try:
            if added:
                self.bound.charge(added)
        except BaseException:
            os.close(held)
            raise

    def _known(self, commit: str) -> Path | None:
        if not ID.fullmatch(commit):
            return None
        try:
            tree_id = os.readlink(self.cache_dir / "commits" / commit)
        except OSError:
            return None
        folder = self.cache_dir / "trees" / tree_id
        return folder if ID.fullmatch(tree_id) and folder.is_dir() else None

    def _make(self, source: Path | str, commit: str) -> tuple[Path, int]:
        """Folder of a snapshot, and about how many bytes came in."""
        if not is_address(source):
            with Git(Path(source)) as git:
                return self._build(TreeBuilder(self.cache_dir, git), commit)
        with opened(str(source), commit, self.cache_dir) as clone, Git(clone.git_dir) as git:
            folder, added = self._build(TreeBuilder(self.cache_dir, git, clone.fetch_blobs), clone.commit_id)
            return folder, added + clone.added()

    def _build(self, builder: TreeBuilder, commit: str) -> tuple[Path, int]:
        commit_id, tree_id = builder.git.resolve(commit)
        folder = self.cache_dir / "trees" / tree_id
        if not folder.is_dir():
            builder.build(tree_id, folder)
        with suppress(FileExistsError):
            os.symlink(tree_id, self.cache_dir / "commits" / commit_id)
        return folder, builder.added

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


def instance_snapshot(store: SnapshotStore, repos_dir: Path, instance: Instance) -> Repository:
    """The tree an instance is about: ``base_commit`` of ``repos_dir/<owner>__<name>.git``."""
    git_dir = Path(repos_dir) / f"{flat_name(instance.repo)}.git"
    return store.repository(git_dir, instance.base_commit)


@lru_cache(maxsize=64)
def _repository(folder: Path) -> Repository:
    """One object per snapshot, so that all episodes on it share its listing and what its tools remember.

    It has a lease of its own, given back when the last of its users lets it go; called under a lease.
    """
    repository = Repository(folder)
    held = lease(folder)
    if held is None:
        raise RepositoryError(f"{folder} was removed while it was in use")
    weakref.finalize(repository, os.close, held)
    return repository
