"""RepoSearcher over real files: its six tools, and how its episodes end."""

import asyncio
from itertools import pairwise

import pytest

from fusesearch.agents.models.base import Message
from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_calls
from fusesearch.core.config import Agent, Tools
from fusesearch.core.schema import Instance, Truth
from fusesearch.localizers.base import Setup
from fusesearch.localizers.fusesearch import RepoSearcherLocalizer
from fusesearch.localizers.reposearcher.tools import SearchTools
from fusesearch.search.repository import Repository
from tests.fakes.git import write

CORE = '''\
"""Shapes."""

import math
from pkg.maths import (
    clamp,
    double,
)


def measure(shape):
    return clamp(shape.area)


class Shape:
    class Side:
        def length(self):
            return 1

    @property
    def area(self):
        import os
        return self._area

    @area.setter
    def area(self, value):
        self._area = value
'''
FILES = {"pkg/core.py": CORE, "pkg/maths.py": "def clamp(x):\n    return x\n", "web/a.js": "import x from 'y'\nfunction f() {}\n",
         "tests/test_core.py": "def test(): pass\n", "notes.txt": "hello\n"}  # fmt: skip
ANSWER = "## Locations to Modify\n- /repo/pkg/core.py::measure\n- /repo/pkg/maths.py::clamp\n"


@pytest.fixture
def root(tmp_path):
    return write(tmp_path / "tree", FILES)


def call(root, name, chars=30_000, **arguments):
    return asyncio.run(SearchTools(Repository(root), Tools(output_chars=chars)).call(name, arguments))


def instance():
    truth = Truth(files=["pkg/core.py"], functions=[])
    return Instance(instance_id="i", repo="o/r", base_commit="c", problem_statement="`measure` is wrong", truth=truth)


def test_the_tools_show_structure_imports_and_definitions_whole_and_their_entities_are_what_they_show(root):
    structure = call(root, "GetRepoStructure")  # source files without tests
    assert (structure.entities, "core.py" in structure.output) == (["pkg/core.py", "pkg/maths.py"], True)
    assert "test_core" not in structure.output
    core = {"file": "/repo/pkg/core.py"}
    imports = call(root, "GetImportOfFile", **core)
    assert "    double," in imports.output
    assert "imports nothing" in call(root, "GetImportOfFile", file="pkg/maths.py").output
    assert call(root, "GetImportOfFile", file="web/a.js").entities == ["web/a.js:1"]
    for shown, lines in (
        (imports, [3, 4, 5, 6, 7, 21]),
        (call(root, "SearchFunction", file="pkg/core.py", function="measure"), [10, 11]),
        (call(root, "SearchClassMethod", **core, **{"class": "Shape", "method": "area"}), [19, 20, 21, 22, 24, 25, 26]),
        (call(root, "SearchClassMethod", **core, **{"class": "Shape.Side", "method": "length"}), [16, 17]),
        (call(root, "SearchClass", **core, **{"class": "Shape"}), range(14, 27)),
    ):
        assert shown.entities == [f"pkg/core.py:{line}" for line in lines]


def test_an_invalid_call_gets_the_reason_and_the_right_form(root):
    for name, arguments, told in (
        ("SearchFunction", {"file": "pkg/core.py", "function": "area"}, "it has Shape.area"),
        ("SearchFunction", {"file": "pkg/core.py", "function": "mesure"}, "it has measure"),
        ("SearchFunction", {"file": "pkg/cor.py", "function": "measure"}, "/repo/pkg/core.py"),
        ("SearchFunction", {"file": "pkg/core.py"}, "SearchFunction(file, function)"),
        ("SearchFunction", {"file": "pkg/core.py", "function": 3}, "SearchFunction(file, function)"),
        ("SearchFunction", {"path": "pkg/core.py"}, "no argument 'path'"),
        ("SearchClass", {"file": "/etc/passwd", "class": "A"}, "outside"),
        ("SearchClass", {"file": "../../etc/passwd", "class": "A"}, "outside"),
        ("SearchClass", {"file": "notes.txt", "class": "A"}, "no class"),
        ("bash", {"command": "ls"}, "there is no tool"),
    ):
        result = call(root, name, **arguments)
        assert told in result.error
        assert (result.entities, "\n" in result.output) == ([], False)


def test_a_long_result_is_cut_with_a_notice_and_its_entities_are_what_is_shown(root):
    (root / "long.py").write_text("def long():\n" + "    x = 'some words'\n" * 400)
    result = call(root, "SearchFunction", chars=900, file="long.py", function="long")
    assert len(result.output) <= 900
    assert "more lines are not shown" in result.output
    assert len(result.entities) == len(result.output.split("\n")) - 2


def localize(root, replies, **agent):
    return asyncio.run(
        RepoSearcherLocalizer(Setup(ScriptedModel(replies), Agent(**agent))).localize(instance(), Repository(root))
    )


def text_of(name, **arguments):
    return format_calls([(name, arguments)])


def test_exit_asks_for_the_answer_in_its_result_and_every_request_begins_with_the_one_before(root):
    seen = []
    replies = iter([text_of("SearchFunction", file="/repo/pkg/maths.py", function="clamp"), text_of("Exit"), ANSWER])

    def script(messages: list[Message]) -> str:
        seen.append(messages)
        return next(replies)

    trajectory = localize(root, script, max_turns=8)
    assert trajectory.stop == "answer"
    assert trajectory.answer.functions == ["pkg/core.py::measure", "pkg/maths.py::clamp"]
    assert trajectory.mode == "sequential"
    assert "Locations to Modify" in trajectory.turns[1].observations[0].output
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(seen))
