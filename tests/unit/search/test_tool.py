import pytest

from fusesearch.core.errors import ToolError
from fusesearch.search.glob import Glob
from fusesearch.search.grep import Grep
from fusesearch.search.read_file import ReadFile
from fusesearch.search.results import cut
from fusesearch.search.tools import parse_call


def test_numbers_as_text_and_nulls_are_understood():
    assert parse_call("read_file", {"path": "a.py", "start_line": " 3", "end_line": 5.0}) == ReadFile("a.py", 3, 5)
    assert parse_call("grep", {"pattern": "x", "path": None, "glob": None}) == Grep("x")
    assert parse_call("glob", {"pattern": "*.py"}) == Glob("*.py")


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("bash", {"command": "ls"}, "there is no tool bash; the tools are grep, glob, read_file"),
        ("grep", {}, "grep: pattern is missing; use grep(pattern, path?, glob?, output_mode?, context?)"),
        ("grep", {"pattern": None}, "grep: pattern is missing"),
        ("grep", {"pattern": ""}, "grep: pattern is empty"),
        ("grep", {"query": "x"}, "grep: unknown argument query; use grep(pattern,"),
        ("grep", {"pattern": 3}, "grep: pattern must be a string, not 3"),
        ("grep", {"pattern": "x", "output_mode": "lines"}, "must be one of files_with_matches, content, count, not lines"),
        ("grep", {"pattern": "a\nb"}, "grep: pattern must be one line"),
        ("grep", {"pattern": "a\0b"}, "grep: pattern must be one line"),
        ("grep", {"pattern": "\ud800"}, "not valid Unicode"),
        ("grep", {"pattern": "x" * 4000}, "grep: pattern has 4000 characters"),
        ("grep", ["x"], "grep: arguments must be a JSON object"),
        ("read_file", {"path": "a.py", "start_line": "three"}, "read_file: start_line must be an integer, not 'three'"),
        ("read_file", {"path": "a.py", "start_line": True}, "read_file: start_line must be an integer"),
        ("read_file", {"path": "a.py", "start_line": 1.5}, "read_file: start_line must be an integer"),
        ("read_file", {"path": ["a.py"]}, "read_file: path must be a string"),
    ],
)
def test_a_wrong_call_says_what_would_be_right(name, arguments, words):
    with pytest.raises(ToolError) as caught:
        parse_call(name, arguments)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_lines_lose_control_characters_and_are_cut_with_a_mark():
    assert cut("\tif x:\x1b[31m\x00 \r", 40) == "\tif x:\ufffd[31m\ufffd"
    assert cut("a" * 30, 20) == "a" * 19 + "…"
    assert cut("a" * 20 + " " * 100, 20) == "a" * 20
