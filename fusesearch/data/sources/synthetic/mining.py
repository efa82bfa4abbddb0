"""Mine all packages in a few processes; a killed run continues where it stopped.

One worker process mines a whole repository, whose instances become one row of the journal. A repository that was unfinished
when the run died is mined again, with the same result.

The packages of a data set depend on the packages alone: only one that its worker reports as unusable is skipped. A worker
that ends without a report (killed, out of memory, or over its wall time, which a busy machine reaches sooner) ends the run
with an error, and the next run continues.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Container, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from fusesearch.core.config import Mine
from fusesearch.core.errors import AGAIN, DataError, InfrastructureError
from fusesearch.core.schema import Instance
from fusesearch.core.storage import Journal, Progress
from fusesearch.data.sources.base import Mined
from fusesearch.data.sources.synthetic.packages import Package, parse_packages, size_of

VERSION = 10
JOURNAL = "repositories.jsonl"
WORKER = "fusesearch.data.sources.synthetic.worker"
"""The module that a process runs."""
SLOW, SLOWER = frozenset({"sympy", "scipy"}), 4
"""Owners whose examples take longer than those of others, and how many times."""
SECONDS_PER_REPOSITORY = 600.0
"""Most processor seconds for a package: far above what is needed, because a time limit cannot be repeated."""
SPARE_SECONDS = 600.0
"""A worker's wall time beyond a minute for each second of :data:`SECONDS_PER_REPOSITORY`."""
POLL_SECONDS = 0.2
"""How often a worker's messages are read."""


@dataclass
class Synthetic:
    """Plants faults in ``config.packages``, each one repository.

    Skips unusable packages and lists them in the table. Finished repositories stay in ``journal_dir`` for the next run with
    the same config and seed.
    """

    config: Mine
    seed: int
    journal_dir: Path

    def lacking(self, repos_dir: Path) -> list[str]:
        """Repositories that are not finished, those that take longest first."""
        packages = parse_packages(self.config.packages)
        with closing(Journal(self.journal_dir / JOURNAL, key="key")) as journal:
            pending = [package for package in packages if not self._is_done(package, journal, repos_dir)]
        return [package.repo for package in sorted(pending, key=_work, reverse=True)]

    def _is_done(self, package: Package, journal: Journal, repos_dir: Path) -> bool:
        return self._key(package) in journal and (repos_dir / f"{package.slug}.git").is_dir()

    def mine(self, repos_dir: Path, progress: Progress, only: Container[str] | None = None) -> Mined:
        """Instances in the order of the packages, or those of the repositories in ``only``, and the table of :func:`_summary`.

        The figures are ``ended_by_clock``, how many examples a clock ended, and ``unsteady``, the repositories whose instances
        another run may not repeat, and why.

        Calls ``progress`` from worker threads. Raises :class:`ConfigError` on a malformed list, :class:`DataError` when
        nothing was found, and :class:`InfrastructureError` when a worker died or ran over its wall time, after the other
        workers have finished their repositories.
        """
        packages = [row for row in parse_packages(self.config.packages) if only is None or row.repo in only]
        total = self.config.per_repository * len(packages)
        repos_dir.mkdir(parents=True, exist_ok=True)
        for leftover in repos_dir.glob(".partial-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        lock = threading.Lock()
        skipped: dict[str, str] = {}
        with Journal(self.journal_dir / JOURNAL, key="key") as journal:
            keys = {package.repo: self._key(package) for package in packages}
            done = [package for package in packages if self._is_done(package, journal, repos_dir)]
            kept = {package.repo: len(journal.rows[keys[package.repo]]["instances"]) for package in done}

            def work(package: Package) -> None:
                def count(number: int) -> None:
                    kept[package.repo] = number
                    progress(sum(list(kept.values())), total)

                result = self._run_worker(package, repos_dir, count)
                with lock:
                    if "skipped" in result:
                        skipped[package.repo] = result["skipped"]
                    else:
                        journal.append({"key": keys[package.repo], **result["row"]})
                        count(len(result["row"]["instances"]))

            pending = [package for package in packages if package.repo not in kept]
            with ThreadPoolExecutor(self.config.workers, thread_name_prefix="worker") as pool:
                futures = [pool.submit(work, package) for package in sorted(pending, key=_work, reverse=True)]
                try:
                    for future in futures:
                        future.result()
                except BaseException:  # those that have started finish
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
            rows = [journal.rows[keys[package.repo]] for package in packages if keys[package.repo] in journal]
        instances = [Instance.model_validate(instance) for row in rows for instance in row["instances"]]
        if not instances:
            reasons = "; ".join(skipped.values()) or "no mutant was observed by a doctest"
            raise DataError(f"mine: no instance from {len(packages)} packages: {reasons}")
        table = _summary([row["table"] for row in rows], skipped)
        clock = {
            "ended_by_clock": sum(row["ended_by_clock"] for row in rows),
            "unsteady": {row["repo"]: row["unsteady"] for row in rows if row["unsteady"]},
        }
        return Mined(instances, table, clock)

    def _key(self, package: Package) -> str:
        """What a repository's instances depend on."""
        options = (self.config.per_repository, self.config.attempts_per_repository, package.module, package.without)
        return f"{package.repo} {package.version} {VERSION} {self.seed} {options}" + " pairs" * ("pairs" in self.config.tasks)

    def _run_worker(self, package: Package, repos_dir: Path, on_kept: Callable[[int], None]) -> dict[str, Any]:
        """The worker's report of a package. Raises :class:`InfrastructureError` when it ends without one."""
        job = {
            "repo": package.repo,
            "module": package.module,
            "without": package.without,
            "root": str(package.root) if package.root else None,
            "seed": self.seed,
            "git_dir": str((repos_dir / f"{package.slug}.git").resolve()),
            "keep": self.config.per_repository,
            "pairs": "pairs" in self.config.tasks,
            "attempts": self.config.attempts_per_repository,
            "seconds": SECONDS_PER_REPOSITORY,
        }
        limit = 60 * SECONDS_PER_REPOSITORY + SPARE_SECONDS
        late = time.monotonic() + limit
        with _worker(job) as (process, said):
            while process.poll() is None and time.monotonic() < late:
                on_kept(_last(said).get("kept", 0))
                with suppress(subprocess.TimeoutExpired):
                    process.wait(POLL_SECONDS)
            status, result = process.poll(), _last(said)
        if "row" in result or "skipped" in result:
            return result
        if status is None:
            raise _died(package, f"was killed after {limit:,.0f} s; leave it out of mine.packages if it never ends")
        ended = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        with suppress(ValueError):
            ended = f"was killed by {signal.Signals(-status).name}"
        raise _died(package, f"{ended} while mining; fewer mine.workers leave each more memory")


@contextmanager
def _worker(job: dict[str, Any]) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """A process at its job, and the file of its messages, JSON lines; it is killed with the block.

    A file, as a pipe has no end while a child of a dead process holds it. Raises :class:`InfrastructureError` where none can be
    started.
    """
    with tempfile.TemporaryDirectory(prefix="fusesearch-work-") as folder, tempfile.TemporaryFile() as said:
        command, null = [sys.executable, "-P", "-m", WORKER], subprocess.DEVNULL
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=said, stderr=null, cwd=folder, env=environment(folder)
            )
        except OSError as error:
            raise InfrastructureError(f"cannot start a process ({error.strerror}); {AGAIN}") from None
        assert process.stdin is not None  # noqa: S101  a pipe was asked for
        try:
            with suppress(BrokenPipeError), process.stdin as stdin:
                stdin.write(json.dumps(job).encode())
            yield process, said
        finally:
            process.kill()
            process.wait()


