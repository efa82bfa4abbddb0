"""``python -m dashboards``: the server of the pages."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from dashboards.app import handler
from dashboards.pages import find
from fusesearch.core.errors import FusesearchError


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve the pages of the project in the current folder until Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="python -m dashboards", description="Serve the dashboard of the project in the current folder."
    )
    parser.add_argument(
        "--address", default="127.0.0.1", help="where to listen; there is no password, so think before opening it"
    )
    parser.add_argument("--port", type=int, default=8501, help="default 8501")
    asked = parser.parse_args(arguments)
    with ThreadingHTTPServer((asked.address, asked.port), handler(Path(), asked.address)) as server:
        print(f"Dashboard: http://{asked.address}:{server.server_port} (Ctrl-C ends it)", flush=True)
        Thread(target=_warm, daemon=True).start()
        with suppress(KeyboardInterrupt):
            server.serve_forever()


def _warm() -> None:
    """Draw the charts before somebody asks for them: the first takes seconds."""
    with suppress(FusesearchError):
        find(Path(), "/experiments", {})


if __name__ == "__main__":
    main()
