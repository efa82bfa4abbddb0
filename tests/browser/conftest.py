"""The dashboard as ``make dashboard`` serves it, over a small project, and the Chromium that is installed.

``CHROMIUM`` names the browser, else the first of the usual names on the path is taken. ``SCREENSHOTS`` is a folder for a picture
of every page; ``DASHBOARD_ROOT`` another project to look at.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import sync_playwright

from tests.fakes.dashboard_project import write_project

ROOT = Path(__file__).parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE = 180


@pytest.fixture(scope="session")
def dashboard(tmp_path_factory):
    """Address of the app."""
    given = os.environ.get("DASHBOARD_ROOT")
    root = Path(given) if given else write_project(tmp_path_factory.mktemp("project"))
    port = free_port()
    log = (tmp_path_factory.mktemp("log") / "server.log").open("w+")
    server = subprocess.Popen(
        [sys.executable, "-m", "dashboards", "--port", str(port)],
        cwd=root, env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"}, stdout=log, stderr=log,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until_up(address, server)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=30)
        log.close()


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_until_up(address, server):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert server.poll() is None, "the app ended"
        try:
            if httpx.get(f"{address}/_stcore/health", timeout=5).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.5)
    raise AssertionError("the app did not come up")


@pytest.fixture(scope="session")
def chromium():
    path = os.environ.get("CHROMIUM") or next((found for name in BROWSERS if (found := shutil.which(name))), None)
    assert path, "no Chromium is installed: install it, or name it in CHROMIUM"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-quic"])
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    """A page on a laptop's screen."""
    context = chromium.new_context(viewport={"width": 1366, "height": 768})
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    yield page
    context.close()
