"""The nightly schedule with a real Prefect server, the real client and the tests' GitHub: off at first, and only what is new."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
import yaml

from tasks.core import layout
from tasks.core.errors import FusesearchError
from tasks.core.storage import read_instances, read_json
from tests.github_server.history import write_repository, write_world
from tests.github_server.server import GitHubServer
from tests.github_server.world import Repository, World, add_pull, add_pulls, module

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
ROOT = Path(__file__).parents[2]
COPIED = ("tasks", "flows", ".dvc/config", ".dvcignore", ".gitignore", "dvc.yaml", "requirements.lock")
TOKEN = "ghp_" + "a" * 36
SECONDS = 600


@pytest.fixture
def world(tmp_path):
    repository = Repository("team/tool", 1)
    repository.files = {f"pkg/module{n}.py": module(n, []) for n in range(4)}
    add_pulls(repository, random.Random(1), 5, 1.0)
    world = World({repository.name: repository})
    write_world(world, tmp_path / "git")
    return world


@pytest.fixture
def project(tmp_path, world):
    """A copy of the project that mines the tests' GitHub, and the Prefect server it starts."""
    root = tmp_path / "project"
    for name in COPIED:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile)(ROOT / name, root / name)
    for arguments in (["init", "-q"], ["add", "-A"], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "copy"]):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    with GitHubServer(world, tmp_path / "git").running() as server:
        write_params(root, server)
        yield Project(root, server)
        subprocess.run([sys.executable, "-m", "flows.server", "stop"], cwd=root, env=environment(), check=False)


def write_params(root, server):
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    github = {"repositories": ["team/tool"], "api_url": server.url, "clone_url": server.clone_url}
    params["mine"] = {"source": "github", "github": github}
    (root / "params.yaml").write_text(yaml.safe_dump(params))


def environment():
    unset = {"MLFLOW_TRACKING_URI", "PREFECT_API_URL", "PREFECT_HOME", "PYTHONPATH"}
    return {key: value for key, value in os.environ.items() if key not in unset} | {"GITHUB_TOKEN": TOKEN}


class Project:
    def __init__(self, root, server):
        self.root, self.server = root, server

    @property
    def api(self):
        return read_json(self.root / ".fusesearch/prefect.json")["url"] + "/api"

    def deployment(self):
        """What Prefect knows of the schedule; None before it is registered."""
        try:
            found = httpx.get(f"{self.api}/deployments/name/nightly/nightly")
        except (httpx.TransportError, FusesearchError):  # the server is not up yet
            return None
        return found.json() if found.is_success else None

    def night(self):
        """One run of the deployment, as its schedule would start it, to its end."""
        created = answered("POST", f"{self.api}/deployments/{self.deployment()['id']}/create_flow_run", json={})
        wait_for(lambda: state(self.api, created["id"]) in {"COMPLETED", "FAILED", "CRASHED"}, "the run did not end")
        assert state(self.api, created["id"]) == "COMPLETED"
        return {row.instance_id for row in read_instances(self.root / layout.PAIRS)}, read_json(self.root / layout.MINE_TABLE)


def state(api, run):
    return answered("GET", f"{api}/flow_runs/{run}")["state_type"]


def answered(method, url, **body):
    """What the server says; a request it was too busy for (its SQLite store was locked) is made again, as its own client does."""
    replies = []

    def asked():
        replies.append(httpx.request(method, url, timeout=SECONDS, **body))
        return not replies[-1].is_server_error

    wait_for(asked, "the server only failed")
    return replies[-1].raise_for_status().json()


def wait_for(reached, words):
    end = time.monotonic() + SECONDS
    while not reached():
        assert time.monotonic() < end, words
        time.sleep(0.5)


def test_the_schedule_is_off_until_switched_on_and_a_night_brings_only_what_is_new(project, world, tmp_path):
    log = (tmp_path / "nightly.log").open("w")
    command = [sys.executable, "-m", "flows.nightly"]
    process = subprocess.Popen(command, cwd=project.root, env=environment(), stdout=log, stderr=log, start_new_session=True)
    try:
        wait_for(lambda: project.deployment() or process.poll() is not None, "the schedule was not registered")
        assert process.poll() is None, (tmp_path / "nightly.log").read_text()
        (schedule,) = project.deployment()["schedules"]
        assert schedule["schedule"]["cron"] == "0 2 * * *"
        assert not schedule["active"]

        first, table = project.night()
        assert first == set(world.expected())
        assert table["repositories"][0]["new"] == len(first)
        assert "mine" in yaml.safe_load((project.root / "dvc.lock").read_text())["stages"]

        repository = world.repositories["team/tool"]
        fresh = add_pull(repository, random.Random(2), "plain")
        write_repository(repository, [fresh], tmp_path / "git")
        points = project.server.counts.points
        second, table = project.night()
        assert second - first == {f"team__tool-{fresh.number}"}
        assert table["repositories"][0]["new"] == 1
        assert project.server.counts.points - points <= 3
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        log.close()
