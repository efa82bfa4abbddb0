"""Without any extra, the commands for people and coding agents work, and the others say what to install."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fusesearch.cli.extras import PARTS, how_to_install, listed
from tests.fakes.git import committed

ISSUE = "perimeter(3) returns 9 but should be 12"
BLOCKED = """
import importlib.metadata, sys
MODULES = {modules!r}

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MODULES:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
version = importlib.metadata.version
def absent(name):
    if name in MODULES:
        raise importlib.metadata.PackageNotFoundError(name)
    return version(name)
importlib.metadata.version = absent
from fusesearch.cli import main
main()
"""
MODULE_OF = {"scikit-learn": "sklearn", "vl-convert-python": "vl_convert", "more-itertools": "more_itertools"}


@pytest.fixture
def light(tmp_path):
    """Runs the command line in a process that can import nothing that an extra lists."""
    modules = {MODULE_OF.get(name, name) for extra in PARTS for name in listed(extra)}
    assert {"torch", "prefect", "numpy", "openai", "streamlit"} <= modules
    program = BLOCKED.format(modules=modules)

    def run(*arguments, text=""):
        command = [sys.executable, "-c", program, *map(str, arguments)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)

    return run


@pytest.fixture
def repo(tmp_path):
    folder = tmp_path / "shapes"
    committed(folder, {"shapes.py": "def perimeter(side):\n    return 3 * side\n"})
    return folder


def test_what_needs_no_extra(light, repo, tmp_path):
    found = light("localize", "--repo", repo, "--issue", "-", "--format", "json", "--save", tmp_path / "t.json", text=ISSUE)
    assert json.loads(found.stdout)["modify"][0]["function"] == "perimeter", found.stderr
    page = light("view", tmp_path / "t.json", "--out", tmp_path / "t.html")
    assert (tmp_path / "t.html").exists(), page.stderr
    assert json.loads(light("tool", "glob", "--repo", repo, "--args", '{"pattern": "*.py"}').stdout)["entities"]
    patch = tmp_path / "fix.patch"
    patch.write_text(
        "diff --git a/shapes.py b/shapes.py\n--- a/shapes.py\n+++ b/shapes.py\n"
        "@@ -1,2 +1,2 @@\n def perimeter(side):\n-    return 3 * side\n+    return 4 * side\n"
    )
    truth = light("truth", "--repo", repo, "--base", "HEAD", "--patch", patch)
    assert json.loads(truth.stdout)["functions"] == ["shapes.py::perimeter"], truth.stderr
    rows = [{"instance_id": "a", "files": ["shapes.py"], "functions": ["shapes.py::perimeter"]}]
    (tmp_path / "rows.jsonl").write_text(json.dumps(rows[0]) + "\n")
    scores = light("score", "--predictions", tmp_path / "rows.jsonl", "--truth", tmp_path / "rows.jsonl")
    assert json.loads(scores.stdout)["function"]["micro"]["f1"] == 1.0, scores.stderr
    assert light("doctor").returncode == 0
    assert light("mcp", "--help").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("localize", "--localizer", "bm25"), "models"),
        (("localize", "--model", "m", "--base-url", "http://127.0.0.1:9/v1"), "models"),
        (("track",), "pipeline"),
    ],
)
def test_what_needs_one_says_which(light, repo, arguments, extra):
    search = ("--repo", repo, "--issue", "-") if arguments[0] == "localize" else ()
    done = light(*arguments, *search, text=ISSUE)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("fusesearch: ")
    assert line.endswith(f"pip install 'fusesearch[{extra}]'")


def test_a_command_names_the_extra_that_has_all_it_needs():
    missing = ModuleNotFoundError(name="numpy")
    assert how_to_install(missing).endswith("pip install 'fusesearch[models]'")
    assert how_to_install(missing, "compare").endswith("pip install 'fusesearch[evaluate]'")


def test_every_page_of_help_opens_without_extras(light):
    for command in ("localize", "view", "mcp", "tool", "truth", "score", "evaluate", "compare", "experiment", "track", "doctor"):
        assert light(command, "--help").returncode == 0


def test_the_extras_are_those_of_pyproject():
    import tomllib

    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert set(PARTS) < set(tomllib.loads(text)["project"]["optional-dependencies"])
