"""Runs jobs: each a ``dvc repro`` of one stage in a process of its own, several at once, none before those it needs.

DVC says whether a stage has to run, and remembers it as soon as it has ended; a stage that was cut off goes on where it stopped.
So whatever ends a run of an experiment (Ctrl-C, a kill, a server that went away), the same command goes on from there. A
stage ends by itself when the process that started it is gone (:data:`OWNER`).
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import psutil

from tasks.core.config import Params
from tasks.core.errors import AGAIN
from tasks.pipeline.dvc_command import PATIENCE, RETRY_SECONDS, is_busy
from tasks.pipeline.experiments.jobs import Job
from tasks.pipeline.experiments.locks import LOGS, alone
from tasks.pipeline.process import birth

OWNER = "FUSESEARCH_OWNER"
"""Environment variable of the stages: id and birth of the process they belong to."""

TRIES = 3
HELD_SECONDS = PATIENCE * RETRY_SECONDS
"""How long a job waits for another process that is at the same work: a deployment's stage, or another ``dvc repro``."""
LONGEST_PAUSE = 30.0
"""Between two tries while it waits: each starts DVC and the stage, which costs the other process some seconds of a core."""
POLL_SECONDS = 0.2
LOG_BYTES = 20_000
"""How much of the end of a log is read."""

JOB_BYTES = 3_000_000_000
"""Memory of one job besides what its model takes: PyTorch, the trainer, a batch of nano's episodes."""

_COUNTS = re.compile(r"(\d+) of (\d+)\s*$", re.M)
_HELD = re.compile(r"^error: (\S+ is already running on these inputs)", re.M)
_EXITED = re.compile(r"exited with (-?\d+)")
_UNCHANGED = "didn't change, skipping"

State = Literal["waiting", "running", "done", "unchanged", "failed", "blocked"]


@dataclass
class Progress:
    """Where a job stands; ``counts`` are rows done and rows in all as the stage last said them.

    ``held`` counts the tries since ``held_since`` that found another process at the same work; ``reason`` says meanwhile what is
    waited for.
    """

    job: Job
    state: State = "waiting"
    started: float = 0.0
    seconds: float = 0.0
    tries: int = 0
    reason: str = ""
    counts: tuple[int, int] | None = None
    not_before: float = 0.0
    held: int = 0
    held_since: float = 0.0
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def log(self) -> Path:
        """What the job said."""
        return log_of(self.job.name)

    @property
    def said(self) -> str:
        """The state in a word; what is waited for while another process is at the same work, however often that is tried."""
        return self.reason if self.held and self.state in ("waiting", "running") else self.state


Watch = Callable[[Sequence[Progress]], None]
"""Called several times a second while jobs run."""


