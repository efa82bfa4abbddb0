"""Drives the main agent: mini-swe-agent, a program in an environment of its own that talks to an OpenAI-compatible endpoint.

It works alone (``none``), gets a localizer's answer with the issue (``pre-search``), or has the localizer as a shell command
``localize`` (``sub-agent``). The patch is the difference of its copy to the snapshot, whatever it did to git.

It runs the model's commands on this machine as this user: mini-swe-agent's own settings can put them into a container.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from experiments.downstream import Configuration
from experiments.downstream.attempts import JOURNAL, Attempt, Spent, read_main_agent, read_searches
from fusesearch.core import child
from fusesearch.core.errors import ArtifactError, InfrastructureError, RepositoryError
from fusesearch.core.schema import Instance
from fusesearch.core.storage import Journal, Progress, read_json, read_text, silent, write_json, write_jsonl, write_text
from fusesearch.core.text import safe_name
from fusesearch.data.truth import Reader
from fusesearch.evaluation.published.patches import MAX_CHARS, Fault, located
from fusesearch.search.git import git_command, git_environment, one_line
from fusesearch.search.repository import Repository

SETTINGS, PREDICTIONS, EPISODES = "settings.json", "predictions.jsonl", "episodes"
STOPPED = "TimeExceeded"
OUTCOMES = frozenset({"Submitted", "LimitsExceeded", STOPPED, "RepeatedFormatError", "ContextWindowExceededError"})
"""How a main agent may end, in mini-swe-agent's words. Everything else is a failure of the infrastructure, to be tried again."""
FAILURES = 3
"""After so many failures in a row the endpoint is taken to be down."""
GRACE = 30.0
"""Seconds beyond its limits after which the main agent is killed."""

_MARK = "FUSESEARCH_DOWNSTREAM"
_HINT = "A program that searched for code about this issue names these places, likeliest first; some are wrong:"
_TOOL = (
    "Besides the usual commands there is `localize TEXT`: it searches the repository for the code that TEXT is about and names "
    "files and functions. TEXT may be the whole issue, or what you want to know next; ask it again with what you have learned."
)


@dataclass(frozen=True)
class Settings:
    """What the attempts of a run have in common.

    ``agent`` is the program ``mini``. ``model`` is what the endpoint at ``base_url`` serves; ``OPENAI_API_KEY`` is its key.
    ``localizer`` are arguments of ``fusesearch localize``. ``seconds`` and ``turns`` bound an attempt, ``command_seconds`` a
    command in it. ``extra`` are further configurations of mini-swe-agent, merged last.
    """

    agent: Path
    model: str
    base_url: str
    configuration: Configuration
    localizer: Sequence[str] = ()
    turns: int = 250
    seconds: int = 3600
    command_seconds: int = 60
    extra: Sequence[str] = ()


def run(
    instances: Sequence[Instance], snapshot: Callable[[Instance], Repository], reader: Callable[[Instance], Reader],
    settings: Settings, out: Path, concurrency: int = 1, progress: Progress = silent,
) -> tuple[list[Attempt], dict[str, str]]:  # fmt: skip
    """Attempts by instance, and what failed: those are tried when the same run is started again.

    Writes ``out/<configuration>``. Stops early after :data:`FAILURES` failures in a row. Raises :class:`ArtifactError` where the
    folder has attempts with other settings.
    """
    folder = (out / settings.configuration).absolute()  # the main agent works elsewhere
    _claim(folder, settings)
    failures: dict[str, str] = {}
    in_a_row, lock = 0, threading.Lock()
    _end_processes(folder)  # of a run that was killed
    with Journal(folder / JOURNAL, key="instance_id") as journal, ThreadPoolExecutor(concurrency) as pool:

        def work(instance: Instance) -> None:
            nonlocal in_a_row
            if in_a_row >= FAILURES:
                return
            try:
                name = safe_name(instance.instance_id).lstrip(".") or "_"
                done = attempt(instance, snapshot(instance), settings, folder / EPISODES / name)
            except (InfrastructureError, RepositoryError) as error:
                with lock:
                    in_a_row += 1
                    failures[instance.instance_id] = str(error)
                return
            with lock:
                found = located(done.patch, reader(instance))
                journal.append(done.model_copy(update={"fault": found.fault, "detail": found.detail}))
                in_a_row = 0
                progress(len(journal), len(instances))

        try:
            list(pool.map(work, [row for row in instances if row.instance_id not in journal]))
        except KeyboardInterrupt:
            in_a_row = FAILURES
            _end_processes(folder)
            raise
        attempts = [Attempt.model_validate(journal.rows[row.instance_id]) for row in instances if row.instance_id in journal]
    name = f"{settings.model}+{settings.configuration}"
    patches = [(row.instance_id, "" if row.fault is Fault.HUGE else row.patch) for row in attempts]  # a huge one was cut
    rows = [{"instance_id": key, "model_name_or_path": name, "model_patch": patch} for key, patch in patches]
    write_jsonl(folder / PREDICTIONS, rows)
    return attempts, failures


