"""The folders, the issue and the script that the tests of the MCP server share."""

from fusesearch.agents.parsing import format_answer, format_calls
from fusesearch.core.schema import Answer, Location

CANARY = "canary-outside-of-every-root"
SHAPES = "class Square:\n    def area(self, side):\n        return side * side\n\n\ndef perimeter(side):\n    return 3 * side\n"
ISSUE = "perimeter(2) of a square gives 6\n\n    >>> perimeter(2)\n    6\n\nI expected 8.\n"
SCRIPT = [
    format_calls([("grep", {"pattern": "perimeter"}), ("read_file", {"path": "/repo/shapes.py"})]),
    format_answer(Answer(modify=[Location(path="shapes.py", function="perimeter")], related=[Location(path="README.md")])),
]
FOUND = {"path": "shapes.py", "function": "perimeter", "lines": [6, 7]}


def plant(base):
    """Two folders called `code` in one that holds what must never be seen."""
    (base / "secret.txt").write_text(CANARY)
    for folder in (base / "code", base / "more/code"):
        folder.mkdir(parents=True)
        (folder / "shapes.py").write_text(SHAPES)
        (folder / "README.md").write_text("Shapes.\n")
        (folder / "link.txt").symlink_to(base / "secret.txt")
        (folder / "up").symlink_to(base)
    return base


def text(result):
    (content,) = result.content
    return content.text
