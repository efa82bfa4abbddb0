"""``python -m dashboards``: the app."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

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
    """Become the Streamlit server of the app; it reads the project in the current folder."""
    parser = argparse.ArgumentParser(
        prog="python -m dashboards", description="Serve the dashboard of the project in the current folder."
    )
    parser.add_argument(
        "--address", default="127.0.0.1", help="where to listen; there is no password, so think before opening it"
    )
    parser.add_argument("--port", type=int, default=8501, help="default 8501")
    asked = parser.parse_args(arguments)
    options = {**SETTINGS, "server.address": asked.address, "server.port": str(asked.port)}
    flags = [f"--{name}={value}" for name, value in options.items()]
    app = str(Path(__file__).with_name("app.py"))
    print(f"Dashboard: http://{asked.address}:{asked.port} (Ctrl-C ends it)", flush=True)
    os.execv(sys.executable, [sys.executable, "-m", "streamlit", "run", app, *flags])  # noqa: S606


if __name__ == "__main__":
    main()
