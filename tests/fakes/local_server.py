"""A quiet HTTP server on this machine, served by a thread while it is open."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class Handler(BaseHTTPRequestHandler):
    """Reads and sends JSON; logs nothing."""

    def asked(self) -> Any:
        """The JSON of the request; an empty object without one."""
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")

    def send(self, status: int, body: Any, headers: Mapping[str, str] | None = None, missing: int = 0) -> None:
        """Send bytes, or a text or what becomes JSON; ``missing`` more bytes are promised than come."""
        data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        usual = {"Content-Type": "application/json", "Content-Length": str(len(data) + missing)}
        for name, value in {**usual, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def by(reply: Callable[[Handler, Any], tuple[Any, ...]]) -> type[Handler]:
    """Answers every request with what ``reply`` makes of it and its JSON: status, body and perhaps headers."""

    class Replying(Handler):
        def do_POST(self) -> None:
            self.send(*reply(self, self.asked()))

        do_GET = do_POST

    return Replying


class QuietServer(ThreadingHTTPServer):
    """A threaded HTTP server that logs no errors."""

    request_queue_size = 256
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Ignore clients that gave up or were killed."""


class LocalServer:
    """Serves the answers of ``handler`` at ``address``, where ``url`` is that of OpenAI's API. A context manager."""

    def __init__(self, handler: Callable[..., BaseHTTPRequestHandler]) -> None:
        self._server = QuietServer(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self.url = f"{self.address}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
