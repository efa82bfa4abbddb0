"""The folders a server may read. They are given when it starts, and no request can add or change one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path

from tasks.core.errors import RepositoryError, ToolError
from tasks.core.text import printable
from tasks.search.repository import Repository, shown


class Roots:
    """Folders by name. Raises :class:`RepositoryError` when one of them is no folder.

    A name is the last part of the folder's real path; of equal ones the later get a number. A folder given twice counts
    once.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = _named(dict.fromkeys(Repository(folder).root for folder in folders))

    @property
    def names(self) -> list[str]:
        """Names, in the order the folders were given."""
        return list(self._folders)

    def choose(self, name: object = None) -> str:
        """The name itself, or the only one when it is None. Raises :class:`ToolError` that lists the names there are."""
        if name is None and len(self._folders) == 1:
            return self.names[0]
        if not isinstance(name, str) or name not in self._folders:
            problem = "root is missing" if name is None else f"there is no root {shown(str(name), 60)}"
            raise ToolError(f"{problem}; the roots are {', '.join(self._folders)}")
        return name

    def repository(self, name: str) -> Repository:
        """The tree of a root as it is now: files change while a server runs, and a :class:`Repository` keeps what it saw.

        Raises :class:`ToolError` when the folder is gone, or something else lies where it was.
        """
        folder = self._folders[name]
        try:
            repository = Repository(folder)
        except RepositoryError:
            raise ToolError(f"the root {name} cannot be read any more") from None
        if repository.root != folder:
            raise ToolError(f"the root {name} is no longer the folder that this server was started with")
        return repository


def _named(folders: Iterable[Path]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in folders:
        found[next(name for name in _candidates(printable(folder.name) or "root") if name not in found)] = folder
    return found


def _candidates(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in count(2))