def run_jobs(jobs: Sequence[Job], workers: int, watch: Watch, threads: int | None = None) -> list[Progress]:
    """Run ``jobs`` (each after those it needs), ``workers`` at a time, and return where each ended.

    A job whose need failed is ``blocked``; the others go on. ``threads`` are those of one job: by default its share of the
    cores. Raises :class:`ConfigError` when another process runs experiments here.
    """
    rows = {job.name: Progress(job) for job in jobs}
    share = threads or max(1, (os.cpu_count() or 1) // workers)
    with alone(), _ended(rows):
        while any(row.state in ("waiting", "running") for row in rows.values()):
            for row in rows.values():
                _advance(row, rows, workers, share)
            watch(list(rows.values()))
            time.sleep(POLL_SECONDS)
    return list(rows.values())


def log_of(name: str) -> Path:
    """What a job said when an experiment last ran it."""
    return LOGS / f"{name}.log"


def counts_in(said: str) -> tuple[int, int] | None:
    """Rows done and rows in all as a stage last said them."""
    found = _COUNTS.findall(said)
    return (int(found[-1][0]), int(found[-1][1])) if found else None


def workers_for(params: Params) -> int:
    """How many jobs to run at once when nobody says: two where cores and memory allow it and no GPU is in use, else one."""
    base = Path(params.model.base)
    if params.grpo.rollouts == "vllm" or not base.is_dir():
        return 1
    weights = sum(path.stat().st_size for path in base.rglob("*") if path.is_file())
    needed = JOB_BYTES + 16 * weights
    return max(1, min(2, os.cpu_count() or 1, psutil.virtual_memory().available // needed))


def _advance(row: Progress, rows: dict[str, Progress], workers: int, threads: int) -> None:
    if row.state == "running":
        _look(row)
    if row.state != "waiting":
        return
    needed = [rows[name].state for name in row.job.needs if name in rows]
    if any(state in ("failed", "blocked") for state in needed):
        row.state, row.reason = "blocked", "a run that it builds on failed"
    elif any(state in ("waiting", "running") for state in needed) or time.monotonic() < row.not_before:
        return
    elif sum(other.state == "running" for other in rows.values()) < workers:
        _start(row, threads)


def _start(row: Progress, threads: int) -> None:
    """Begin the job; its group is its own, so that Ctrl-C reaches it through this process alone, once."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    owner = f"{os.getpid()} {birth(os.getpid())}"
    environment = {**os.environ, "PATH": programs, "OMP_NUM_THREADS": str(threads), OWNER: owner}
    LOGS.mkdir(parents=True, exist_ok=True)
    with row.log.open("wb") as log:
        row.process = subprocess.Popen(
            row.job.command, stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
    row.state, row.started, row.tries, row.counts = "running", time.monotonic(), row.tries + 1, None


def _look(row: Progress) -> None:
    """Note how far a running job is, and whether it has ended."""
    assert row.process is not None  # noqa: S101
    row.seconds = time.monotonic() - row.started
    code = row.process.poll()
    said = end_of(row.log)
    if counts := counts_in(said):
        row.counts, row.held, row.reason = counts, 0, ""
    if code == 0:
        row.state, row.reason = "unchanged" if _UNCHANGED in said else "done", ""
    elif code is not None:
        _failed(row, said, code)


def end_of(log: Path) -> str:
    """The last that was said in a log."""
    with log.open("rb") as handle:
        handle.seek(max(0, log.stat().st_size - LOG_BYTES))
        return handle.read().decode("utf-8", errors="replace")


def _failed(row: Progress, said: str, code: int) -> None:
    """Try again what another process is still busy with or a server went away from; anything else has failed."""
    now = time.monotonic()
    if is_busy(said):
        row.held_since = row.held_since if row.held else now
        row.held, row.tries = row.held + 1, row.tries - 1
        if now - row.held_since < HELD_SECONDS:
            row.reason = f"waits, {_holder(said)}"
            row.state, row.not_before = "waiting", now + min(LONGEST_PAUSE, row.held * RETRY_SECONDS)
            return
    elif row.tries < TRIES and AGAIN in said:
        row.state, row.not_before, row.held, row.reason = "waiting", now + RETRY_SECONDS, 0, ""
        return
    row.state, row.reason = "failed", _reason(said, code)


def _holder(said: str) -> str:
    """Who keeps a job from its work."""
    found = _HELD.findall(said)
    return (
        f"{found[-1]}: started by a deployment, or by hand"
        if found
        else "another process is at it, or reads what it made: a deployment, or `dvc repro`"
    )


def _reason(said: str, code: int) -> str:
    """One line: the stage's own error, else what ended it, else the last that was said."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if errors := [line for line in lines if line.startswith("error:")]:
        return errors[-1].removeprefix("error:").strip()
    exits = [code, *map(int, _EXITED.findall(said))]
    if killed := {-status if status < 0 else status - 128 for status in exits} & signal.valid_signals():
        return f"killed by signal {min(killed)}{', often for want of memory' if signal.SIGKILL in killed else ''}"
    own = [line for line in lines if not line.startswith("ERROR: failed to reproduce")]  # which DVC says last, of any failure
    return own[-1] if own else f"ended with code {code}"


@contextmanager
def _ended(rows: dict[str, Progress]) -> Iterator[None]:
    """Whatever ends the block, no job runs on: each is asked to stop as Ctrl-C would, and waited for."""
    try:
        with _interrupted_by_sigterm():
            yield
    finally:
        left = [row.process for row in rows.values() if row.process is not None and row.process.poll() is None]
        for process in left:
            os.killpg(process.pid, signal.SIGINT)
        for process in left:
            _wait(process)


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """SIGTERM is as Ctrl-C within the block, where signals can be caught: in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _wait(process: subprocess.Popen[bytes], seconds: float = 60.0) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
