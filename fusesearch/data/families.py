"""Group the names of one repository: its forks and its former names."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from fusesearch.core.errors import RepositoryError
from fusesearch.data.provenance import Provenance
from fusesearch.data.repositories import git_dir_of
from fusesearch.search.git import Git

FORMER_NAMES = {
    "pycqa/pylint": "pylint-dev/pylint",
    "pycqa/astroid": "pylint-dev/astroid",
    "kennethreitz/requests": "psf/requests",
    "requests/requests": "psf/requests",
    "mitsuhiko/flask": "pallets/flask",
    "mitsuhiko/werkzeug": "pallets/werkzeug",
    "mitsuhiko/jinja2": "pallets/jinja",
    "pallets/jinja2": "pallets/jinja",
    "xray/xray": "pydata/xarray",
    "xarray-contrib/xarray": "pydata/xarray",
    "pypa/pytest": "pytest-dev/pytest",
    "pydata/pandas": "pandas-dev/pandas",
    "python/black": "psf/black",
    "ambv/black": "psf/black",
    "fchollet/keras": "keras-team/keras",
    "tiangolo/fastapi": "fastapi/fastapi",
    "samuelcolvin/pydantic": "pydantic/pydantic",
    "sdispater/poetry": "python-poetry/poetry",
}
"""Former names of well-known benchmark repositories, in lower case."""


class Families:
    """Groups of names of one repository, merged as relations become known."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}
        self._derived: set[str] = set()
        self._joined: set[str] = set()
        for other, name in FORMER_NAMES.items():
            self._join(other.casefold(), name.casefold())

    def learn(self, repo: str, known: Provenance) -> None:
        """Use what an instance's provenance says about its repository."""
        name = repo.casefold()
        if known.fork_of and known.fork_of != name:
            self._join(name, known.fork_of)
        if known.renamed_from and known.renamed_from != name:
            self._join(name, known.renamed_from)  # the first name stays the key, so that renaming moves nothing

    def key(self, repo: str) -> str:
        """The common key of all names of a repository: its main name."""
        name = repo.casefold()
        if name not in self._joined:
            return name
        top = self._top(name)
        members = [member for member in self._joined if self._top(member) == top]
        return min([member for member in members if member not in self._derived] or members)

    def _join(self, derived: str, name: str) -> None:
        self._joined |= {derived, name}
        first, second = self._top(derived), self._top(name)
        if first != second:
            self._derived.add(derived)
            self._above[first] = second

    def _top(self, name: str) -> str:
        while name in self._above:
            name = self._above[name]
        return name


def holding_commits(repos: Iterable[str], repos_dir: Path, commits: Iterable[str]) -> set[str]:
    """Repositories whose clone contains one of the commits: the benchmark's own, its forks and its renamed copies.

    Starts one git process per repository. A missing or unreadable clone contains none.
    """
    asked = set(commits)
    found = set()
    for repo in repos:
        with suppress(RepositoryError), Git(git_dir_of(repo, repos_dir)) as git:
            if len(git.lacking(asked)) < len(asked):
                found.add(repo)
    return found
