"""The lexical localizer and FuseSearch over real files with the real tools, in the real loop."""

import shutil
from dataclasses import replace

import pytest

from fusesearch.core.config import Agent, Tools
from fusesearch.core.schema import Instance
from fusesearch.localizers.base import Setup
from fusesearch.localizers.fusesearch import FuseSearchLocalizer
from fusesearch.localizers.lexical.compact import plan_for
from fusesearch.localizers.lexical.localizer import LexicalLocalizer, LexicalModel
from fusesearch.search.repository import Repository
from tests.fakes.git import write

TIGHT = Tools(read_lines=24, grep_lines=8, glob_paths=8, line_chars=100, output_chars=900)
NANO = Agent(prompt="nano", max_turns=6, issue_chars=900)

CORE = '''\
"""Shapes."""

from pkg.maths import clamp


class Shape:
    def area(self, scale):
        """Area of the shape.

        >>> Shape([2, 3]).area(1)
        6
        """
        return self.product() * scale

    def product(self):
        return 1


class Circle(Shape):
    def product(self):
        raise KeyError("radius")


def measure(shape, limit=9):
    """Measure.

    >>> measure(Shape([2, 3]))
    6
    """
    return clamp(shape.area(1), limit)
'''
MATHS = "def clamp(value, limit):\n    return min(value, limit)\n\n\ndef unrelated(value):\n    return value\n"


@pytest.fixture
def repository(tmp_path):
    files = {"pkg/core.py": CORE, "pkg/maths.py": MATHS, "tests/test_core.py": "def measure(x):\n    pass\n"}
    return Repository(write(tmp_path / "repo", files))


def instance(issue):
    return Instance(instance_id="i", repo="o/r", base_commit="c", problem_statement=issue)


async def localize(repository, issue, tools=TIGHT, agent=NANO, calls=4):
    setup = Setup(None, agent.model_copy(update={"max_calls_per_turn": calls}), tools)
    trajectory = await LexicalLocalizer(setup).localize(instance(issue), repository)
    assert (trajectory.stop, trajectory.error) == ("answer", None)
    return trajectory


FRAMES = """KeyError from `measure`

>>> from pkg.core import Circle, measure
>>> measure(Circle([1]))
Traceback (most recent call last):
  File "pkg/core.py", line 30, in measure
    return clamp(shape.area(1), limit)
  File "pkg/core.py", line 21, in product
    raise KeyError("radius")
KeyError: 'radius'
"""
AREA = "`area` is wrong\n\n>>> from pkg.core import Shape\n>>> Shape([2, 3]).area(1)\n1\nExpected 6\n"
MEASURE = "`measure` is wrong\n\n>>> from pkg.core import Shape, measure\n>>> measure(Shape([2, 3]))\n1\nExpected 6\n"
PROSE = "Clamping ignores the limit\n\nThe `clamp` helper lets any value pass."


async def test_the_innermost_frame_with_its_class_the_called_function_or_what_prose_names_is_answered(repository):
    frames = await localize(repository, FRAMES)
    assert (frames.answer.functions, len(frames.turns)) == (["pkg/core.py::Circle.product"], 3)
    assert (await localize(repository, AREA)).answer.functions[0] == "pkg/core.py::Shape.area"
    assert (await localize(repository, PROSE, Tools(), Agent())).answer.functions == ["pkg/maths.py::clamp"]


async def test_a_thin_wrapper_is_read_and_its_callee_looked_up(repository):
    trajectory = await localize(repository, MEASURE)
    patterns = [call.arguments.get("pattern") for turn in trajectory.turns for call in turn.calls]
    assert r"(def|class) clamp\b" in patterns
    assert trajectory.answer.functions[0] == "pkg/core.py::measure"
    for functions in (1, 2, 3):  # a plan that answers more names what the best calls next
        model = LexicalModel(4, replace(plan_for(NANO), functions=functions))
        more = await FuseSearchLocalizer(Setup(model, NANO, TIGHT)).localize(instance(MEASURE), repository)
        assert more.answer.functions[0] == "pkg/core.py::measure"
        assert len(more.answer.functions) == max(functions, 2)  # `measure` merely wraps one
        assert set(more.answer.functions[1:]) <= {"pkg/core.py::Shape.area", "pkg/maths.py::clamp"}


async def test_a_snapshot_that_vanishes_never_crashes_the_localizer(repository):
    shutil.rmtree(repository.root)
    trajectory = await LexicalLocalizer(Setup(None, NANO, TIGHT)).localize(instance(MEASURE), repository)
    assert trajectory.answer is None
