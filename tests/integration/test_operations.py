"""What operators do, with a real Prefect server, its worker and the tests' GitHub.

The tests build on each other and run in the order of the file.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from contextlib import chdir
from pathlib import Path

import httpx
import pytest
import yaml
from flows.deployments import load_pool, pool_in_use, register
from flows.quotas import QUOTAS
from prefect.settings import PREFECT_API_URL, temporary_settings

from tasks.core.errors import ConfigError
from tasks.core.storage import read_instances, read_json
from tasks.pipeline.places import MAIN, NODES
from tasks.pipeline.stages import STAGES
from tests.fakes.github_server.history import write_repository, write_world
from tests.fakes.github_server.server import GitHubServer
from tests.fakes.github_server.world import Repository, World, add_pull, add_pulls, module

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
ROOT = Path(__file__).parents[2]
COPIED = (
    "experiments/reference",
    "experiments/filtering/experiment.yaml",
    "tasks",
    "flows",
    ".dvc/config",
    ".dvcignore",
    ".gitignore",
    "dvc.yaml",
    "requirements.lock",
)
TOKEN = "ghp_" + "a" * 36
SECONDS = 600


@pytest.fixture(scope="module")
def world(folder):
    repository = Repository("team/tool", 1)
    repository.files = {f"pkg/module{n}.py": module(n, []) for n in range(4)}
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
    for arguments in (["init", "-q"], ["add", "-A"], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "copy"]):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    with GitHubServer(world, folder / "git").running() as server:
        write_params(root, server)
        made = Project(root, server)
        try:
            for words in (["flows.server", "start", "prefect"], ["flows.deployments"], ["flows.server", "start", "worker"]):
                made.run(*words)
            yield made
        finally:
            made.run("flows.server", "stop", "prefect", "worker")


def write_params(root, server):
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    github = {"repositories": ["team/tool"], "api_url": server.url, "clone_url": server.clone_url}
    params["mine"] = {"source": "github", "github": github}
    (root / "params.yaml").write_text(yaml.safe_dump(params))


def mine_packages(root):
    """From now on the project mines installed packages: changes of functions, which the tests' GitHub has none of."""
    params = yaml.safe_load((root / "params.yaml").read_text())
    limits = {"per_repository": 4, "attempts_per_repository": 40}
    params["mine"] = {"source": "synthetic", "packages": ["pygtrie", "tabulate"], **limits}
    params["split"] = {"sft": 1.0, "rl": 0.0, "validation_owners": ["tabulate"]}
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

    def run(self, *words):
        """``python -m WORDS`` to its end."""
        done = subprocess.run(
            [sys.executable, "-m", *words], cwd=self.root, env=environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def deployment(self, name):
        return answered("GET", f"{self.api}/deployments/name/{name}")

    def deployed(self, name, env=None, **parameters):
        """One run of a deployment, as its schedule or an operator would start it, to its end; the kind of its last state."""
        address = f"{self.api}/deployments/{self.deployment(name)['id']}/create_flow_run"
        run = answered("POST", address, json={"parameters": parameters, "job_variables": {"env": env or {}}})["id"]
        wait_for(lambda: state(self.api, run) in {"COMPLETED", "FAILED", "CRASHED"}, "the run did not end")
        return state(self.api, run)

    def night(self):
        """One run of the nightly deployment; all pairs, and the table of the repositories."""
        assert self.deployed("nightly/nightly") == "COMPLETED"
        return {row.instance_id for row in read_instances(self.root / MAIN["mine.pairs"])}, read_json(
            self.root / MAIN["mine.table"]
        )

    def register(self, pool="process", root=None, take_over=False):
        """What `python -m flows.deployments --pool ...` does, in another folder if one is given."""
        with chdir(root or self.root), temporary_settings(updates={PREFECT_API_URL: self.api}):
            return register(load_pool(Path(f"flows/pools/{pool}.yaml")), self.api, take_over)

    def pool_in_use(self):
        """Whose file `python -m flows.deployments` takes where none is named."""
        with chdir(self.root), temporary_settings(updates={PREFECT_API_URL: self.api}):
            return pool_in_use()


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


def test_every_stage_the_pipeline_and_the_nights_are_deployments_whose_schedules_are_off(project):
    assert read_json(project.root / ".fusesearch/worker.json")["url"]
    found = {f"stage/{name}" for name in STAGES} | {"pipeline/pipeline", "nightly/nightly", "experiment/filtering"}
    for name in found:
        wait_for(lambda name=name: project.deployment(name)["status"] == "READY", "no worker looked for runs")
        row = project.deployment(name)
        assert row["work_pool_name"] == "fusesearch"
        assert "fusesearch" in row["tags"]
        assert not any(schedule["active"] for schedule in row["schedules"])
    assert project.deployment("experiment/filtering")["parameters"] == {"names": ["filtering"]}
    (night,) = project.deployment("nightly/nightly")["schedules"]
    assert night["schedule"]["cron"] == "0 2 * * *"
    limits = answered("POST", f"{project.api}/v2/concurrency_limits/filter", json={})
    assert {row["name"]: row["limit"] for row in limits if row["name"] in QUOTAS} == dict.fromkeys(QUOTAS, 1)


def test_a_form_knows_the_kinds_of_its_fields_and_the_server_refuses_what_does_not_fit(project):
    row = project.deployment("stage/sft")
    sft = row["parameter_openapi_schema"]["definitions"]["Sft"]["properties"]
    assert {"type": "integer", "minimum": 1} in sft["batch_size"]["anyOf"]
    assert sft["batch_size"]["description"] == "trajectories per step"
    address = f"{project.api}/deployments/{row['id']}/create_flow_run"
    assert httpx.post(address, json={"parameters": {"sft": {"batch_size": "many"}}}, timeout=SECONDS).status_code == 409


def test_the_pages_ask_the_server_they_come_from(project):
    assert answered("GET", project.api.replace("/api", "/ui-settings"))["api_url"] == project.api


def test_registering_again_leaves_what_an_operator_changed(project):
    night = project.deployment("nightly/nightly")
    schedule = night["schedules"][0]["id"]
    address = f"{project.api}/deployments/{night['id']}/schedules/{schedule}"
    assert httpx.patch(address, json={"active": True}, timeout=SECONDS).is_success
    assert httpx.patch(f"{project.api}/v2/concurrency_limits/gpu", json={"limit": 3}, timeout=SECONDS).is_success
    assert len(project.register()) == len(STAGES) + 3
    (kept,) = project.deployment("nightly/nightly")["schedules"]
    assert kept["active"]
    assert answered("GET", f"{project.api}/v2/concurrency_limits/gpu")["limit"] == 3


def test_experiments_wait_for_each_other_in_a_queue_of_their_own(project):
    assert project.deployment("experiment/filtering")["work_queue_name"] == "experiments"
    assert project.deployment("nightly/nightly")["work_queue_name"] == "default"
    assert answered("GET", f"{project.api}/work_pools/fusesearch/queues/experiments")["concurrency_limit"] == 1


def test_deployments_of_another_folder_are_not_taken_over_unless_it_is_said(project, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for name in ("flows", "experiments", "dvc.yaml", "params.yaml"):
        (other / name).symlink_to(project.root / name)
    with pytest.raises(ConfigError, match=f"run in {project.root}: .*--take-over"):
        project.register(root=other)
    assert project.deployment("stage/sft")["job_variables"]["working_dir"] == str(project.root)
    project.register(root=other, take_over=True)
    assert project.deployment("stage/sft")["job_variables"]["working_dir"] == str(other)
    project.register(take_over=True)


@pytest.mark.parametrize("kind", ["docker", "kubernetes"])
def test_pools_of_containers_load(project, kind):
    names = project.register(kind)
    pool = answered("GET", f"{project.api}/work_pools/fusesearch-{kind}")
    assert pool["type"] == kind
    variables = pool["base_job_template"]["variables"]["properties"]
    row = project.deployment("stage/sft")
    assert row["work_pool_name"] == f"fusesearch-{kind}"
    assert row["job_variables"].keys() <= variables.keys()
    assert row["job_variables"]["env"]["PREFECT_API_URL"] == project.api
    assert project.pool_in_use() == Path(f"flows/pools/{kind}.yaml")
    assert project.register() == names
    assert project.pool_in_use() == Path("flows/pools/process.yaml")


def test_a_stage_without_its_input_says_which_it_is_and_what_to_run(project):
    assert project.deployed("stage/filter") == "FAILED"
    shown = answered("POST", f"{project.api}/artifacts/filter", json={"artifacts": {"key": {"any_": ["filter-failure"]}}})
    assert "`data/raw/pairs.parquet` is missing: `dvc repro mine`" in shown[0]["data"]


def test_a_night_brings_only_what_is_new(project, world, folder):
    first, table = project.night()
    assert first == set(world.expected())
    assert table["repositories"][0]["new"] == len(first)
    assert "mine" in yaml.safe_load((project.root / "dvc.lock").read_text())["stages"]

    repository = world.repositories["team/tool"]
    fresh = add_pull(repository, random.Random(2), "plain")
    write_repository(repository, [fresh], folder / "git")
    points = project.server.counts.points
    second, table = project.night()
    assert second - first == {f"team__tool-{fresh.number}"}
    assert table["repositories"][0]["new"] == 1
    assert project.server.counts.points - points <= 3


def test_a_stage_that_nothing_has_changed_for_does_not_run(project):
    shown = {"artifacts": {"key": {"any_": ["mine-metrics"]}}}
    before = answered("POST", f"{project.api}/artifacts/count", json=shown)
    assert project.deployed("stage/mine") == "COMPLETED"
    assert answered("POST", f"{project.api}/artifacts/count", json=shown) == before == 2


def test_two_workers_of_ray_make_the_candidates_of_one_process(project):
    mine_packages(project.root)
    assert project.deployed("pipeline/pipeline", until="synthesize") == "COMPLETED"
    alone = untimed(project.root / MAIN["synthesize.candidates"])
    ray = {"FUSESEARCH_RAY": "local", "FUSESEARCH_RAY_WORKERS": "2"}
    assert project.deployed("stage/synthesize", env=ray, again=True) == "COMPLETED"
    assert untimed(project.root / MAIN["synthesize.candidates"]) == alone
    assert len(alone) == 4 * len(read_instances(project.root / MAIN["split.sft"]))
    runs = answered("POST", f"{project.api}/task_runs/filter", json={"task_runs": {"name": {"like_": "instances from"}}})
    assert runs
    assert {run["state_type"] for run in runs} == {"COMPLETED"}


def test_a_filled_in_form_is_a_try_beside_the_pipeline(project):
    before = (project.root / MAIN["select.trajectories"]).exists()
    assert project.deployed("stage/select", select={"min_f1": 0.0, "min_efficiency": 0.0}) == "COMPLETED"
    (folder,) = (project.root / NODES).glob("select-*")
    assert (folder / MAIN["select.trajectories"].name).exists()
    assert (project.root / MAIN["select.trajectories"]).exists() == before


def untimed(path):
    """The episodes of a file without their wall times, which differ from run to run."""
    return [_untimed(json.loads(line)) for line in path.read_text().splitlines()]


def _untimed(value):
    if isinstance(value, dict):
        return {key: _untimed(item) for key, item in value.items() if not key.startswith("seconds")}
    return [_untimed(item) for item in value] if isinstance(value, list) else value
