"""One project for all tests that only read it."""

import pytest

from tests.fakes.dashboard_project import write_project


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    return write_project(tmp_path_factory.mktemp("dashboard"))
