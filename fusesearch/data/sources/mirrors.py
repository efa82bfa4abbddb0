"""Clones kept by mining: partial at first, then with the files that pairs need, and copied for later stages."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from fusesearch.core.errors import RepositoryError
from fusesearch.core.storage import replacing_folder
from fusesearch.core.text import flat_name
from fusesearch.data.sources import history
from fusesearch.search.clones import Clone, open_clone
from fusesearch.search.git import git_environment, one_line

T = TypeVar("T")
TRIES = 3
PAUSE_SECONDS = 2.0
"""Pause between tries of a remote."""


class Mirror:
    """The partial clone of one remote; use :func:`mirrored`."""

    def __init__(self, clone: Clone) -> None:
        self.clone = clone
        self.git_dir = clone.git_dir
        self._fresh = False

    def have_commits(self, commits: Iterable[str]) -> set[str]:
        """Fetch missing commits; returns those that the remote no longer has.

        Fetches the branches once, then commits on no branch by id: together if the remote has them all, else one by one.
        """
        missing = history.absent(self.git_dir, commits)
        if missing:
            self.refresh()
            missing = history.absent(self.git_dir, missing)
        for together in (True, False):
            for group in [sorted(missing)] if together else [[commit] for commit in sorted(missing)]:
                with suppress(RepositoryError):  # missing ones are tried one by one, then given up
                    if group:
                        self.clone.fetch_ids(group)
            missing = history.absent(self.git_dir, missing)
        return missing

    def refresh(self) -> None:
        """Fetch the branches, once."""
        if not self._fresh:
            _trying(self.clone.refresh)
            self._fresh = True

    def have_blobs(self, commits: Iterable[str], blobs: set[str] | None = None) -> None:
        """Fetch the missing files of ``commits``, or only ``blobs`` of them, in one request."""
        missing = history.absent_blobs(self.git_dir, commits)
        wanted = missing if blobs is None else missing & blobs
        _trying(lambda: self.clone.fetch_ids(wanted, blobs=True))

    def publish(self, repo: str, repos_dir: Path, commits: Iterable[str]) -> None:
        """Copy the clone with all files of ``commits`` to ``repos_dir/<owner>__<name>.git``."""
        self.have_blobs(commits)
        copy_repository(self.git_dir, repos_dir / f"{flat_name(repo)}.git")


@contextmanager
def mirrored(address: str, cache_dir: Path) -> Iterator[Mirror]:
    """The clone of ``address`` below ``cache_dir``, created if needed and locked for this process.

    Raises :class:`RepositoryError` when cloning fails after some tries.
    """
    with open_clone(address, cache_dir, _trying) as clone:
        yield Mirror(clone)


def copy_repository(git_dir: Path, target: Path) -> None:
    """Copy a bare repository atomically, with hard links for its packs if the disk allows."""
    with replacing_folder(target) as partial:
        shutil.copytree(git_dir, partial, copy_function=_link_objects, ignore=shutil.ignore_patterns("*.lock", "tmp_*", "hooks"))


def clone_bare(git_dir: Path, target: Path) -> None:
    """Clone a local repository as a bare one, atomically, with hard links for its objects if possible."""
    with replacing_folder(target) as partial:
        command = ["git", "-c", "safe.directory=*", "clone", "--quiet", "--bare", "--template=", "--", str(git_dir), str(partial)]
        done = subprocess.run(command, env=git_environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode != 0:
            raise RepositoryError(f"{git_dir}: {one_line(done.stderr) or 'git clone failed'}")


def _link_objects(source: str, target: str) -> None:
    """Link objects, which never change; copy everything else."""
    try:
        if f"{os.sep}objects{os.sep}" not in source:
            raise OSError
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _trying(act: Callable[[], T]) -> T:
    """Retry ``act`` when the remote fails."""
    for tries_left in reversed(range(TRIES)):
        try:
            return act()
        except RepositoryError:
            if not tries_left:
                raise
            time.sleep(PAUSE_SECONDS)
    raise AssertionError
