"""Pages over HTTP: read only, without scripts, and nothing that a page shows can load anything.

A page is text of a project and of models. Its policy allows its own styles and pictures and frames of this server, no more.
"""

from __future__ import annotations

from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from dashboards import pages
from fusesearch.core.errors import FusesearchError

HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-src 'self'; frame-ancestors 'self'; "
        "form-action 'self'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
LOCAL = ("127.0.0.1", "localhost", "::1")


def handler(root: Path, address: str) -> type[BaseHTTPRequestHandler]:
    """The pages of the project in ``root``. At a local ``address`` they answer only to local names.

    So a page of another site whose name leads here (DNS rebinding) reads nothing.
    """

    class Pages(BaseHTTPRequestHandler):
        server_version, sys_version = "fusesearch", ""

        def do_GET(self) -> None:
            host = urlsplit(f"//{self.headers.get('Host', '')}").hostname
            if address in LOCAL and host not in LOCAL:
                self._answer(HTTPStatus.FORBIDDEN, "This server answers only to its local name.")
                return
            where = urlsplit(self.path)
            query = {name: values[-1] for name, values in parse_qs(where.query).items()}
            try:
                page = pages.find(root, unquote(where.path), query)
            except FusesearchError as error:
                page = pages.notice(str(error))
            if page is None:
                self._answer(HTTPStatus.NOT_FOUND, pages.notice("There is no such page."))
            else:
                self._answer(HTTPStatus.OK, page)

        def _answer(self, status: HTTPStatus, page: str) -> None:
            content = page.encode("utf-8", "replace")
            self.send_response(status)
            for name, value in {**HEADERS, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *_: Any) -> None:
            """Nothing: requests are the user's own."""

    return Pages
