"""An installed copy of fusesearch as a user runs it, one without modules, and a folder whose files have the names of modules."""

import asyncio
import json
import os
import subprocess
from pathlib import Path

from mcp import Client, StdioServerParameters

from tests.fakes.git import write

ISSUE = "perimeter(3) returns 9 but should be 12"
SHAPES = {
    "shapes.py": "def perimeter(side):\n    return 3 * side\n",
    "web/shapes.js": "function perimeter(side) {\n  return 4 * side;\n}\n",
}
NAMES = (
    "tasks", "flows", "fusesearch", "core", "cli", "typing_extensions", "typer", "pydantic", "mcp", "rich", "yaml", "packaging",
    "tree_sitter", "json", "signal", "sitecustomize", "usercustomize",
)  # fmt: skip
API = "from fusesearch import localize; print(localize('.', {issue!r}).modify[0].function)"
BLOCKED = """
import importlib.metadata, sys
MODULES = {modules!r}

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MODULES:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
version = importlib.metadata.version
def absent(name):
    if name in MODULES:
        raise importlib.metadata.PackageNotFoundError(name)
    return version(name)
importlib.metadata.version = absent
from fusesearch.cli import main
commands = [sys.argv[1:]] if sys.argv[1] != "each" else [[name, "--help"] for name in sys.argv[2:]]
for command in commands:
    sys.argv[1:] = command
    try:
        main()
    except SystemExit as ended:
        if ended.code or len(commands) == 1:
            raise
"""
"""A program that runs a command, or ``each`` command's help, without the modules that it is formatted with."""


class Copy:
    """The copy that belongs to an interpreter. ``path`` is its PYTHONPATH."""

    def __init__(self, python: Path, path: str = "") -> None:
        self.python = str(python)
        self.command = [str(python.with_name("fusesearch"))]
        self.module = [self.python, "-P", "-m", "fusesearch"]
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        self.environment = (
            kept | {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"} | ({"PYTHONPATH": path} if path else {})
        )

    def run(self, command: list[str], folder: Path, text: str = "") -> subprocess.CompletedProcess[str]:
        """The command's end, in the folder."""
        return subprocess.run(
            command, input=text, cwd=folder, env=self.environment, capture_output=True, text=True, check=False, timeout=300
        )


def hostile(folder: Path) -> Path:
    """Plant a repository whose root has a file for each of :data:`NAMES`; returns the file that they write when they run."""
    ran = folder.parent / f"{folder.name}-ran"
    planted = {f"{name}.py": f"open({str(ran)!r}, 'a').write('{name}\\n')\nraise SystemExit(9)\n" for name in NAMES}
    write(folder, SHAPES | planted)
    return ran


def found_by_command(copy: Copy, command: list[str], folder: Path) -> str:
    """The first function that ``localize --repo .`` names."""
    done = copy.run([*command, "localize", "--repo", ".", "--issue", "-", "--format", "json"], folder, ISSUE)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["places"][0]["functions"][0]["function"]


def found_by_api(copy: Copy, folder: Path) -> str:
    """The first function that :func:`fusesearch.localize` names."""
    done = copy.run([copy.python, "-P", "-c", API.format(issue=ISSUE)], folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def found_by_mcp(copy: Copy, command: list[str], folder: Path) -> str:
    """The first function that the MCP server's ``localize`` names to a client over stdio."""

    async def ask() -> str:
        program, *words = [*command, "mcp", "--root", "."]
        server = StdioServerParameters(command=program, args=words, env=copy.environment, cwd=folder)
        async with Client(server) as client:
            assert "localize" in {tool.name for tool in (await client.list_tools()).tools}
            answer = await client.call_tool("localize", {"issue": ISSUE})
            return next((one["function"] for place in answer.structured_content["places"] for one in place["functions"]), "")

    return asyncio.run(ask())
