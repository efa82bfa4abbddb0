"""The bare repositories of ``data/repos``, read at the base commits of instances."""

from __future__ import annotations

import re
from collections import OrderedDict
from pathlib import Path
from types import TracebackType

from tasks.core.errors import RepositoryError
from tasks.core.schema import Instance
from tasks.core.text import flat_name
from tasks.data.blobs import Blobs
from tasks.data.truth import Reader

AT_ONCE = 32


def git_dir_of(repo: str, repos_dir: Path) -> Path:
    """Where the bare repository ``owner/name`` lies. Raises :class:`RepositoryError` when that is no such name."""
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repo) or ".." in repo:
        raise RepositoryError(f"{repo[:100]!r} is no repository name: it should be owner/name")
    return repos_dir / f"{flat_name(repo)}.git"


class Repositories:
    """Readers of the bare repositories ``repos_dir/<owner>__<name>.git``. A context manager.

    There is one ``git cat-file --batch`` process for a repository; the last few used are kept.
    """

    def __init__(self, repos_dir: Path, at_once: int = AT_ONCE) -> None:
        self.repos_dir = repos_dir
        self.at_once = at_once
        self._open: OrderedDict[str, Blobs] = OrderedDict()

    def reader(self, instance: Instance) -> Reader:
        """A reader of files at the instance's base commit. Raises :class:`RepositoryError` if it is not there."""
        blobs = self._blobs(instance.repo)
        try:
            blobs.check_commit(instance.base_commit)
        except RepositoryError:
            self._close(instance.repo)
            raise
        return lambda path: blobs.read(instance.base_commit, path)

    def _blobs(self, repo: str) -> Blobs:
        if repo not in self._open:
            git_dir = git_dir_of(repo, self.repos_dir)
            while len(self._open) >= self.at_once:
                self._close(next(iter(self._open)))
            self._open[repo] = Blobs(git_dir)
        self._open.move_to_end(repo)
        return self._open[repo]

    def _close(self, repo: str) -> None:
        self._open.pop(repo).close()

    def __enter__(self) -> Repositories:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for repo in list(self._open):
            self._close(repo)
