"""DVC asked by programs: what is up to date, ``dvc repro`` as a process, and what its output says when it fails."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path

from fusesearch.core.config import load_params
from fusesearch.core.errors import DataError
from tasks.code import write_code
from tasks.running.places import NODES
from tasks.stages import STAGES

BUSY = ("it is being blocked by", "Unable to acquire lock", "is already running on these inputs")
PATIENCE, RETRY_SECONDS = 720, 5.0
"""Tries, and the pause between them, worth an hour: a stage that another process runs, or an experiment that reads its files."""
LOCK_DAMAGED = "DVC cannot read .dvc/tmp/rwlock, its record of what runs here: once nothing does, `rm .dvc/tmp/rwlock`"
_EXITED = re.compile(r"exited with (-?\d+)")
_DAMAGED = re.compile(r"RWLock-file .*(corrupted|format error)|^ERROR: failed to reproduce '.*': 'utf-8' codec", re.MULTILINE)
_REPRODUCE = re.compile(r"ERROR: failed to reproduce '[^']*': *")  # DVC prints this for any failure


class Busy(DataError):
    """Another process kept DVC's lock until the time limit: it runs a stage, or reads its files."""


def repro(stage: str, *options: str) -> list[str]:
    """The command that runs one stage: DVC, which also records that it is done."""
    return [sys.executable, "-m", "dvc", "--wait-for-lock", "repro", "--single-item", *options, stage]


def is_busy(said: str) -> bool:
    """Whether DVC, or a stage, refused because another process holds what it needs."""
    return any(words in said for words in BUSY)


def reason(printed: str, code: int) -> str:
    """Why a stage failed, in one line: its own error, else the signal that ended it, else the last line printed."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    if errors := [line for line in lines if line.startswith("error:")]:
        return errors[-1].removeprefix("error:").strip()
    if _DAMAGED.search(printed):
        return LOCK_DAMAGED
    exits = [code, *map(int, _EXITED.findall(printed))]
    if killed := {-status if status < 0 else status - 128 for status in exits} & signal.valid_signals():
        return f"killed by signal {min(killed)}{', often for lack of memory' if signal.SIGKILL in killed else ''}"
    others = [line for line in lines if not _REPRODUCE.match(line)] or [_REPRODUCE.sub("", line) for line in lines]
    return others[-1] if others else f"exit code {code}"


def up_to_date() -> set[str]:
    """Names of the nodes and of the main pipeline's stages whose own inputs and outputs DVC finds unchanged.

    Runs that another process is making are left out, and so is ``code``, which always runs. Where nothing has run, DVC, which
    takes seconds to import and to read its files, is not asked. Raises :class:`DataError` if DVC cannot read its files.
    """
    if not NODES.exists() and not any(Path(made).exists() for stage in STAGES.values() for made in stage.outputs.values()):
        return set()
    from dvc.exceptions import DvcException
    from dvc.lock import LockError
    from dvc.repo import Repo
    from dvc.rwlock import RWLockFileCorruptedError, RWLockFileFormatError

    write_code(load_params())
    found = set()
    try:
        with Repo(_wait_for_lock=True) as repo, repo.lock:
            for stage in repo.index.stages:
                try:
                    if not stage.status():
                        found.add(stage.name.rpartition("@")[2])
                except LockError:  # another process runs it
                    continue
    except (RWLockFileCorruptedError, RWLockFileFormatError, UnicodeDecodeError):
        raise DataError(LOCK_DAMAGED) from None
    except DvcException as error:
        raise DataError(f"DVC: {' '.join(str(error).split())}") from None
    return found
