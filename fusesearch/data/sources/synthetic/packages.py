"""Installed packages as repositories: their files and the files' names.

A package of ``mine.packages`` is an import name (``sympy.ntheory``, ``toolz``) or a folder (``./src/mypackage``), which need not
be installed; or a file (``.txt``) names packages, one a line. A package leaves out subpackages that are listed themselves, so
that every function belongs to one repository. This module imports none of the packages.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fusesearch.core.errors import ConfigError, DataError
from fusesearch.core.storage import read_text
from fusesearch.core.text import flat_name

MAX_SOURCE_BYTES = 1_000_000
MAX_TEXT_BYTES = 100_000
TEXT_SUFFIXES = frozenset({".md", ".rst", ".txt", ".pyi"})
SKIPPED_FOLDERS = frozenset({"__pycache__", "tests", "test", "testing", "_vendor", "benchmarks"})


@dataclass(frozen=True)
class SourceFile:
    """One file: ``path`` in the repository, ``real`` on disk, ``module`` as imported (None for other text)."""

    path: str
    real: Path
    module: str | None


@dataclass(frozen=True)
class Package:
    """One repository to mine, ``distribution/name``, without the import names in ``without``.

    If the package was given as a folder, ``root`` is the folder to import from and ``repo`` is ``local/name``.
    """

    repo: str
    module: str
    without: tuple[str, ...] = ()
    root: Path | None = None

    @property
    def slug(self) -> str:
        """The repository's name as a file name: ``sympy__ntheory``."""
        return flat_name(self.repo)

    @property
    def owner(self) -> str:
        """The distribution; ``cpython`` for the standard library and ``local`` for a folder."""
        return self.repo.split("/")[0]

    @property
    def title(self) -> str:
        """Distribution and version as people write them: ``sympy 1.14.0``, ``Python 3.11.7``; only the name for a folder."""
        if self.root is not None:
            return self.module
        return f"{'Python' if self.owner == 'cpython' else self.owner} {self.version}"

    @property
    def version(self) -> str:
        """Version of the distribution; of Python for the standard library; a digest of the files for a folder."""
        if self.root is not None:
            total = hashlib.sha256()
            for file in files_of(self):
                total.update(f"{file.path}\0".encode("utf-8", "surrogateescape") + file.real.read_bytes())
            return total.hexdigest()[:12]
        try:
            return importlib.metadata.version(self.owner)
        except importlib.metadata.PackageNotFoundError:
            return platform.python_version() if self.owner == "cpython" else "0"


def parse_packages(entries: Sequence[str]) -> list[Package]:
    """Packages in the order given. Raises :class:`ConfigError` on a malformed or repeated entry, or for a missing file."""
    names = [name for entry in entries for name in (_listed(Path(entry)) if entry.endswith(".txt") else [entry.strip()])]
    packages = [_parse(name, names) for name in names]
    repos = [package.repo for package in packages]
    for repo in repos:
        if repos.count(repo) > 1:
            raise ConfigError(f"mine.packages: {repo} is listed twice")
    return packages


def _listed(path: Path) -> list[str]:
    """The entries of a file, without blank lines and comments."""
    try:
        lines = [line.partition("#")[0].strip() for line in read_text(path).splitlines()]
    except DataError as error:
        raise ConfigError(f"mine.packages: {error}") from None
    return [line for line in lines if line]


def _parse(entry: str, listed: Sequence[str]) -> Package:
    if "/" in entry or entry.startswith((".", "~")):
        return _folder(entry)
    if not all(part.isidentifier() for part in entry.split(".")):
        raise ConfigError(f"mine.packages: {entry!r} is neither an import name nor a folder")
    return Package(repository_name(entry), entry, tuple(name for name in listed if name.startswith(entry + ".")))


def _folder(entry: str) -> Package:
    """A package given as a folder, imported from the first folder above it that is not a package."""
    folder = Path(entry).expanduser().resolve()
    if not folder.is_dir():
        raise ConfigError(f"mine.packages: {entry!r} is not a folder")
    if not (folder / "__init__.py").is_file():
        inside = sorted(path.parent.name for path in (*folder.glob("*/__init__.py"), *folder.glob("src/*/__init__.py")))
        hint = f": give one of the packages in it, {', '.join(inside[:5])}" if inside else ""
        raise ConfigError(f"mine.packages: {entry!r} is not a Python package: it has no __init__.py{hint}")
    root = next(parent for parent in folder.parents if not (parent / "__init__.py").is_file())
    parts = folder.relative_to(root).parts
    if not all(part.isidentifier() for part in parts):
        raise ConfigError(f"mine.packages: {entry!r} cannot be imported: {'.'.join(parts)} is not an import name")
    return Package(f"local/{'.'.join(parts)}", ".".join(parts), (), root)


def repository_name(module: str) -> str:
    """``sympy.ntheory`` -> ``sympy/ntheory``; ``sklearn.metrics`` -> ``scikit-learn/metrics``; ``json`` -> ``cpython/json``."""
    top, _, rest = module.partition(".")
    if top in sys.stdlib_module_names:
        owner = "cpython"
    else:
        names = _distributions().get(top)
        owner = min(names).lower() if names else top
    return f"{owner}/{rest or top}"


_distributions = cache(importlib.metadata.packages_distributions)


def locate(module: str, root: Path | None = None) -> Path:
    """File or folder of a module, found without importing anything but finders. Raises :class:`DataError`."""
    if root is not None:
        return root.joinpath(*module.split("."))
    top, *rest = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None or (spec.origin is None and not spec.submodule_search_locations):
        raise DataError(f"package {module} is not installed")
    base = Path(next(iter(spec.submodule_search_locations or [spec.origin or ""])))
    path = base.joinpath(*rest)
    for candidate in (path, path.with_suffix(".py")):
        if candidate.is_dir() or (candidate.is_file() and candidate.suffix == ".py"):
            return candidate
    raise DataError(f"package {module} has no Python source")


def files_of(package: Package) -> list[SourceFile]:
    """Files of the repository, sorted by path: Python files and small texts, without tests."""
    base = locate(package.module, package.root)
    if base.is_file():
        return [SourceFile(base.name, base, package.module)]
    left_out = [base.joinpath(*name[len(package.module) + 1 :].split(".")) for name in package.without]
    found = []
    for real in base.rglob("*"):
        inside = real.relative_to(base)
        if _wanted(real, inside) and not any(real.is_relative_to(folder) for folder in left_out):
            parts = inside.with_suffix("").parts
            module = ".".join([package.module, *(parts[:-1] if parts[-1] == "__init__" else parts)])
            path = f"{base.name}/{inside.as_posix()}"
            found.append(SourceFile(path, real, module if inside.suffix == ".py" else None))
    return sorted(found, key=lambda file: file.path)


def size_of(package: Package) -> int:
    """Bytes of the package's files; 0 when it is not installed."""
    try:
        return sum(file.real.stat().st_size for file in files_of(package))
    except DataError:
        return 0


def _wanted(real: Path, inside: Path) -> bool:
    if SKIPPED_FOLDERS & set(inside.parts[:-1]) or real.is_symlink() or not real.is_file():
        return False
    if inside.name.startswith("test_") or inside.name == "conftest.py":
        return False
    limit = MAX_SOURCE_BYTES if real.suffix == ".py" else MAX_TEXT_BYTES if real.suffix in TEXT_SUFFIXES else 0
    return real.stat().st_size < limit
