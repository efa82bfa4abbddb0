"""A small repository under git, and commands run in it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.fakes.git import committed, git

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
    from tests.fakes.commands import app

    runner = CliRunner()

    def invoke(*arguments: object, stdin: str | bytes | None = None):
        return runner.invoke(app, [str(argument) for argument in arguments], input=stdin)

    return invoke


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "a repo"
    committed(folder, SOURCES)
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
