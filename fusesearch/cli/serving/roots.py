"""The folders that a server may read. They are fixed when it starts; no request can add or change one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path

from fusesearch.core.errors import RepositoryError, ToolError
from fusesearch.core.text import printable
from fusesearch.search.repository import Repository, clipped


class Roots:
    """Folders by name. Raises :class:`RepositoryError` for a path that is not a folder.

    The name is the last part of the folder's real path, with a number added if it is taken. Repeated folders count once.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders: dict[str, Path] = {}
        for folder in dict.fromkeys(Repository(folder).root for folder in folders):
            base = printable(folder.name) or "root"
            numbered = chain([base], (f"{base}-{number}" for number in count(2)))
            self._folders[next(name for name in numbered if name not in self._folders)] = folder

    @property
    def names(self) -> list[str]:
        """Names of the folders, in the order given."""
        return list(self._folders)

    def choose(self, name: object = None) -> str:
        """Check the name; None means the only root. Raises :class:`ToolError` with the valid names."""
        if name is None and len(self._folders) == 1:
            return self.names[0]
        if not isinstance(name, str) or name not in self._folders:
            problem = "root is missing" if name is None else f"there is no root {clipped(str(name), 60)}"
            raise ToolError(f"{problem}; the roots are {', '.join(self._folders)}")
        return name

    def repository(self, name: str) -> Repository:
        """A fresh :class:`Repository`, since files change while a server runs and a :class:`Repository` caches what it saw.

        Raises :class:`ToolError` when the folder is gone or was replaced.
        """
        folder = self._folders[name]
        try:
            repository = Repository(folder)
        except RepositoryError:
            raise ToolError(f"the root {name} cannot be read any more") from None
        if repository.root != folder:
            raise ToolError(f"the root {name} is no longer the folder that this server was started with")
        return repository
