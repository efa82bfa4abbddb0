"""The tree that is searched: an installed package, copied and put under git."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from tasks.search.git import git_environment


@contextmanager
def copy_of(package: str) -> Iterator[Path]:
    """A folder that holds ``package`` as a repository would: without compiled files, with a ``.git``."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise LookupError(f"the package {package} is not installed")
    with tempfile.TemporaryDirectory(prefix="fusesearch-bench-") as folder:
        source = Path(spec.submodule_search_locations[0])
        shutil.copytree(source, Path(folder, package), ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyc"))
        subprocess.run(["git", "init", "-q", folder], env=git_environment(), check=True)
        yield Path(folder)


def size_of(root: Path) -> str:
    """Files and megabytes below ``root``, ``.git`` left out."""
    sizes = [path.stat().st_size for path in root.rglob("*") if path.is_file() and ".git" not in path.parts]
    return f"{len(sizes):,} files, {sum(sizes) / 1e6:.0f} MB"
