"""The folders that a server may read. They are fixed when it starts; no request can add or change one."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path

from fusesearch.core.errors import RepositoryError, ToolError
from fusesearch.core.text import printable
from fusesearch.search.repository import VIRTUAL_ROOT, Repository, clipped

_VIRTUAL = re.compile(rf"(?<![\w/.-]){VIRTUAL_ROOT}(?:/|(?![\w.-]))")


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

    @property
    def folders(self) -> dict[str, str]:
        """The real paths of the folders, by name."""
        return {name: str(folder) for name, folder in self._folders.items()}

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


def relative(path: str, root: str) -> str:
    """A path of this machine below ``root``, or its ``file://`` address, as one relative to ``root``; others as they are.

    Backslashes become slashes where no file has that name.
    """
    plain = path.removeprefix("file://")
    try:
        if not plain.startswith("/"):
            return path if "\\" not in path or os.path.lexists(os.path.join(root, path)) else path.replace("\\", "/")
        forms = [form for form in (plain, os.path.realpath(plain)) if form == root or form.startswith(f"{root.rstrip('/')}/")]
    except ValueError:  # no name that a file can have
        return path
    return forms[0][len(root) :].strip("/") or "." if forms else path


def with_relative_paths(text: str) -> str:
    """``text`` with paths relative to the root instead of virtual ones, in which tools and answers name files."""
    return _VIRTUAL.sub(lambda match: "" if match[0].endswith("/") else "the root", text)
