"""A process of its own for each package, which reads its job as JSON from stdin and writes messages as JSON lines to stdout.

:class:`Worker` is the side of who starts it, :func:`take_job` its own.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from fusesearch.core.errors import AGAIN, InfrastructureError
from fusesearch.data.sources.synthetic.packages import Package
from fusesearch.data.sources.synthetic.sandbox import fix_addresses, fix_random_numbers

Say = Callable[[dict[str, Any]], None]
"""Sends a message."""


def in_processes(work: Callable[[Package], None], packages: Sequence[Package], workers: int) -> None:
    """Call ``work``, which waits for a :class:`Worker`, with all packages, ``workers`` at a time.

    Raises what one of them raised, after those that had started have finished.
    """
    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="worker") as pool:
        futures = [pool.submit(work, package) for package in packages]
        try:
            for future in futures:
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


class Worker:
    """The process of one package, which runs ``module``. It is killed ``seconds`` after its start.

    ``status`` is how it ended, in the terms of :mod:`subprocess`; ``late`` whether it ran out of time.
    """

    def __init__(self, module: str, seconds: float) -> None:
        self._module = module
        self._watchdog = threading.Timer(seconds, self._kill)
        self.status, self.late = 0, False

    def messages(self, job: Any) -> Generator[dict[str, Any], None, None]:
        """What the process says of ``job`` until it ends. Raises :class:`InfrastructureError` where none can be started."""
        with tempfile.TemporaryDirectory(prefix="fusesearch-work-") as folder:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", self._module],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder, env=environment(folder),
                )  # fmt: skip
            except OSError as error:
                raise InfrastructureError(f"cannot start a process ({error.strerror}); {AGAIN}") from None
            self._watchdog.start()
            assert self._process.stdin is not None  # noqa: S101  a pipe was asked for
            assert self._process.stdout is not None  # noqa: S101  likewise
            try:
                with suppress(BrokenPipeError), self._process.stdin as stdin:
                    stdin.write(json.dumps(job).encode())
                yield from map(json.loads, _lines(self._process))
                self.status = self._process.wait()
            finally:
                self._watchdog.cancel()
                self._process.kill()
                self._process.wait()
                self._process.stdout.close()

    def _kill(self) -> None:
        self.late = True
        self._process.kill()


def take_job() -> tuple[dict[str, Any], Say, bool]:
    """The job of this process, how it answers, and whether its addresses are the same in every run.

    Standard output is kept for messages; what the package prints is lost.
    """
    steady = fix_addresses()
    fix_random_numbers()
    job = json.loads(sys.stdin.read())
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    warnings.simplefilter("ignore")

    def say(message: dict[str, Any]) -> None:
        channel.write(json.dumps(message) + "\n")
        channel.flush()

    return job, say, steady


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


def _lines(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """Whole lines of a process until it ends, even if a child of it keeps the pipe open."""
    assert process.stdout  # noqa: S101  a pipe was asked for
    rest, ended = b"", False
    while True:
        if select.select([process.stdout], [], [], 0 if ended else 1.0)[0]:
            chunk = os.read(process.stdout.fileno(), 1 << 16)
            if not chunk:
                return
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines
        elif ended:
            return
        else:
            ended = process.poll() is not None
