"""The bare repositories of ``data/repos``, read at the base commits of instances."""

from __future__ import annotations

import re
from pathlib import Path

from fusesearch.core.errors import RepositoryError
from fusesearch.core.schema import Instance
from fusesearch.core.text import flat_name
from fusesearch.data.truth import Reader
from fusesearch.search.git import Gits


def git_dir_of(repo: str, repos_dir: Path) -> Path:
    """Where the bare repository ``owner/name`` lies. Raises :class:`RepositoryError` for a malformed name."""
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repo) or ".." in repo:
        raise RepositoryError(f"{repo[:100]!r} is not a repository name: it should be owner/name")
    return repos_dir / f"{flat_name(repo)}.git"


class Repositories(Gits):
    """Readers of the bare repositories ``repos_dir/<owner>__<name>.git``. A context manager."""

    def __init__(self, repos_dir: Path) -> None:
        super().__init__(lambda repo: git_dir_of(repo, repos_dir))

    def __enter__(self) -> Repositories:
        return self

    def reader(self, instance: Instance) -> Reader:
        """A reader of files at the instance's base commit. Raises :class:`RepositoryError` if the commit is missing."""
        git = self[instance.repo]
        git.resolve(instance.base_commit)
        return lambda path: git.read(instance.base_commit, path)
