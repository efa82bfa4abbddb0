"""A quiet HTTP server on this machine, served by a thread while it is open."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class QuietServer(ThreadingHTTPServer):
    """A threaded HTTP server that logs no errors."""

    request_queue_size = 256
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Ignore clients that gave up or were killed."""


class LocalServer:
    """Serves the answers of ``handler`` at ``url``. A context manager."""

    def __init__(self, handler: Callable[..., BaseHTTPRequestHandler]) -> None:
        self._server = QuietServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
