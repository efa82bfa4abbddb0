"""The record of every finished run: one JSON file in ``.fusesearch/runs``, without any library behind it.

Artifacts and these records are the truth. MLflow is a projection of them (:mod:`tasks.tracking`).
"""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import time
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field

from fusesearch.core.config import Params
from fusesearch.core.digests import digest, file_digest
from fusesearch.core.errors import ArtifactError
from fusesearch.core.overrides import flatten
from fusesearch.core.schema import Record
from fusesearch.core.storage import read_json, write_json
from tasks.running.places import ARTIFACTS, RESULT_FILES, STATE
from tasks.running.resume import remembered_digest

RUNS = STATE / "runs"
DVC_LOCK = Path("dvc.lock")
_RESULTS = [f"experiments/*/{name}{inside}" for name in RESULT_FILES for inside in ("", "/*")]
_WRITTEN = [DVC_LOCK, "experiments/dvc.lock", "experiments/RESULTS.md", ARTIFACTS, *_RESULTS]
SOURCES = (".", *(f":(exclude){path}" for path in _WRITTEN))
"""The project's own content, without the files that a reproduction or experiment writes."""


class RunRecord(Record):
    """One finished run of a stage or node, or the parent of such runs (a reproduction, an experiment).

    ``key`` identifies the run: recording it twice makes one run. By default it follows from stage, node, params, inputs, outputs
    and parent.
    """

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="constants")  # a loss that is NaN stays NaN in the file

    kind: Literal["reproduction", "stage", "node", "experiment", "arm"] = "stage"
    stage: str = ""
    node: str = Field("", description="id of the node; empty for a run of the main pipeline")
    name: str = Field("", description="name of the run; the node or the stage if empty")
    params: dict[str, Any] = Field(default_factory=dict, description="resolved params that the stage reads, by dotted key")
    inputs: dict[str, str] = Field(default_factory=dict, description="digest of every input path")
    outputs: dict[str, str] = Field(default_factory=dict, description="digest of every output path; empty: not checked")
    metrics: dict[str, Any] = Field(default_factory=dict, description="flat; only numbers are metrics in MLflow")
    started: float = Field(default_factory=time.time, description="seconds since 1970")
    seconds: float = 0.0
    cpu_seconds: float = Field(
        0.0, description="of the process since its start, and of its children that have ended, user and system"
    )
    processor: str = Field("", description="without its name, seconds mean nothing")
    git_revision: str = "none"
    dirty: bool = Field(False, description="whether the working copy differed from the revision")
    dvc_revision: str = Field("none", description="MD5 of dvc.lock")
    profile: str = ""
    seed: int | None = None
    experiment: str = ""
    arm: str = ""
    tags: dict[str, str] = Field(default_factory=dict, description="further tags of the run")
    description: str = Field("", description="Markdown")
    parent: str = Field("", description="key of the record that this run is part of")
    current: list[str] | None = Field(None, description="of an experiment: keys of the arms in its newest results")
    key: str = ""

    def model_post_init(self, _: Any) -> None:
        """Fill in the name and the key."""
        self.name = self.name or self.node or self.stage
        self.key = self.key or digest(self.live_key, self.outputs)[:32]

    def complete(self, outputs: Mapping[str, str], metrics: Mapping[str, Any]) -> RunRecord:
        """The record of a running stage that ends now, with the digests of its outputs and its metrics."""
        spent = {"seconds": time.time() - self.started, "cpu_seconds": cpu_seconds(), "processor": processor()}
        done = {"outputs": dict(outputs), "metrics": flatten(dict(metrics)), "key": "", **spent}
        return RunRecord.model_validate({**self.model_dump(), **done})

    @property
    def live_key(self) -> str:
        """Identifies the run before its outputs exist, so that a restart completes a killed run instead of adding one."""
        return digest(self.parent, self.stage, self.node, self.params, self.inputs)[:32]


def cpu_seconds() -> float:
    """Processor seconds of this process and of its children that have ended, user and system."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(row.ru_utime + row.ru_stime for row in used)


@cache
def processor() -> str:
    """The name of this machine's processor; its kind where the system does not say more."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def write_record(record: RunRecord) -> Path:
    """Write a record, replacing an earlier one with its key. Returns its file."""
    path = RUNS / f"{record.name if record.kind in ('stage', 'node') else record.kind}-{record.key}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, record.model_dump(mode="json"))
    return path


def find_record(key: str) -> RunRecord | None:
    """The record with a key."""
    return next((_read(path) for path in RUNS.glob(f"*-{key}.json")), None)


def records() -> list[RunRecord]:
    """All records, oldest first, and experiments after their arms. Skips files that are not records."""
    found = [record for path in RUNS.glob("*.json") if (record := _read(path))]
    return sorted(found, key=lambda record: (record.kind == "experiment", record.started, record.key))


def _read(path: Path) -> RunRecord | None:
    try:
        return RunRecord.model_validate(read_json(path))
    except (ArtifactError, ValueError):
        return None


def reproduction_record(params: Params) -> RunRecord:
    """The parent of the main pipeline's runs. A new revision, uncommitted change, param or working copy makes a new parent."""
    here = [platform.node(), os.getcwd()]
    name = f"{params.profile} seed {params.seed} {git('rev-parse', '--short', 'HEAD')}".strip()
    return RunRecord(
        kind="reproduction", name=name, params=flatten(params.model_dump(mode="json")), profile=params.profile, seed=params.seed,
        key=digest("reproduction", here, git("rev-parse", "HEAD"), git("diff", "HEAD", "--", *SOURCES), params)[:32],
        **revision(),
    )  # fmt: skip


def stage_record(
    stage: str,
    params: Params,
    values: Mapping[str, Any],
    inputs: Mapping[str, str],
    *,
    node: str = "",
    parent: RunRecord | None = None,
) -> RunRecord:
    """The record of a stage or node that starts now. :meth:`RunRecord.complete` gives the record of its end.

    ``params`` are all of the run, ``values`` those that the stage reads; nodes have no ``parent``.
    """
    return RunRecord(
        kind="node" if node else "stage", stage=stage, node=node, params=dict(values), inputs=dict(inputs),
        profile=params.profile, seed=params.seed, parent=parent.key if parent else "", **revision(),
    )  # fmt: skip


def digests(paths: Iterable[Path]) -> dict[str, str]:
    """The digest of every path: a file's MD5, as in ``dvc.lock``; for a folder one digest over all its files."""
    return {path.as_posix(): path_digest(path) for path in paths}


def path_digest(path: Path) -> str:
    """As :func:`digests`, for one path."""
    return remembered_digest(path) if path.is_file() else digest(path, of_file=remembered_digest)[:32]


def is_unchanged(path: Path, recorded: str) -> bool:
    """Whether a path still has the recorded digest. An empty digest is not checked."""
    return path.exists() and (not recorded or path_digest(path) == recorded)


def revision() -> dict[str, Any]:
    """The fields of :class:`RunRecord` for the commit, uncommitted changes and ``dvc.lock``."""
    return {
        "git_revision": git("rev-parse", "HEAD") or "none",
        "dirty": bool(git("status", "--porcelain", "--", *SOURCES)),
        "dvc_revision": file_digest(DVC_LOCK) if DVC_LOCK.exists() else "none",
    }


def git(*arguments: str) -> str:
    """The output of a git command, empty outside a repository."""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, errors="replace", check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
