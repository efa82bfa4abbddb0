"""RepoSearcher's tools in the one loop: how episodes of a student end, and what the scripted teacher does with them."""

import asyncio
import random
from itertools import pairwise

import pytest

from fusesearch.agents.loop import run_episode
from fusesearch.agents.models.base import Message, Sampling
from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_calls, parse_turn
from fusesearch.core.config import Agent, Tools
from fusesearch.core.schema import Instance, Truth
from fusesearch.evaluation.environments import environment_named
from fusesearch.localizers.episodes import make_episode
from fusesearch.localizers.reposearcher.lexical import RepoSearcherTeacher
from fusesearch.search.repository import Repository
from fusesearch.training.nano.renaming import Exchange, Names, kept_words
from tests.fakes.git import write

ROOMS = """\
from pkg.maths import clamp


def reshape(rows, width):
    return _rows_of(rows, width)


def _rows_of(rows, width):
    return [clamp(row, width) for row in rows]


class Room:
    def widen(self, by):
        return self.width + by
"""
MATHS = "def clamp(value, limit):\n    return min(value, limit)\n"
ANSWER = "## Locations to Modify\n- /repo/pkg/maths.py::clamp\n"
SAYS_WRONG = "`reshape` is wrong\n\n>>> from pkg import reshape\n>>> reshape([1, 2], 2)\ngives [1]\nI expected [1, 2]\n"
RAISES = """\
It raises

>>> Room().widen(1)
Traceback (most recent call last):
  File "pkg/rooms.py", line 14, in widen
    return self.width + by
AttributeError: no width
"""


@pytest.fixture
def repository(tmp_path):
    return Repository(write(tmp_path / "repo", {"pkg/__init__.py": "", "pkg/rooms.py": ROOMS, "pkg/maths.py": MATHS}))


def run(repository, model, issue="`reshape` is wrong", **agent):
    instance = Instance(
        instance_id="i", repo="o/r", base_commit="c", problem_statement=issue, truth=Truth(files=["pkg/maths.py"], functions=[])
    )
    setting = Agent(**{"toolset": "reposearcher", "prompt": "nano", "max_turns": 8, **agent})
    episode = make_episode(instance, repository, model, setting, Tools(), Sampling(), localizer="test")
    return asyncio.run(run_episode(episode))


def calls(trajectory):
    return [(call.name, *call.arguments.values()) for turn in trajectory.turns for call in turn.calls]


def text_of(name, **arguments):
    return format_calls([(name, arguments)])


def test_exit_asks_for_the_answer_in_its_result_and_every_request_begins_with_the_one_before(repository):
    seen = []
    replies = iter([text_of("SearchFunction", file="/repo/pkg/maths.py", function="clamp"), text_of("Exit"), ANSWER])

    def script(messages: list[Message]) -> str:
        seen.append(messages)
        return next(replies)

    trajectory = run(repository, ScriptedModel(script), prompt="full")
    assert trajectory.stop == "answer"
    assert trajectory.answer.functions == ["pkg/maths.py::clamp"]
    assert trajectory.mode == "sequential"
    assert "Locations to Modify" in trajectory.turns[1].observations[0].output
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(seen))


def test_a_turn_runs_one_call_and_the_tools_of_fusesearch_are_unknown(repository):
    both = format_calls([("GetRepoStructure", {}), ("GetRepoStructure", {})])
    trajectory = run(repository, ScriptedModel([both, text_of("grep", pattern="clamp"), ANSWER]))
    errors = [seen.error for turn in trajectory.turns for seen in turn.observations]
    assert errors[0] is None
    assert "at most 1 call is run" in errors[1]
    assert "no tool 'grep'" in errors[2]


def test_the_teacher_looks_up_the_innermost_frame_and_the_class_that_the_error_tells(repository):
    trajectory = run(repository, RepoSearcherTeacher(turns=8, answers=2), RAISES)
    assert calls(trajectory) == [
        ("SearchFunction", "/repo/pkg/rooms.py", "widen"),
        ("SearchClassMethod", "/repo/pkg/rooms.py", "Room", "widen"),
        ("Exit",),
    ]
    assert trajectory.answer.functions == ["pkg/rooms.py::Room.widen"]


def test_without_a_traceback_the_teacher_guesses_the_file_and_follows_what_only_wraps(repository):
    trajectory = run(repository, RepoSearcherTeacher(turns=8, answers=2), SAYS_WRONG)
    assert calls(trajectory)[0] == ("GetRepoStructure",)
    assert ("SearchFunction", "/repo/pkg/rooms.py", "_rows_of") in calls(trajectory)
    assert trajectory.answer.functions == ["pkg/rooms.py::_rows_of", "pkg/rooms.py::reshape"]


def test_the_teacher_keeps_two_turns_for_exit_and_the_answer(repository):
    trajectory = run(repository, RepoSearcherTeacher(turns=3, answers=2), SAYS_WRONG)
    assert calls(trajectory) == [("GetRepoStructure",), ("Exit",)]
    assert trajectory.stop == "no_answer"


def test_exchanged_names_leave_the_tools_and_their_arguments_alone():
    pool = Names(["alpha", "beta", "gamma"], ["Graph", "a"], kept_words(environment_named("reposearcher")))
    call = text_of("SearchClassMethod", file="/repo/pkg/rooms.py", **{"class": "Room", "method": "widen"})
    renamed = Exchange(random.Random(0), pool).text(call)
    assert renamed != call
    (made,) = parse_turn(renamed)[1]
    assert (made.name, list(made.arguments)) == ("SearchClassMethod", ["file", "class", "method"])
