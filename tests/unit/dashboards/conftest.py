"""One project for all tests that only read it."""

import shutil

import pytest

from tests.fakes.dashboard_project import write_project


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    return write_project(tmp_path_factory.mktemp("dashboard"))


@pytest.fixture
def copy(project, tmp_path):
    """The project, to be damaged."""
    return shutil.copytree(project, tmp_path / "copy")
