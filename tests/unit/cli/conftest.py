"""A small repository under git, and commands run in it."""

import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

SOURCES = {
    "pkg/__init__.py": "",
    "pkg/shapes.py": (
        "class Square:\n    def area(self, side):\n        return side * side\n\n\ndef perimeter(side):\n    return 3 * side\n"
    ),
    "README.md": "A package of shapes.\n",
}

PATCH = """\
diff --git a/pkg/shapes.py b/pkg/shapes.py
--- a/pkg/shapes.py
+++ b/pkg/shapes.py
@@ -4,4 +4,8 @@
{blank}
{blank}
 def perimeter(side):
-    return 3 * side
+    return 4 * side
+
+
+def diagonal(side):
+    return side * 2**0.5
""".replace("{blank}", " ")


@pytest.fixture
def run():
    """Run the command line; gives exit code, stdout and stderr."""
    from tasks.cli import app

    runner = CliRunner()

    def invoke(*arguments: object, stdin: str | bytes | None = None):
        return runner.invoke(app, [str(argument) for argument in arguments], input=stdin)

    return invoke


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "a repo"
    for name, text in SOURCES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "shapes")
    return folder


@pytest.fixture
def head(repo: Path) -> str:
    return git(repo, "rev-parse", "HEAD")


@pytest.fixture
def bare(repo: Path, tmp_path: Path) -> Path:
    git(tmp_path, "clone", "-q", "--bare", str(repo), "shapes.git")
    return tmp_path / "shapes.git"


@pytest.fixture
def patch(tmp_path: Path) -> Path:
    path = tmp_path / "fix.diff"
    path.write_text(PATCH)
    return path


@pytest.fixture
def issue(tmp_path: Path) -> Path:
    path = tmp_path / "issue.md"
    path.write_text("perimeter(2) of a square gives 6\n\n    >>> perimeter(2)\n    6\n\nI expected 8.\n")
    return path
