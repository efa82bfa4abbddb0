"""Two people, four servers, one crash: ``python -m tests.trials.team``.

Starts PostgreSQL and an S3 server, with Prefect and MLflow on top. Then, as docs/operations.md says, Ann reproduces and pushes,
PostgreSQL is killed and restarted while she works, and Ben clones, pulls and finds nothing to do. Checks the result and writes
``tests/trials/team/RESULTS.md``. It needs PostgreSQL with its contrib modules (``PG_BIN``: the folder of its programs) and::

    uv pip install -e '.[dev,team]' -c requirements.lock
    uv venv .venv-team && uv pip install --python .venv-team -r tests/trials/team/requirements.txt
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from fusesearch.core.config import overlay
from fusesearch.core.digests import digest
from fusesearch.core.errors import InfrastructureError
from fusesearch.core.storage import write_text
from tasks.tracking.registry import register as register_checkpoint
from tasks.tracking.store import make_client
from tests.trials.team.services import BUCKET, Team, running

ROOT = Path(__file__).parents[3]
PROGRAMS = ROOT / ".venv-team/bin"
RESULTS = ROOT / "tests/trials/team/RESULTS.md"
COPIED = (
    "tasks", "flows", "experiments/reference", "experiments/nano/base", ".dvc/config", ".dvcignore", ".gitignore",
    "dvc.yaml", "requirements.lock",
)  # fmt: skip
STAGES = ("mine", "filter")
CHECKPOINT = ROOT / "experiments/nano/base"
MODEL = "fusesearch-trial"


class Person:
    """A person's working copy, and the commands run in it."""

    def __init__(self, root: Path, settings: dict[str, str]) -> None:
        self.root = root
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**os.environ, **settings, "PATH": path}

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Start a command with its output in a pipe."""
        return subprocess.Popen(
            command, cwd=self.root, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def run(self, *command: str) -> str:
        """Run a command and return its output. Raises :class:`InfrastructureError` when it fails."""
        process = self.start(*command)
        output = process.communicate()[0]
        if process.returncode:
            raise InfrastructureError(f"{' '.join(command)} ended with {process.returncode}: {output.strip()[-1500:]}")
        return output

    def dvc(self, *arguments: str) -> str:
        """``dvc ARGUMENTS``."""
        return self.run(sys.executable, "-m", "dvc", *arguments)

    def git(self, *arguments: str) -> str:
        """``git ARGUMENTS``."""
        return self.run("git", "-c", "user.name=team", "-c", "user.email=team@localhost", *arguments)


def main() -> None:
    """Run the trial, check it, write the page."""
    facts: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="team-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL may run as another user and keeps its data below
        with running(folder, PROGRAMS) as (team, facts["started"]):
            ann = Person(project(folder / "ann"), team.client_settings)
            share(ann, team)
            facts["killed at"] = reproduce_through_a_crash(ann, team)
            publish(ann)
            facts["ann"] = look(team)
            facts["version"] = register(team)
            ann.git("clone", "-q", str(ann.root), str(folder / "ben"))
            ben = Person(folder / "ben", team.client_settings)
            facts["ben"] = take_over(ben)
            facts |= {"postgres": team.sql("mlflow", "SELECT version()")[0].split(" on ")[0], "objects": objects(team)}
            facts["tables"] = {name: len(team.sql(name, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"))
                               for name in ("prefect", "mlflow")}  # fmt: skip
    check(facts)
    write_text(RESULTS, page(facts))
    print(f"wrote {RESULTS.relative_to(ROOT)}")


def project(root: Path) -> Path:
    """A copy of this project with tiny params, as its own repository."""
    for name in COPIED:
        source, target = ROOT / name, root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, target)
    params, tiny = (yaml.safe_load(path.read_text()) for path in (ROOT / "params.yaml", ROOT / "tests/trials/team/tiny.yaml"))
    (root / "params.yaml").write_text(yaml.safe_dump(overlay(params, tiny), sort_keys=False))
    return root


def share(person: Person, team: Team) -> None:
    """Git repository, and the team's remote for DVC, as docs/operations.md says."""
    person.git("init", "-q")
    person.dvc("remote", "add", "--force", "--default", "team", f"s3://{BUCKET}/dvc")
    person.dvc("remote", "modify", "team", "endpointurl", team.url("s3"))
    person.git("add", "-A")
    person.git("commit", "-qm", "Project of the team")


def reproduce_through_a_crash(person: Person, team: Team) -> str:
    """``dvc repro`` while PostgreSQL is killed and restarted; returns the stage that ran then, and how it went on."""
    work = person.start(sys.executable, "-m", "dvc", "repro", STAGES[-1])
    while not team.sql("mlflow", "SELECT 1 FROM pg_tables WHERE tablename = 'runs'") or not running_stages(team):
        if work.poll() is not None:
            raise InfrastructureError(f"dvc repro ended early: {work.communicate()[0][-1500:]}")
        time.sleep(0.5)
    stage = running_stages(team)[0]
    team.postgres.stop(signal.SIGKILL)
    time.sleep(5)
    team.postgres.start()
    output = work.communicate()[0]
    if work.returncode:  # a stage could not start without its servers; the same command continues
        person.dvc("repro", STAGES[-1])
        return f"{stage} ({(output.strip().splitlines() or [''])[-1][:200]}; running `dvc repro` again continued)"
    return f"{stage}; `dvc repro` continued by itself"


