"""Servers in their own processes, which tests and trials start, kill and restart."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from fusesearch.core.errors import InfrastructureError

SECONDS = 900.0
"""Most seconds until a server answers."""


def answers(url: str) -> Callable[[], bool]:
    """A check that ``url`` answers with success."""

    def ready() -> bool:
        with suppress(httpx.HTTPError):
            return httpx.get(url, timeout=5, trust_env=False).is_success
        return False

    return ready


def free_port() -> int:
    """An unused port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Server:
    """A process that can be killed and restarted."""

    name: str
    command: list[str]
    ready: Callable[[], bool]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Start it; returns the seconds until it answered. Raises :class:`InfrastructureError` when it does not."""
        self.begin()
        return self.wait()

    def begin(self) -> None:
        """Start it without waiting."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, user=self.user,
                start_new_session=True, env={**os.environ, **self.environment},
            )  # fmt: skip

    def wait(self) -> float:
        """Wait until it answers; returns the seconds. Raises :class:`InfrastructureError` when it does not."""
        started = time.monotonic()
        while not self.ready():
            if self.process is None or self.process.poll() is not None or time.monotonic() - started > SECONDS:
                last = self.log.read_text(encoding="utf-8", errors="replace").strip()[-3000:]
                raise InfrastructureError(f"{self.name} did not start: {last}")
            time.sleep(0.2)
        return time.monotonic() - started

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it and its children; SIGKILL imitates a crash."""
        if self.process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, how)
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process = None