def attempt(instance: Instance, repository: Repository, settings: Settings, folder: Path) -> Attempt:
    """Let the main agent work on one instance. Raises :class:`InfrastructureError` if it could not."""
    shutil.rmtree(folder, ignore_errors=True)
    tree, calls = folder / "tree", folder / "calls"
    calls.mkdir(parents=True)
    try:
        base = _prepare(repository, tree, folder / "base.git")
        command = _localize(folder / "bin" / "localize", tree, calls, settings)
        task = instance.problem_statement
        if settings.configuration is Configuration.pre_search:
            task += _hint(command, task, _environment(folder))
        elif settings.configuration is Configuration.sub_agent:
            task += f"\n\n{_TOOL}"
        end, main = _main_agent(task, tree, settings, folder)
        questions, localizer = read_searches(calls)
        patch = _difference(tree, folder / "base.git", base)
    finally:
        _end_processes(folder)
        for name in ("tree", "base.git"):
            shutil.rmtree(folder / name, ignore_errors=True)
    return Attempt(instance_id=instance.instance_id, end=end, patch=patch, questions=questions, main=main, localizer=localizer)


def _claim(folder: Path, settings: Settings) -> None:
    wanted = json.loads(json.dumps(asdict(settings) | {"agent": settings.agent.name}))
    if (folder / SETTINGS).exists() and read_json(folder / SETTINGS) != wanted:
        raise ArtifactError(f"{folder} has attempts with other settings ({folder / SETTINGS}): choose another --out")
    write_json(folder / SETTINGS, wanted)


def _prepare(repository: Repository, tree: Path, base: Path) -> str:
    """Copy the snapshot to ``tree`` with a git of one commit, and return the id of its files in ``base``, out of sight."""
    shutil.copytree(repository.root, tree, symlinks=True, copy_function=_copy)
    for git_dir in (tree / ".git", base):
        _git(git_dir, tree, "init", "-q")
        _git(git_dir, tree, "add", "-A", "-f")
    _git(tree / ".git", tree, "-c", "user.name=base", "-c", "user.email=", "commit", "-q", "--allow-empty", "-m", "base")
    return _git(base, tree, "write-tree").decode().strip()


def _copy(source: str, target: str) -> None:
    """A snapshot's files are read-only and shared."""
    shutil.copy(source, target)
    os.chmod(target, os.stat(target).st_mode | stat.S_IWUSR)


def _difference(tree: Path, git_dir: Path, base: str) -> str:
    """What the tree has become, as a patch; more than :data:`MAX_CHARS` are cut."""
    with suppress(InfrastructureError):  # over what cannot be added, such as a repository without a commit
        _git(git_dir, tree, "add", "-A", "--ignore-errors")
    patch = _git(git_dir, tree, "diff", "--cached", "--binary", "--no-ext-diff", "--no-color", base)
    return patch.decode("utf-8", "replace")[: MAX_CHARS + 1]


def _git(git_dir: Path, tree: Path, *arguments: str) -> bytes:
    """What git prints, as much as a patch may have."""
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            [*git_command(git_dir), f"--work-tree={tree}", *arguments], env=git_environment(), stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
        if done.returncode:
            raise InfrastructureError(f"git {arguments[0]} in {tree}: {one_line(done.stderr)}")
        output.seek(0)
        return output.read(4 * MAX_CHARS)


