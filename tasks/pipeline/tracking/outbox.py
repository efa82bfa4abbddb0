"""Writes to the tracking store, delivered once: now if it answers, else when it is back.

A stage trains for hours; that its store was restarted is no reason to lose the work, nor a figure of it. A write that the
store did not take goes to a journal in ``.fusesearch/outbox``, files along with it, and so do all later ones, in order. The
process that wrote them tries again every :data:`PAUSE_SECONDS`; what is left when it ends is delivered by the next one that
opens the same store. A write that the store refuses for good, or fails at again and again while it answers, goes to
``refused.jsonl`` there, with a warning, and its files to ``refused``. Files have a store of their own, which may be away alone:
they wait for it in order, a day at most, and let everything else pass.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from pydantic import ValidationError

from tasks.core.errors import DataError, FusesearchError, TrackingUnavailable
from tasks.core.storage import Journal, write_jsonl
from tasks.pipeline.layout import STATE
from tasks.pipeline.tracking.store import AWAY, answers, require, shown, tracking_uri
from tasks.pipeline.tracking.writes import Write, Writer

OUTBOX = STATE / "outbox"
REFUSED = "refused.jsonl"
PAUSE_SECONDS = 20.0
"""Between two tries at a store that is away."""
TRIES = 3
"""At a write that fails while the store answers."""
FILES = ("file", "text", "table", "register", "contend")
"""Writes that need the store of files, which is a bucket or a folder behind the store itself."""
FILES_SECONDS = 24 * 3600
"""How long they wait for it."""

logger = logging.getLogger(__name__)


class Outbox:
    """The way of one process to one store. Safe for the threads of that process."""

    def __init__(self, uri: str) -> None:
        self.writer = Writer(uri)
        self._kept: list[Write] = []
        self._journal: Journal | None = None
        self._lock = threading.RLock()
        self._tried = 0.0
        self._open()

    def _open(self) -> None:
        self._name = uuid.uuid4().hex[:12]
        self._file_lock = FileLock(OUTBOX / f"{self._name}.lock", thread_local=False)

    @property
    def waits(self) -> bool:
        """Whether the store has yet to take some of what was written."""
        return bool(self._kept)

    def send(self, write: Write) -> str:
        """Deliver a write, or keep it. Returns what the store said of it (the id of a run, a version), "" where it is kept."""
        with self._lock:
            if self._kept and not self._retry():
                return self._keep(write)
            try:
                return self.writer.apply(write)
            except TrackingUnavailable as error:
                logger.warning("%s: what this run writes is kept in %s until it is back", error, OUTBOX)
                self._tried = time.monotonic()
                return self._keep(write)
            except DataError as error:
                return _refuse(write, error)

    def settle(self) -> int:
        """Try once more to deliver what is kept, and leave the rest to whoever opens the store next; returns how much that is."""
        with self._lock:
            self._tried = 0.0
            left = 0 if not self._kept or self._retry() else len(self._kept)
            if self._journal:
                self._journal.close()
                self._let_go()
                logger.warning("%d writes to MLflow wait in %s: the next run delivers them", left, OUTBOX)
                self._open()
            return left

    def _retry(self) -> bool:
        """Deliver what is kept if it is time to try again; whether nothing is left."""
        if time.monotonic() - self._tried < PAUSE_SECONDS and self._tried:
            return False
        self._tried = time.monotonic()
        if not answers(self.writer.uri):
            return False
        if _deliver(self.writer, self._kept):
            self._rewrite()
            return False
        if self._journal:
            self._journal.remove()
            shutil.rmtree(OUTBOX / self._name, ignore_errors=True)
            self._let_go()
            Path(self._file_lock.lock_file).unlink(missing_ok=True)
        return True

    def _rewrite(self) -> None:
        if self._journal:
            self._journal.close()
            write_jsonl(self._journal.path, self._kept)
            self._journal = Journal(self._journal.path, key="id")

    def _let_go(self) -> None:
        self._journal, self._kept = None, []
        self._file_lock.release()

    def _keep(self, write: Write) -> str:
        if self._journal is None:
            OUTBOX.mkdir(parents=True, exist_ok=True)
            self._file_lock.acquire()
            self._journal = Journal(OUTBOX / f"{self._name}.jsonl", key="id")
        kept = _with_files(write, OUTBOX / self._name / write.id)
        self._journal.append(kept)
        self._kept.append(kept)
        return ""


def open_outbox() -> Outbox:
    """The way to the store in use; what earlier processes could not deliver to it goes first.

    Raises:
        TrackingUnavailable: the store does not let this process in, or does not answer and never has.
    """
    uri = tracking_uri()
    require(uri)
    deliver_left(uri)
    return Outbox(uri)


def waiting() -> int:
    """How many writes of processes that have ended wait to be delivered."""
    return sum(len(writes) for _, writes in _left())


def deliver_left(uri: str) -> int:
    """Deliver what processes that have ended left for the store ``uri``, if it answers; returns how many writes that was."""
    delivered = 0
    if not OUTBOX.is_dir() or not answers(uri):
        return delivered
    writer = Writer(uri)
    for path, writes in _left():
        if not writes or writes[0].store != shown(uri):
            continue
        count = len(writes)
        left = _deliver(writer, writes)
        delivered += count - left
        if not left:
            path.unlink()
            shutil.rmtree(path.with_suffix(""), ignore_errors=True)
            continue
        write_jsonl(path, writes)
        logger.warning("MLflow at %s takes %d of %d writes kept in %s", shown(uri), count - left, count, path)
        if not writer.answers():
            break
    return delivered


def _left() -> Iterator[tuple[Path, list[Write]]]:
    """Journals that no living process holds, with their writes; each is held while it is looked at."""
    for path in sorted(OUTBOX.glob("*.jsonl")):
        if path.name != REFUSED:
            with _held(path) as mine:
                if mine:
                    yield path, _read(path)


@contextmanager
def _held(path: Path) -> Iterator[bool]:
    lock = FileLock(path.with_suffix(".lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()
        if not path.exists():
            Path(lock.lock_file).unlink(missing_ok=True)


def _read(path: Path) -> list[Write]:
    with Journal(path, key="id") as rows:
        try:
            return [Write.model_validate(row) for row in rows.rows.values()]
        except ValidationError as error:
            raise DataError(f"{path} holds no writes to MLflow ({error.errors()[0]['msg']}): remove it") from None


def _deliver(writer: Writer, writes: list[Write]) -> int:
    """Deliver in order, taking what is delivered off the list; returns how many are left when the store, or that of files, fails.

    The writes that create the runs stay with what is left, which a later process finds its runs by.
    """
    runs: list[Write] = []
    files: list[Write] = []
    while writes:
        write = writes[0]
        try:
            if (files and write.kind in FILES) or not _made(writer, write):
                files.append(write)
        except TrackingUnavailable:
            break
        if write.kind == "create":
            complete = writer.is_complete(write.run)  # else it is found finished later, and takes no more of what is left
            runs.append(write.model_copy(update={"data": {**write.data, "once": complete}}))
        writes.pop(0)
    writes[:0] = files
    if writes:
        writes[:0] = runs
    return len(writes)


def _made(writer: Writer, write: Write) -> bool:
    """Make a write or refuse it; False for one that waits for the store of files.

    Raises :class:`TrackingUnavailable` where the store is away.
    """
    for left in reversed(range(TRIES)):
        try:
            writer.apply(write)
            break
        except DataError as error:
            _refuse(write, error)
            break
        except TrackingUnavailable as error:
            if error.status in AWAY or not writer.answers():
                raise
            if write.kind in FILES and time.time() - write.at / 1000 < FILES_SECONDS:
                return False
            if not left:
                _refuse(write, error)
    return True


def _refuse(write: Write, error: FusesearchError) -> str:
    logger.warning("%s (%s): kept in %s", error, write.kind, OUTBOX / REFUSED)
    OUTBOX.mkdir(parents=True, exist_ok=True)
    kept = _with_files(write, OUTBOX / "refused" / write.id)
    with FileLock(OUTBOX / "refused.lock"), (OUTBOX / REFUSED).open("a", encoding="utf-8") as handle:
        handle.write(kept.model_dump_json() + "\n")
    return ""


def _with_files(write: Write, folder: Path) -> Write:
    """The write with the files it names copied to ``folder``: they may be gone by the time it is delivered."""
    path = Path(str(write.data.get("path", "")))
    if write.kind != "file" or not path.exists():
        return write
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / path.name
    if path.is_dir():
        shutil.copytree(path, target, dirs_exist_ok=True)
    else:
        shutil.copyfile(path, target)
    data: dict[str, Any] = {**write.data, "path": str(target)}
    return write.model_copy(update={"data": data})
