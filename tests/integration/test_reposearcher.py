"""RepoSearcher over real files: what its six tools return, and how its episodes end, with scripted and with served models."""

import asyncio

import pytest

from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_calls
from fusesearch.core.config import Agent, Tools
from fusesearch.core.schema import Instance, Truth
from fusesearch.localizers.base import Setup
from fusesearch.localizers.reposearcher import RepoSearcherLocalizer
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


def instance(issue="`measure` is wrong"):
    return Instance(
        instance_id="i", repo="o/r", base_commit="c", problem_statement=issue, truth=Truth(files=["pkg/core.py"], functions=[])
    )


def test_the_structure_shows_source_files_without_tests_and_its_entities_are_what_it_shows(root):
    result = call(root, "GetRepoStructure")
    assert result.entities == ["pkg/core.py", "pkg/maths.py"]
    assert "core.py" in result.output
    assert "test_core" not in result.output


def test_imports_are_whole_statements_wherever_they_stand(root):
    result = call(root, "GetImportOfFile", file="/repo/pkg/core.py")
    assert result.entities == [f"pkg/core.py:{line}" for line in (3, 4, 5, 6, 7, 21)]
    assert "    double," in result.output
    assert call(root, "GetImportOfFile", file="web/a.js").entities == ["web/a.js:1"]
    assert "imports nothing" in call(root, "GetImportOfFile", file="pkg/maths.py").output


def test_definitions_are_shown_whole_with_decorators(root):
    found = call(root, "SearchFunction", file="pkg/core.py", function="measure")
    assert found.entities == ["pkg/core.py:10", "pkg/core.py:11"]
    both = call(root, "SearchClassMethod", file="/repo/pkg/core.py", **{"class": "Shape", "method": "area"})
    assert both.entities == [f"pkg/core.py:{line}" for line in (19, 20, 21, 22, 24, 25, 26)]
    nested = call(root, "SearchClassMethod", file="/repo/pkg/core.py", **{"class": "Shape.Side", "method": "length"})
    assert nested.entities == ["pkg/core.py:16", "pkg/core.py:17"]
    assert len(call(root, "SearchClass", file="/repo/pkg/core.py", **{"class": "Shape"}).entities) == 13


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
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
    ],
)
def test_an_invalid_call_gets_the_reason_and_the_right_form(root, name, arguments, told):
    result = call(root, name, **arguments)
    assert told in result.error
    assert result.entities == []
    assert "\n" not in result.output


def test_a_long_result_is_cut_with_a_notice_and_its_entities_are_what_is_shown(root):
    (root / "long.py").write_text("def long():\n" + "    x = 'some words'\n" * 400)
    result = call(root, "SearchFunction", chars=900, file="long.py", function="long")
    assert len(result.output) <= 900
    assert "more lines are not shown" in result.output
    assert len(result.entities) == len(result.output.split("\n")) - 2


def localize(root, replies, **agent):
    model = ScriptedModel(replies)
    return asyncio.run(RepoSearcherLocalizer(Setup(model, Agent(**agent))).localize(instance(), Repository(root)))


def text_of(name, **arguments):
    return format_calls([(name, arguments)])


def test_an_episode_searches_exits_and_answers_in_rank_order(root):
    trajectory = localize(root, [text_of("GetRepoStructure"), text_of("Exit"), ANSWER])
    assert trajectory.stop == "answer"
    assert trajectory.answer.functions == ["pkg/core.py::measure", "pkg/maths.py::clamp"]
    assert [turn.prompt != "" for turn in trajectory.turns] == [False, False, True]
    assert trajectory.turns[0].observations[0].gain_turn == 1
    assert trajectory.mode == "sequential"


def test_only_the_first_call_of_a_message_is_run(root):
    both = format_calls([("GetRepoStructure", {}), ("GetRepoStructure", {})])
    trajectory = localize(root, [both, text_of("Exit"), ANSWER])
    assert [seen.error is None for seen in trajectory.turns[0].observations] == [True, False]


def test_a_message_without_a_call_is_reminded_and_then_the_answer_asked_for(root):
    trajectory = localize(root, ["hm", "hm", ANSWER])
    assert "no call" in trajectory.turns[1].prompt
    assert "Locations to Modify" in trajectory.turns[2].prompt
    assert trajectory.stop == "answer"


def test_a_model_that_never_stops_calling_ends_within_its_turns(root):
    trajectory = localize(root, [text_of("GetRepoStructure")] * 6, max_turns=6)
    assert (trajectory.stop, len(trajectory.turns), trajectory.error) == ("max_turns", 6, None)
    assert [turn.observations[0].error is None for turn in trajectory.turns] == [True] * 4 + [False] * 2


def test_a_small_context_asks_for_the_answer_early_and_leaves_old_turns_out(root):
    (root / "long.py").write_text("def long():\n" + "    x = 'some words'\n" * 2000)
    calls = [text_of("SearchFunction", file="long.py", function="long")] * 8
    trajectory = localize(root, [*calls[:3], ANSWER, ANSWER, ANSWER], max_context_tokens=4000, max_new_tokens=256)
    assert trajectory.stop == "answer"
    assert all(len(seen.output) <= 12_000 for turn in trajectory.turns for seen in turn.observations)
