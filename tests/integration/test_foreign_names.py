"""A searched folder may have files with the names of our modules and of those we import: none of them runs."""

import sys
from pathlib import Path

import pytest

from tests.integration.installed import Copy, found_by_api, found_by_command, found_by_mcp, hostile

COPY = Copy(Path(sys.executable), str(Path(__file__).parents[2]))


@pytest.fixture(params=["script", "module"])
def command(request, tmp_path):
    """The command line as pip's script starts it, whatever script this environment has; or as a module."""
    if request.param == "module":
        return COPY.module
    script = tmp_path / "bin/fusesearch"
    script.parent.mkdir()
    script.write_text("import sys\nfrom fusesearch.cli import main\nsys.exit(main())\n")
    return [COPY.python, str(script)]


@pytest.fixture
def ran(tmp_path):
    return hostile(tmp_path / "tree")


def test_the_command_line_answers(command, ran, tmp_path):
    assert found_by_command(COPY, command, tmp_path / "tree") == "perimeter"
    assert not ran.exists()


def test_the_mcp_server_answers(command, ran, tmp_path):
    assert found_by_mcp(COPY, command, tmp_path / "tree") == "perimeter"
    assert not ran.exists()


def test_python_answers(ran, tmp_path):
    assert found_by_api(COPY, tmp_path / "tree") == "perimeter"
    assert not ran.exists()


def test_without_p_the_module_is_the_folders(ran, tmp_path):
    """What the docs warn of; the test above would pass if nothing in the folder could run."""
    done = COPY.run([COPY.python, "-m", "fusesearch", "--help"], tmp_path / "tree")
    assert done.returncode == 9
    assert "fusesearch" in ran.read_text().split()
