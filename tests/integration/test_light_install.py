"""Without any extra, the commands for people and coding agents work, and the others say what to install.

The extras are blocked, not absent: ``test_installed.py`` makes real environments, and takes minutes.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fusesearch.cli.checks import DISTRIBUTIONS, EXTRAS, NEEDS, what_to_install
from fusesearch.core.installation import how_to_install
from tests.fakes.commands import app
from tests.fakes.git import committed
from tests.integration.installed import BLOCKED

ROOT = Path(__file__).parents[2]
LISTED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
ISSUE = "perimeter(3) returns 9 but should be 12"
MODULE_OF = {name.lower(): module for module, name in DISTRIBUTIONS.items()} | {"more-itertools": "more_itertools"}


@pytest.fixture
def light(tmp_path):
    """Runs the command line in a process that can import nothing that an extra lists."""
    names = {re.match(r"[\w.-]+", line)[0].lower() for extra in EXTRAS if extra != "gpu" for line in LISTED[extra]}
    modules = names | {MODULE_OF[name] for name in names & MODULE_OF.keys()}
    program = BLOCKED.format(modules=modules - {"fusesearch-code"})

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
    assert json.loads(found.stdout)["places"][0]["functions"][0]["function"] == "perimeter", found.stderr
    reading = light("context", "perimeter(3) is wrong", "--repo", repo)
    assert "def perimeter(side):\n    return 3 * side" in reading.stdout, reading.stderr
    page = light("view", tmp_path / "t.json", "--out", tmp_path / "t.html")
    assert (tmp_path / "t.html").exists(), page.stderr
    rows = [{"instance_id": "a", "files": ["shapes.py"], "functions": ["shapes.py::perimeter"]}]
    (tmp_path / "rows.jsonl").write_text(json.dumps(rows[0]) + "\n")
    scores = light("score", "--predictions", tmp_path / "rows.jsonl", "--truth", tmp_path / "rows.jsonl")
    assert json.loads(scores.stdout)["function"]["micro"]["f1"] == 1.0, scores.stderr
    done = light("doctor")
    assert done.returncode == 0
    assert (done.stdout.count("absent   ["), done.stdout.splitlines()[-1]) == (len(EXTRAS), "The core is complete.")
    assert light("mcp", "--help").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("localize", "--localizer", "bm25"), "models"),
        (("localize", "--model", "m", "--base-url", "http://127.0.0.1:9/v1"), "models"),
        (("localize", "--localizer", "swerank-embed", "--encoder", ROOT), "train"),
        (("localize", "--checkpoint", ROOT / "experiments/nano/base"), "train"),
    ],
)
def test_what_needs_one_says_which(light, repo, arguments, extra):
    search = ("--repo", repo, "--issue", "-") if arguments[0] == "localize" else ()
    done = light(*arguments, *search, text=ISSUE)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("fusesearch: ")
    assert line.endswith(how_to_install(extra).replace("-e '.[", f"-e '{ROOT}["))


def test_a_command_names_the_extra_that_has_all_it_needs():
    missing = ModuleNotFoundError(name="numpy")
    assert what_to_install(missing).endswith(how_to_install("models"))
    assert what_to_install(missing, ["compare", "results"]).endswith(how_to_install("evaluate"))
    assert what_to_install(ModuleNotFoundError(name="torch"), ["localize"]).endswith(how_to_install("train"))


def test_a_profile_can_be_planned_for(light, tmp_path):
    (tmp_path / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    done = light("doctor", "--profile", "nano")
    assert "cores" in done.stdout, done.stderr


def test_every_page_of_help_opens_and_the_first_lists_what_works(light):
    daily, others = light("--help").stdout.split("More")
    assert all(f"│ {command} " in daily for command in ("localize", "context", "ask", "install", "mcp"))
    assert all(f"│ {command} " in others for command in ("evaluate", "compare", "score", "doctor"))
    assert re.sub(r"[\s│]+", " ", others).count("(Needs the extra evaluate, not installed.)") == 2
    done = light("each", *sorted(command.name for command in app.registered_commands))
    assert done.returncode == 0, done.stderr


def test_the_table_has_commands_and_names_extras_of_pyproject():
    assert {name.split()[0] for name in NEEDS} - {"python"} <= {command.name for command in app.registered_commands}
    assert set(NEEDS.values()) < set(EXTRAS) < LISTED.keys()


def test_the_command_alone_is_a_question_and_no_fault():
    done = subprocess.run([sys.executable, "-m", "fusesearch"], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr, "Every day" in done.stdout) == (0, "", True)
