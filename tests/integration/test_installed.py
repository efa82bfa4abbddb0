"""What is installed, in real environments: the wheel's files, a copy beside hostile files, the packages that are mined.

``FUSESEARCH_VENVS`` names a folder that keeps the environments for the next time.
"""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.integration.installed import ISSUE, Copy, found_by_api, found_by_command, found_by_mcp, hostile

ROOT = Path(__file__).parents[2]
IMPORTED = """
import importlib, sys
import fusesearch.data.sources.github
for name in sys.argv[1:]:
    importlib.import_module(name)
"""
pytestmark = [pytest.mark.rare, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return Path(os.environ["FUSESEARCH_VENVS"]) if "FUSESEARCH_VENVS" in os.environ else tmp_path_factory.mktemp("venvs")


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A copy of the checkout's files, to build from."""
    folder = tmp_path_factory.mktemp("checkout")
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def wheel(sources, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    pip(Path(sys.executable), "wheel", "--no-deps", "--wheel-dir", folder, sources)
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def installed(kept, wheel):
    """Makes the environment that has the wheel with an extra, once."""
    made = {}

    def with_extra(extra):
        if extra not in made:
            made[extra] = environment(kept / (extra or "light"), f"fusesearch-code[{extra}] @ {wheel.as_uri()}")
        return made[extra]

    return with_extra


def environment(folder, *requirement):
    python = folder / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    # pip leaves a version alone that is there, even if the wheel is another one
    pip(python, "uninstall", "--yes", "fusesearch-code")
    pip(python, "install", "-c", ROOT / "requirements.lock", *requirement)
    return Copy(python)


def pip(python, *words):
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [python, "-m", "pip", "--quiet", *map(str, words)], env=kept, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_wheel_has_one_package(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"fusesearch", "fusesearch_code-0.1.0.dist-info"}
    (told,) = (name for name in names if name.endswith("top_level.txt"))
    assert zipfile.ZipFile(wheel).read(told).split() == [b"fusesearch"]
    tracked = subprocess.run(["git", "ls-files", "fusesearch"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {name for name in names if name.startswith("fusesearch/")} == set(tracked.stdout.split())


@pytest.mark.parametrize("way", ["plain", "editable"])
def test_an_installed_copy_runs_nothing_of_the_folder_it_searches(way, installed, kept, sources, tmp_path):
    copy = installed("") if way == "plain" else environment(kept / "editable", "-e", sources)
    ran = hostile(tmp_path / "tree")
    for command in (copy.command, copy.module):
        assert found_by_command(copy, command, tmp_path / "tree") == "perimeter"
        assert found_by_mcp(copy, command, tmp_path / "tree") == "perimeter"
    assert found_by_api(copy, tmp_path / "tree") == "perimeter"
    assert not ran.exists()
    asked = copy.run([*copy.command, "localize", "--repo", ".", "--issue", ISSUE, "--localizer", "bm25"], tmp_path / "tree")
    source = f"-e '{sources}[models]'" if way == "editable" else r"'fusesearch-code\[models\] @ file:.*\.whl'"
    assert re.search(source if way == "plain" else re.escape(source), asked.stderr), asked.stderr


def test_mining_brings_github_and_packages(installed):
    copy = installed("mining")
    names = ["sympy", "networkx", "sklearn", "pandas", "more_itertools", "toolz", "boltons", "mpmath"]
    done = copy.run([copy.python, "-P", "-c", IMPORTED, *names], ROOT)
    assert done.returncode == 0, done.stderr
