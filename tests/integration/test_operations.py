"""What operators do, with a real Prefect server, its worker and the tests' GitHub.

The tests build on each other and run in the order of the file.
"""

import json
import os
import random
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import yaml

from fusesearch.core.storage import read_instances, read_json
from tasks.running.places import MAIN
from tests.fakes.git import committed
from tests.fakes.github_server.history import write_repository, write_world
from tests.fakes.github_server.server import GitHubServer
from tests.fakes.github_server.world import Repository, World, add_pull, add_pulls
from tests.fakes.timeless import timeless
from tests.fakes.waiting import wait_for

pytestmark = [pytest.mark.rare, pytest.mark.timeout(900)]
ROOT = Path(__file__).parents[2]
COPIED = (
    "experiments/reference", "experiments/filtering/experiment.yaml", "fusesearch", "tasks", "flows", ".dvc/config",
    ".dvcignore", ".gitignore", "dvc.yaml", "requirements.lock", "experiments/nano/packages.txt",
)  # fmt: skip
TOKEN = "ghp_" + "a" * 36
SECONDS = 600


@pytest.fixture(scope="module")
def world(folder):
    repository = Repository("team/tool", 1)
    add_pulls(repository, random.Random(1), 5, 1.0)
    world = World({repository.name: repository})
    write_world(world, folder / "git")
    return world


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("operations")


@pytest.fixture(scope="module")
def project(folder, world):
    """A copy of the project that mines the tests' GitHub, with server, worker and deployments as `make serve` starts them."""
    root = folder / "project"
    for name in COPIED:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile)(ROOT / name, root / name)
    committed(root)
    with GitHubServer(world, folder / "git") as server:
        write_params(root)
        made = Project(root, server)
        try:
            made.run("flows.server", "start")
            made.run("prefect", "--no-prompt", "work-pool", "create", "fusesearch", "--type", "process")
            made.run("prefect", "--no-prompt", "deploy", "--all", "--prefect-file", "flows/prefect.yaml")
            with made.worker():
                yield made
        finally:
            made.run("flows.server", "stop")


def write_params(root):
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    params["mine"] = {"source": "github", "github": {"repositories": ["team/tool"]}}
    (root / "params.yaml").write_text(yaml.safe_dump(params))


def mine_packages(root):
    """From now on the project mines installed packages: changes of functions, which the tests' GitHub has none of."""
    params = yaml.safe_load((root / "params.yaml").read_text())
    limits = {"per_repository": 4, "attempts_per_repository": 40}
    params["mine"] = {"source": "synthetic", "packages": ["pygtrie", "tabulate"], **limits}
    params["split"] |= {"sft": 1.0, "rl": 0.0, "validation_owners": ["tabulate"]}
    (root / "params.yaml").write_text(yaml.safe_dump(params))


def environment(root, server):
    unset = {"MLFLOW_TRACKING_URI", "PREFECT_API_URL", "PREFECT_HOME", "PYTHONPATH"}
    found = {key: value for key, value in os.environ.items() if key not in unset}
    record = root / ".fusesearch/prefect.json"
    api = {"PREFECT_API_URL": f"{read_json(record)['url']}/api"} if record.exists() else {}
    return found | api | {
        "GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": server.address, "GITHUB_SERVER_URL": server.git_url, "PWD": str(root),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip


class Project:
    def __init__(self, root, server):
        self.root, self.server = root, server

    @property
    def api(self):
        return read_json(self.root / ".fusesearch/prefect.json")["url"] + "/api"

    def run(self, *words):
        """``python -m WORDS`` to its end."""
        command, variables = [sys.executable, "-m", *words], environment(self.root, self.server)
        done = subprocess.run(command, cwd=self.root, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    @contextmanager
    def worker(self):
        """The worker that `make serve` starts."""
        command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", "fusesearch"]
        with (self.root / "worker.log").open("w") as log:
            settings = environment(self.root, self.server) | {"PREFECT_WORKER_QUERY_SECONDS": "1"}
            process = subprocess.Popen(command, cwd=self.root, env=settings, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=60)

    def deployment(self, name):
        return answered("GET", f"{self.api}/deployments/name/{name}")

    def deployed(self, name, env=None, **parameters):
        """One run of a deployment, as its schedule or an operator would start it, to its end; the kind of its last state."""
        address = f"{self.api}/deployments/{self.deployment(name)['id']}/create_flow_run"
        run = answered("POST", address, json={"parameters": parameters, "job_variables": {"env": env or {}}})["id"]
        wait_for(lambda: state(self.api, run) in {"COMPLETED", "FAILED", "CRASHED"}, SECONDS, "the run did not end")
        return state(self.api, run)

    def night(self):
        """One run of the nightly deployment; all pairs, and the table of the repositories."""
        assert self.deployed("pipeline/nightly") == "COMPLETED"
        return {row.instance_id for row in read_instances(self.root / MAIN["mine.pairs"])}, read_json(
            self.root / MAIN["mine.table"]
        )


def state(api, run):
    return answered("GET", f"{api}/flow_runs/{run}")["state_type"]


def answered(method, url, **body):
    """What the server says; a request it was too busy for (its SQLite store was locked) is made again, as its own client does."""
    replies = []

    def asked():
        replies.append(httpx.request(method, url, timeout=SECONDS, **body))
        return not replies[-1].is_server_error

    wait_for(asked, SECONDS, "the server only failed")
    return replies[-1].raise_for_status().json()


def test_a_night_brings_only_what_is_new(project, world, folder):
    first, table = project.night()
    assert first == set(world.expected())
    assert table["repositories"][0]["new"] == len(first)
    assert "mine" in yaml.safe_load((project.root / "dvc.lock").read_text())["stages"]

    repository = world.repositories["team/tool"]
    fresh = add_pull(repository, random.Random(2), "plain")
    write_repository(repository, folder / "git")
    points = project.server.counts.points
    second, table = project.night()
    assert second - first == {f"team__tool-{fresh['number']}"}
    assert table["repositories"][0]["new"] == 1
    assert project.server.counts.points - points <= 3


def test_a_stage_runs_if_something_changed_and_one_that_fails_says_why(project):
    shown = {"artifacts": {"key": {"any_": ["mine-metrics"]}}}
    before = answered("POST", f"{project.api}/artifacts/count", json=shown)
    assert project.deployed("stage/stage", stage="mine") == "COMPLETED"
    assert answered("POST", f"{project.api}/artifacts/count", json=shown) == before == 2
    assert project.deployed("stage/stage", stage="synthesize") == "FAILED"


def test_workers_of_ray_make_the_candidates_of_one_process(project):
    mine_packages(project.root)
    assert project.deployed("pipeline/pipeline", until="synthesize") == "COMPLETED"
    alone = untimed(project.root / MAIN["synthesize.candidates"])
    ray = {"FUSESEARCH_RAY": "local"}
    assert project.deployed("stage/stage", env=ray, stage="synthesize", again=True) == "COMPLETED"
    assert untimed(project.root / MAIN["synthesize.candidates"]) == alone
    assert len(alone) == 4 * len(read_instances(project.root / MAIN["split.sft"]))
    runs = answered("POST", f"{project.api}/task_runs/filter", json={"task_runs": {"name": {"like_": "synthesize:"}}})
    assert runs
    assert {run["state_type"] for run in runs} == {"COMPLETED"}


def untimed(path):
    """The episodes of a file without their wall times, which differ from run to run."""
    return [timeless(json.loads(line)) for line in path.read_text().splitlines()]