def running_stages(team: Team) -> list[str]:
    """Stages that run, according to MLflow's database."""
    query = "SELECT t.value FROM tags t JOIN runs r USING (run_uuid) WHERE t.key = 'stage' AND r.status = 'RUNNING'"
    return team.sql("mlflow", query)


def register(team: Team) -> dict[str, Any]:
    """A checkpoint as a version of a model, its files through MLflow's server into the bucket and back."""
    import mlflow

    os.environ["MLFLOW_TRACKING_URI"] = team.url("mlflow")
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)  # the state of a working copy is in its folder
        client = make_client(team.url("mlflow"))
        run = client.create_run(client.create_experiment("fusesearch-trial"))
        version = register_checkpoint(client, run.info.run_id, MODEL, CHECKPOINT, {"digest": digest(CHECKPOINT)}, "grpo")
        mlflow.set_tracking_uri(team.url("mlflow"))
        Path("back").mkdir()
        back = Path(mlflow.artifacts.download_artifacts(f"models:/{MODEL}@grpo", dst_path="back"))
        (back / "registered_model_meta").unlink(missing_ok=True)  # MLflow adds the version here
        same = digest(back) == digest(CHECKPOINT)
        os.chdir(ROOT)
    return {"same": same, "text": f"version {version}, {'the same files' if same else 'other files'}"}


def publish(person: Person) -> None:
    """Commit the results and push the data to the object store."""
    person.dvc("push")
    person.git("add", "-A")
    person.git("commit", "-qm", "Reproduced")


def take_over(person: Person) -> dict[str, str]:
    """Pull everything and reproduce: nothing is left to do."""
    pulled = person.dvc("pull", "--allow-missing")
    status = person.dvc("repro", STAGES[-1])
    return {"pulled": pulled.strip().splitlines()[-1], "repro": status.strip().splitlines()[-1]}


def look(team: Team) -> dict[str, Any]:
    """MLflow's and Prefect's records of the reproduction."""
    runs = team.sql("mlflow", "SELECT name || ' ' || status FROM runs ORDER BY start_time")
    twice = team.sql("mlflow", "SELECT run_uuid, key, step FROM metrics GROUP BY 1, 2, 3 HAVING count(*) > 1")
    flows = team.sql("prefect", "SELECT f.name || ' ' || r.state_type FROM flow_run r JOIN flow f ON f.id = r.flow_id ORDER BY 1")
    return {"runs": runs, "twice": twice, "flows": flows}


def objects(team: Team) -> dict[str, int]:
    """Number of objects under each prefix of the bucket."""
    import boto3

    keys = team.s3_settings
    client = boto3.client(
        "s3", endpoint_url=team.url("s3"), region_name="us-east-1",
        aws_access_key_id=keys["AWS_ACCESS_KEY_ID"], aws_secret_access_key=keys["AWS_SECRET_ACCESS_KEY"],
    )  # fmt: skip
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
    names = [row["Key"].split("/")[0] for found in pages for row in found.get("Contents", [])]
    return {name: names.count(name) for name in sorted(set(names))}


def check(facts: dict[str, Any]) -> None:
    """Raises :class:`InfrastructureError` when a check fails."""
    finished = [name for name in STAGES if f"{name} FINISHED" in facts["ann"]["runs"]]
    expected = {
        "every stage has one finished run": finished == list(STAGES) and len(facts["ann"]["runs"]) == len(STAGES) + 1,
        "no figure is duplicated": not facts["ann"]["twice"],
        "the checkpoint comes back from the object store as it was": facts["version"]["same"],
        "the second clone has nothing to do": "up to date" in facts["ben"]["repro"],
    }  # fmt: skip
    for what, true in expected.items():
        if not true:
            raise InfrastructureError(f"check failed: {what}: {facts}")


def page(facts: dict[str, Any]) -> str:
    """The results as Markdown."""
    started = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in facts["started"].items())
    flows = sorted(set(facts["ann"]["flows"]))
    return f"""# Trial of a team's servers

`python -m tests.trials.team`: {facts["postgres"]}; moto as the S3 store; Prefect and MLflow on top. Started in: {started}.

| what | found |
|---|---|
| tables in PostgreSQL | {", ".join(f"{name} {count}" for name, count in facts["tables"].items())} |
| PostgreSQL killed (SIGKILL) and restarted during | {facts["killed at"]} |
| runs in MLflow | {", ".join(facts["ann"]["runs"])} |
| duplicated points of a figure | {len(facts["ann"]["twice"])} |
| runs in Prefect | {", ".join(f"{row} x{facts['ann']['flows'].count(row)}" for row in flows)} |
| checkpoint registered, and read back as `models:/{MODEL}@grpo` | {facts["version"]["text"]} |
| objects in the bucket, by prefix | {", ".join(f"{name} {count}" for name, count in facts["objects"].items())} |
| `dvc pull` in a second clone | {facts["ben"]["pulled"]} |
| `dvc repro` there | {facts["ben"]["repro"]} |
"""


if __name__ == "__main__":
    try:
        main()
    except InfrastructureError as error:
        sys.exit(f"error: {error}")