def _localize(script: Path, tree: Path, calls: Path, settings: Settings) -> Path:
    """Write the command ``localize``: its arguments or its input are the text, its trajectory goes to ``calls``."""
    command = [sys.executable, "-P", "-m", "fusesearch", "localize", "--repo", str(tree), "--issue", "-", *settings.localizer]
    write_text(
        script,
        f"#!/bin/sh\nexport PYTHONPATH={shlex.quote(os.pathsep.join(filter(None, sys.path)))}\n"
        '[ $# -gt 0 ] && text() { printf %s "$*"; } || text() { cat; }\n'
        f'text "$@" | exec {shlex.join(command)} --save {shlex.quote(str(calls))}/"$(date +%s%N).$$.json"\n',
    )
    script.chmod(0o755)
    return script


def _hint(command: Path, issue: str, environment: Mapping[str, str]) -> str:
    done = subprocess.run([command], input=issue.encode("utf-8", "replace"), env=environment, capture_output=True, check=False)
    if done.returncode not in (0, 3):  # 3: it ran and has no answer
        raise InfrastructureError(f"the localizer failed: {one_line(done.stderr)}")
    places = done.stdout.decode("utf-8", "replace").partition("\n\n")[0].split("\n")[1:]
    return "\n".join(["\n", _HINT, *places]) if places else ""


def _environment(folder: Path) -> dict[str, str]:
    return os.environ | {_MARK: str(folder)}


def _main_agent(task: str, tree: Path, settings: Settings, folder: Path) -> tuple[str, Spent]:
    """Run ``mini`` to its end. Its trajectory is saved after every step, so that the tokens of a killed run still count."""
    config, trajectory, log = folder / "config.yaml", folder / "trajectory.json", folder / "log.txt"
    write_text(config, yaml.safe_dump(_config(task, tree, settings, folder), allow_unicode=True))
    extra = [part for spec in settings.extra for part in ("-c", spec)]
    command = [str(settings.agent.absolute()), "-c", "mini.yaml", "-c", str(config), *extra]
    command += ["--yolo", "--exit-immediately", "-o", str(trajectory)]
    quiet = {"MSWEA_SILENT_STARTUP": "1", "MSWEA_CONFIGURED": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    key = {"OPENAI_API_KEY": os.environ.get("OPENAI_API_KEY", "none")}
    environment = _environment(folder) | quiet | key | {"MSWEA_GLOBAL_CONFIG_DIR": str(folder / "mini")}
    started, end = time.monotonic(), ""
    with log.open("wb") as output:
        process = child.start(command, cwd=tree, env=environment, stdout=output, stderr=output)
        try:
            process.wait(settings.seconds + settings.command_seconds + GRACE)
        except subprocess.TimeoutExpired:
            end = STOPPED
        finally:
            _end_processes(folder)
            process.wait()
    ended, spent = read_main_agent(trajectory, time.monotonic() - started)
    end = end or ended or f"status {process.returncode}"
    if end not in OUTCOMES:
        lines = [line for line in read_text(log).splitlines() if line.strip()]
        raise InfrastructureError(f"the main agent ended with {end}: {lines[-1].strip()[:300] if lines else 'without a message'}")
    return end, spent


def _config(task: str, tree: Path, settings: Settings, folder: Path) -> dict[str, Any]:
    """Over mini-swe-agent's ``mini.yaml``. Its commands see the key only where the localizer may need it."""
    variables = {"PYTHONDONTWRITEBYTECODE": "1"}  # or compiled files would be part of the patch
    if settings.configuration is Configuration.sub_agent:
        variables["PATH"] = f"{folder / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    else:
        variables["OPENAI_API_KEY"] = ""
    return {
        "run": {"task": task},
        "agent": {"step_limit": settings.turns, "cost_limit": 0, "wall_time_limit_seconds": settings.seconds},
        "environment": {
            "environment_class": "local", "cwd": str(tree), "timeout": settings.command_seconds,
            "env": variables,
        },
        "model": {
            "model_name": f"openai/{settings.model}", "cost_tracking": "ignore_errors",
            "model_kwargs": {"api_base": settings.base_url},
        },
    }  # fmt: skip


def _end_processes(folder: Path) -> None:
    """Kill what main agents below ``folder`` started: its environment says whose it is.

    The agent runs each command in a session of its own, which :mod:`fusesearch.core.child` does not reach.
    """
    import psutil

    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if f"{process.environ().get(_MARK)}/".startswith(f"{folder}/"):
                process.kill()
