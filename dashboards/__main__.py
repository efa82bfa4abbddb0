"""``python -m dashboards``: the app, or with ``export`` the same pages as static HTML."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from fusesearch.core.errors import FusesearchError

SETTINGS = {
    "server.headless": "true",  # no question about an e-mail address, no browser of its own
    "server.fileWatcherType": "none",
    "browser.gatherUsageStats": "false",
    "runner.magicEnabled": "false",  # strings of app.py are not part of a page
    "client.toolbarMode": "viewer",
    "client.showErrorDetails": "type",
    "theme.base": "light",  # the colours of the charts are made for a light ground
    "theme.primaryColor": "#0072B2",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and serve or export."""
    parser = argparse.ArgumentParser(
        prog="python -m dashboards", description="Serve the dashboard of the project in the current folder."
    )
    parser.add_argument(
        "--address", default="127.0.0.1", help="where to listen; there is no password, so think before opening it"
    )
    parser.add_argument("--port", type=int, default=8501, help="default 8501")
    commands = parser.add_subparsers(dest="command")
    to_files = commands.add_parser("export", help="write all pages as HTML files that need no server and run no script")
    to_files.add_argument(
        "out", type=Path, nargs="?", default=Path("artifacts/dashboard"), help="folder, default artifacts/dashboard"
    )
    to_files.add_argument("--episodes", type=int, default=20, help="instances whose episodes are written out, default 20")
    asked = parser.parse_args(arguments)
    if asked.command is None:
        serve(asked.address, asked.port)
    if asked.episodes < 0:
        parser.error(f"--episodes {asked.episodes} is below zero")
    from dashboards.export import export

    try:
        print(export(Path(), asked.out, asked.episodes))
    except (FusesearchError, OSError) as error:
        sys.exit(f"error: {error}")


def serve(address: str, port: int) -> None:
    """Become the Streamlit server of the app; it reads the project in the current folder."""
    options = {**SETTINGS, "server.address": address, "server.port": str(port)}
    flags = [f"--{name}={value}" for name, value in options.items()]
    app = str(Path(__file__).with_name("app.py"))
    print(f"Dashboard: http://{address}:{port} (Ctrl-C ends it)", flush=True)
    os.execv(sys.executable, [sys.executable, "-m", "streamlit", "run", app, *flags])  # noqa: S606


if __name__ == "__main__":
    main()
