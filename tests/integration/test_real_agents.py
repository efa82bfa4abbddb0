"""What `install` has them write, told by the agents themselves: Claude Code, Codex CLI and Gemini CLI, as npm installs them."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.rare,
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("npm") is None, reason="npm installs the agents"),
]
PACKAGES = {"claude": "@anthropic-ai/claude-code", "codex": "@openai/codex", "gemini": "@google/gemini-cli"}
WORKS = {"claude": "Connected", "codex": "enabled", "gemini": "Connected"}


@pytest.fixture(scope="module")
def agents(tmp_path_factory):
    """The folder of the agents' commands."""
    folder = tmp_path_factory.mktemp("npm")
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *PACKAGES.values()]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the registry of npm does not serve them: {done.stderr[-300:]}")
    return folder / "node_modules/.bin"


@pytest.mark.parametrize("agent", PACKAGES)
def test_an_agent_lists_the_server_and_after_undo_no_more(agents, agent, tmp_path):
    project, trusted = tmp_path / "project", tmp_path / "home/.gemini/trustedFolders.json"
    project.mkdir()
    trusted.parent.mkdir(parents=True)
    trusted.write_text(json.dumps({str(project): "TRUST_FOLDER"}))

    def run(*command):
        path = f"{Path(sys.executable).parent}:{agents}:{Path(shutil.which('node')).parent}:/usr/bin:/bin"
        environment = {"HOME": str(tmp_path / "home"), "PATH": path}
        done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    run("fusesearch", "install", "--agent", agent, "--yes")
    for _ in range(5):  # a server may take a second of processor time to start, and Gemini CLI waits 5 s
        (line,) = [line for line in run(agent, "mcp", "list").splitlines() if "mcp --root ." in line]
        if WORKS[agent] in line:
            break
    assert "fusesearch" in line
    assert WORKS[agent] in line
    run("fusesearch", "install", "--undo", "--agent", agent, "--yes")
    assert "mcp --root ." not in run(agent, "mcp", "list")
