"""What is installed: the wheel's files, and each extra alone in an environment of its own, which runs every command it promises.

``FUSESEARCH_VENVS`` names a folder that keeps the environments for the next time.
"""

import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError
from urllib.request import urlopen

import pytest
import yaml

from fusesearch.agents.parsing import format_answer
from fusesearch.cli.extras import NEEDS, PARTS
from fusesearch.core.schema import Answer, Expected, Instance, Location, Truth
from fusesearch.core.storage import write_jsonl
from fusesearch.training.serving import free_port
from tests.fakes.encoder import shared_encoder
from tests.fakes.endpoint import Endpoint
from tests.fakes.git import committed, git
from tests.integration.installed import ISSUE, SHAPES, Copy, found_by_api, found_by_command, found_by_mcp, hostile

ROOT = Path(__file__).parents[2]
PATCH = (
    "diff --git a/shapes.py b/shapes.py\n--- a/shapes.py\n+++ b/shapes.py\n"
    "@@ -1,2 +1,2 @@\n def perimeter(side):\n-    return 3 * side\n+    return 4 * side\n"
)
ANSWER = format_answer(Answer(modify=[Location(path="shapes.py", function="perimeter")]))
USE = "from shapes import perimeter\n\n\ndef twice():\n    return perimeter(2)\n"
QUESTION = "Which functions and methods call `perimeter` directly?"
CHECKPOINT = ROOT / "experiments/nano/base"
MINE = {
    "source": "synthetic", "tasks": ["faults"], "packages": ["packaging", "voluptuous"], "per_repository": 2,
    "attempts_per_repository": 20,
}  # fmt: skip
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
    """A copy of the checkout's files, to build from and to run the commands of a checkout in."""
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


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A repository and its clone, instances, an answer of each kind, results of a grid, and an endpoint."""
    root = tmp_path_factory.mktemp("world")
    commit = committed(root / "tree", SHAPES | {"use.py": USE})
    git(root, "clone", "-q", "--bare", "tree", "repos/o__r.git")
    (root / "fix.patch").write_text(PATCH)
    about = {"repo": "o/r", "base_commit": commit}
    truth = Truth(files=["shapes.py"], functions=["shapes.py::perimeter"])
    issues = [Instance(instance_id="a", **about, problem_statement=ISSUE, patch=PATCH, truth=truth)]
    write_jsonl(root / "issues.jsonl", issues)
    expected = Expected(family="callers", kind="set", values=["use.py::twice"])
    truth = Truth(files=["use.py"], expected=expected)
    write_jsonl(root / "asked.jsonl", [Instance(instance_id="q", **about, problem_statement=QUESTION, truth=truth)])
    write_jsonl(root / "answers.jsonl", [{"instance_id": "a", "files": ["shapes.py"], "functions": ["shapes.py::perimeter"]}])
    here = Copy(Path(sys.executable), str(ROOT))
    with Endpoint(served) as endpoint:
        questions = {
            "localizers": ["closed-book"], "models": [{"name": "m", "base_url": endpoint.url}], "runs": 1, "reward": "answer",
            "benchmarks": [{"name": "asked", "instances": "asked.jsonl", "repos": "repos"}], "agent": {"toolset": "questions"},
        }  # fmt: skip
        (root / "questions.yaml").write_text(yaml.safe_dump(questions))
        for words in (
            "localize --repo tree --issue fix.patch --save trajectory.json",
            "evaluate --localizer lexical --instances issues.jsonl --repos repos --runs 1 --out results",
            "evaluate questions.yaml --out asked",
        ):
            done = here.run([*here.module, *words.split()], root)
            assert done.returncode == 0, done.stderr
        yield SimpleNamespace(root=root, url=endpoint.url, cell=next((root / "results/cells").iterdir()))


def served(request):
    """An answer to an issue, to a question, or of a judge."""
    text = "".join(str(message["content"]) for message in request["messages"])
    if "# Verdict" in text:
        return {"role": "assistant", "content": "[[completeness: 100]]"}
    return {"role": "assistant", "content": "## Answer\n- use.py::twice" if "call `perimeter` directly" in text else ANSWER}


def calls(world):
    """The words of each command of :data:`NEEDS`, on small real input."""
    search, ask = ["localize", "--repo", "tree", "--issue", ISSUE], ["ask", QUESTION, "--repo", "tree"]
    model, checkpoint = ["--model", "m", "--base-url", world.url], ["--checkpoint", str(CHECKPOINT)]
    data = ["--instances", "issues.jsonl", "--repos", "repos"]
    return {
        "localize": search,
        "localize --localizer bm25": [*search, "--localizer", "bm25"],
        "localize --localizer locagent": [*search, "--localizer", "locagent", *model],
        "localize --localizer swerank-embed": [*search, "--localizer", "swerank-embed", "--encoder", shared_encoder()],
        "localize --model": [*search, *model],
        "localize --checkpoint": [*search, *checkpoint],
        "context": ["context", ISSUE, "--repo", "tree"],
        "localizers": ["localizers"],
        "install": ["install", "--help"],
        "ask --model": [*ask, *model],
        "ask --checkpoint": [*ask, *checkpoint],
        "view": ["view", "trajectory.json", "--out", "page.html"],
        "mcp": [],
        "mcp --model": model,
        "mcp --checkpoint": checkpoint,
        "tool": ["tool", "grep", "--repo", "tree", "--args", '{"pattern": "perimeter"}'],
        "truth": ["truth", "--repo", "tree", "--base", "HEAD", "--patch", "fix.patch"],
        "score": ["score", "--predictions", "answers.jsonl", "--truth", "issues.jsonl"],
        "evaluate": ["evaluate", "--localizer", "bm25", "--localizer", "lexical", *data, "--runs", "1", "--out", "new"],
        "compare": ["compare", "results", "--format", "html", "--out", "pages"],
        "judge": ["judge", "asked", *model],
        "doctor": ["doctor"],
        "doctor --profile": ["doctor", "--profile", "nano"],
    }


IN_CHECKOUT = {
    "python -m flows experiment": ["-m", "flows", "experiment", "list"],
    "python -m flows track": ["-m", "flows", "track"],
    "python -m flows.run": ["-m", "flows.run", "mine"],
}


@pytest.fixture(scope="module")
def checkout(sources):
    """The copy of the checkout, with little to mine."""
    params = yaml.safe_load((sources / "params.yaml").read_text())
    params["mine"] |= MINE
    (sources / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    committed(sources)
    yield sources
    subprocess.run([sys.executable, "-m", "flows.server", "stop"], cwd=sources, check=False)


INSTALLED = [(extra, command) for command, extra in NEEDS.items() if not command.startswith("python")]
DASHBOARD = "python -m dashboards"


@pytest.mark.parametrize(("extra", "command"), sorted(INSTALLED, key=lambda row: ("", *PARTS).index(row[0])))
def test_a_command_runs_with_its_extra_alone(extra, command, installed, world, sources, tmp_path):
    copy, words, place = installed(extra), calls(world)[command], tmp_path / "world"
    shutil.copytree(world.root, place)
    if command.startswith("mcp"):
        found = found_by_mcp(copy, copy.command, place / "tree", words)
    else:
        done = copy.run([*copy.command, *words], sources if "--profile" in words else place)
        found = "perimeter" if done.returncode == 0 else done.stderr
    assert found == "perimeter" or ("--checkpoint" in words and not found)  # so small a model may find nothing


@pytest.mark.parametrize("command", [command for command in NEEDS if command.startswith("python") and command != DASHBOARD])
def test_a_command_of_a_checkout_runs_with_its_extra_alone(command, installed, checkout):
    copy = installed(NEEDS[command])
    done = copy.run([copy.python, *IN_CHECKOUT[command]], checkout)
    assert done.returncode == 0, done.stderr


def test_the_dashboard_runs_with_its_extra_alone(installed, checkout):
    copy, port = installed(NEEDS[DASHBOARD]), free_port()
    command = [copy.python, "-m", "dashboards", "--port", str(port)]
    with subprocess.Popen(command, cwd=checkout, env=copy.environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            while not answers(f"http://127.0.0.1:{port}/_stcore/health"):
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.5)
        finally:
            process.terminate()


def answers(url):
    try:
        return urlopen(url, timeout=5).status == 200
    except (URLError, OSError):
        return False


def test_mining_brings_github_and_packages(installed):
    copy = installed("mining")
    names = ["sympy", "networkx", "sklearn", "pandas", "more_itertools", "toolz", "boltons", "mpmath"]
    done = copy.run([copy.python, "-P", "-c", IMPORTED, *names], ROOT)
    assert done.returncode == 0, done.stderr
