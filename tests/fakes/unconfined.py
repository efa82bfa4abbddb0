"""A pytest plugin that removes one layer of the confinement: ``pytest -p tests.fakes.unconfined --without LAYER``.

``tests/integration/test_confinement_has_teeth.py`` runs the tests of the confinement with it, and they must fail.
"""

import os
import subprocess
from pathlib import Path

import pytest

from fusesearch.search import repository, ripgrep
from fusesearch.search.repository import Repository


def without_paths(patch):
    """Paths are joined and followed, wherever they lead."""
    patch.setattr(Repository, "resolve", lambda self, path: Path(os.path.realpath(self.root / path.removeprefix("/repo/"))))
    patch.setattr(Repository, "virtual", lambda self, real: str(real))
    patch.setattr(Repository, "read_bytes", lambda self, real, limit: read_any(real))
    patch.setattr(Path, "relative_to", lambda self, root: Path(os.path.relpath(self, root)))


def read_any(path):
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return os.read(descriptor, 1 << 16)
    finally:
        os.close(descriptor)


def without_opening(patch):
    """Files are opened by their whole path, and links are followed."""
    patch.setattr(repository, "open_below", lambda root, parts: os.open(root.joinpath(*parts), os.O_RDONLY))


def without_links(patch):
    """Ripgrep follows links."""
    patch.setattr(ripgrep, "_FLAGS", (*(flag for flag in ripgrep._FLAGS if flag != "--no-follow"), "--follow"))


def without_hidden(patch):
    """Ripgrep searches hidden files."""
    patch.setattr(ripgrep, "NO_HIDDEN", "--hidden")


def without_ignore_check(patch):
    """Ripgrep opens ignore files that are links."""
    patch.setattr(repository, "_flags_needed", lambda *_, **options: iter(()))


def without_empty_environment(patch):
    """Ripgrep reads the user's configuration."""
    real = subprocess.Popen

    def popen(command, **options):
        return real([word for word in command if word != "--no-config"], **options | {"env": None})

    patch.setattr(ripgrep.subprocess, "Popen", popen)
    patch.setattr(ripgrep, "NO_HIDDEN", "--no-heading")


LAYERS = {
    "paths": without_paths,
    "opening": without_opening,
    "links": without_links,
    "hidden": without_hidden,
    "ignore-check": without_ignore_check,
    "empty-environment": without_empty_environment,
}


def pytest_addoption(parser):
    parser.addoption("--without", choices=sorted(LAYERS), help="remove this layer of the confinement")


@pytest.fixture(autouse=True, scope="session")
def _unconfined(request):
    with pytest.MonkeyPatch.context() as patch:
        LAYERS[request.config.getoption("--without")](patch)
        yield
