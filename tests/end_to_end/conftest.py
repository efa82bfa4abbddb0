"""A copy of the project with params so small that the whole pipeline runs in minutes."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from tests.fakes.git import committed
from tests.fakes.tiny_student import tiny_student

ROOT = Path(__file__).parents[2]
COPIED = (
    *("fusesearch", "tasks", "flows", "experiments/reference", "experiments/profiles/verl"),
    *(".dvc/config", ".dvcignore", ".gitignore", "dvc.yaml", "requirements.lock", "experiments/nano/packages.txt"),
)
TINY = {
    "mine": {
        "packages": ["toolz", "more_itertools", "boltons", "mpmath"],
        "per_repository": 5,
        "attempts_per_repository": 40,
    },
    "split": {"validation_owners": ["toolz"]},
    "agent": {"max_turns": 3, "max_new_tokens": 16, "max_context_tokens": 3000},
    "synthesize": {"per_instance": 4},
    "select": {"min_f1": 0.0, "min_efficiency": 0.0, "max_trajectories": 8},
    "sft": {
        "epochs": 1,
        "renamed_copies": 1,
        "drills": 4,
        "max_length": 4096,
        "batch_size": 4,
        "micro_batch": 4,
        "save_steps": 1,
    },
    "grpo": {"steps": 3, "prompts_per_step": 2, "group": 2, "micro_batch": 4, "save_steps": 1},
    "evaluate": {"runs": 1, "max_instances": 4},
}


class Project:
    """The copy, and the commands a user would run in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        unset = {"MLFLOW_TRACKING_URI", "PREFECT_API_URL", "PREFECT_HOME", "PYTHONPATH"}
        self.environment = {key: value for key, value in os.environ.items() if key not in unset}
        self.environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def run(self, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        """``python -m ARGUMENTS`` to its end."""
        return subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=self.root, env=self.environment | changes, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def kill_during(self, arguments: tuple[str, ...], reached: Callable[[], bool], seconds: float = 900) -> None:
        """Start ``python -m ARGUMENTS`` and send SIGKILL to it and all it started once ``reached`` holds."""
        with (self.root / "killed.log").open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *arguments],
                cwd=self.root, env=self.environment, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + seconds
        try:
            while not reached():
                assert process.poll() is None, (self.root / "killed.log").read_text()
                assert time.monotonic() < deadline, "the moment to kill it never came"
                time.sleep(0.02)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    for name in COPIED:
        source, target = ROOT / name, root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if source.is_dir() else shutil.copyfile
        copy(source, target)
    write_params(root)
    # a random student: whether it learns is another test's question
    tiny_student(root / "experiments/nano/base", ["def f(x):\n    return x + 1\n# /repo/a.py:3: is wrong"] * 5, 380)
    committed(root)
    return Project(root)


@pytest.fixture(scope="module", autouse=True)
def _server_ends(project):
    """A server that nobody asks any more takes a twentieth of a core."""
    yield
    project.run("flows.server", "stop")


def write_params(root: Path) -> None:
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    for section, changes in TINY.items():
        params[section] = {**params[section], **changes}
    (root / "params.yaml").write_text(yaml.safe_dump(params))
