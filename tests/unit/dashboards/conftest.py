"""One project for all tests that only read it."""

import shutil
import sys

import pytest

from tests.fakes.dashboard_project import write_project


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    return write_project(tmp_path_factory.mktemp("dashboard"))


@pytest.fixture
def copy(project, tmp_path):
    """The project, to be damaged."""
    return shutil.copytree(project, tmp_path / "copy")


@pytest.fixture(autouse=True)
def _main_module():
    """Streamlit's tests put their script in the place of ``__main__``, where processes that later tests spawn look for it."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main
