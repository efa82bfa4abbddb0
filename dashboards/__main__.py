"""``python -m dashboards``: the app, or with ``export`` the same pages as static HTML."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tasks.core.errors import FusesearchError

APP = Path(__file__).with_name("app.py")
SETTINGS = {
    "server.headless": "true",  # no question about an e-mail address, no browser of its own
    "server.fileWatcherType": "none",
    "browser.gatherUsageStats": "false",
    "client.toolbarMode": "viewer",
    "client.showErrorDetails": "type",
    "theme.base": "light",  # the colours of the charts are made for a light ground
    "theme.primaryColor": "#0072B2",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and serve or export."""
    asked = _parser().parse_args(arguments)
    try:
        if asked.command == "export":
            from dashboards.export import export

            print(export(Path(), asked.out, asked.episodes))
        else:
            serve(asked.address, asked.port)
    except (FusesearchError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


def serve(address: str, port: int) -> None:
    """Become the Streamlit server of the app; it reads the project in the current folder."""
    options = {**SETTINGS, "server.address": address, "server.port": str(port)}
    flags = [f"--{name}={value}" for name, value in options.items()]
    print(f"Dashboard: http://{address}:{port} (Ctrl-C ends it)", flush=True)
    os.execv(sys.executable, [sys.executable, "-m", "streamlit", "run", str(APP), *flags])  # noqa: S606


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m dashboards", description="Serve the dashboard of the project in the current folder."
    )
    parser.add_argument(
        "--address", default="127.0.0.1", help="where to listen; there is no password, so think before opening it"
    )
    parser.add_argument("--port", type=int, default=8501, help="default 8501")
    parser.set_defaults(command="serve")
    commands = parser.add_subparsers()
    export = commands.add_parser("export", help="write all pages as HTML files that need no server and run no script")
    export.add_argument(
        "out", type=Path, nargs="?", default=Path("artifacts/dashboard"), help="folder, default artifacts/dashboard"
    )
    export.add_argument("--episodes", type=count, default=20, help="instances whose episodes are written out, default 20")
    export.set_defaults(command="export")
    return parser


def count(text: str) -> int:
    """A number of things, not below zero, for argparse."""
    if (number := int(text)) < 0:
        raise argparse.ArgumentTypeError(f"{number} is below zero")
    return number


if __name__ == "__main__":
    main()