def _last(said: IO[bytes]) -> dict[str, Any]:
    """The last whole message, each of which says all that is known; read where the writer's position does not matter."""
    lines = os.pread(said.fileno(), os.fstat(said.fileno()).st_size, 0).split(b"\n")
    return json.loads(lines[-2]) if len(lines) > 1 else {}


def _work(package: Package) -> float:
    """How long a package takes beside others, so that none is left to one process at the end."""
    return size_of(package) * (SLOWER if package.owner in SLOW else 1)


def _died(package: Package, how: str) -> InfrastructureError:
    return InfrastructureError(
        f"mine: {package.repo}: its process {how}; if it happens every time, leave it out of mine.packages; {AGAIN}"
    )


def _summary(tables: list[dict[str, Any]], skipped: dict[str, str]) -> dict[str, Any]:
    """``repositories`` (a table each) and sums over them: ``kinds`` (tried, kept), ``hops``, ``dropped`` by reason.

    ``skipped`` has the unusable packages with their reasons.
    """
    kinds: dict[str, Counter[str]] = {}
    hops: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    for table in tables:
        for kind, counts in table["kinds"].items():
            kinds.setdefault(kind, Counter()).update(counts)
        hops.update(table["hops"])
        dropped.update(table["dropped"])
    return {"repositories": tables, "kinds": {kind: dict(counts) for kind, counts in sorted(kinds.items())},
            "hops": dict(sorted(hops.items())),
            "dropped": dict(sorted(dropped.items())), "skipped": skipped}  # fmt: skip


def environment(folder: str) -> dict[str, str]:
    """One thread, fixed hashes, no colours, an empty home: examples behave the same everywhere."""
    paths = [str(Path(__file__).parents[4]), *(path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path)]
    single = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")}
    terminal = {"COLUMNS": "80", "LINES": "24", "TERM": "dumb", "NO_COLOR": "1", "MPLBACKEND": "Agg"}
    fixed = {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}
    # fills unwritten memory, which numpy.empty returns, with the same bytes; the cache would skip the filling
    fixed["GLIBC_TUNABLES"] = "glibc.malloc.perturb=85:glibc.malloc.tcache_count=0"
    home = {"HOME": folder, "TMPDIR": folder, "PYTHONPATH": os.pathsep.join(paths), "PATH": os.environ.get("PATH", os.defpath)}
    return {**single, **terminal, **fixed, **home}
