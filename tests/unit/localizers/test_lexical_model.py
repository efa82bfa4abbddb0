"""The scripted policy: a deterministic function of the messages, valid calls only, none twice."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from fusesearch.agents.models.base import Message, Sampling
from fusesearch.agents.parsing import format_calls, parse_answer, parse_turn
from fusesearch.core.config import Agent
from fusesearch.localizers.lexical.compact import plan_for
from fusesearch.localizers.lexical.localizer import LexicalModel

ISSUE = """`solve(3)` gives 4, expected 5

>>> from pkg.core import solve
>>> t = Table(3)
>>> solve(t, limit=helper(2))
4
"""
LINES = [
    "def solve(x):", "    def clip(self):", "class Table:", ">>> solve(t, limit=helper(2))", "    return measure(x)",
    '    """Doc.', "#",
]  # fmt: skip
PATHS = ["pkg/core.py", "pkg/table.py", "tests/test_core.py", "README.md"]


def conversation(issue=ISSUE):
    return [Message(role="system", content="Find it."), Message(role="user", content=issue)]


def observations(data, name):
    shown = st.sampled_from
    rows = {
        "grep": st.builds("/repo/{}:{}:{}".format, shown(PATHS), st.integers(1, 90), shown(LINES)) | st.text(max_size=30),
        "glob": st.builds("/repo/{}".format, shown(PATHS)),
        "read_file": st.builds("{}\t{}".format, st.integers(1, 90), shown(LINES)),
    }
    return "\n".join(data.draw(st.lists(rows[name], max_size=4)))


@given(data=st.data())
def test_every_episode_makes_new_valid_calls_within_its_number_and_ends_in_an_answer(data):
    messages = conversation(data.draw(st.sampled_from([ISSUE, "", "Crash"]) | st.text(max_size=200)))
    calls_per_turn = data.draw(st.integers(1, 8))
    model = LexicalModel(calls_per_turn)
    seen = []
    for _ in range(model.plan.turns):
        text = model.next_text(messages)
        calls = parse_turn(text)[1]
        if not calls:
            break
        assert len(calls) <= calls_per_turn
        assert not any(call.error for call in calls)
        seen += [(call.name, str(call.arguments)) for call in calls]
        messages.append(Message(role="assistant", content=text))
        messages += [Message(role="tool", content=observations(data, call.name)) for call in calls]
    assert len(seen) == len(set(seen))
    assert not calls
    assert text.startswith("## Locations to Modify")


def test_the_next_message_depends_on_the_messages_alone_and_fewer_calls_are_the_first_of_more():
    first = LexicalModel(8).next_text(conversation())
    completion = asyncio.run(LexicalModel(8).complete(conversation(), [], Sampling()))
    assert LexicalModel(8).next_text(conversation()) == completion.text == first
    assert completion.usage.completion_tokens > 0
    most = parse_turn(first)[1]
    for count in range(1, len(most)):
        fewer = parse_turn(LexicalModel(count).next_text(conversation()))[1]
        assert [call.arguments for call in fewer] == [call.arguments for call in most[:count]]


def test_the_first_look_asks_for_the_functions_that_the_last_statement_calls():
    calls = parse_turn(LexicalModel(8).next_text(conversation()))[1]
    assert [call.arguments["pattern"] for call in calls[:2]] == [r"(def|class) solve\b", r"(def|class) helper\b"]
    assert not any(">>>" in call.arguments["pattern"] for call in calls)


def after(calls, outputs, issue=ISSUE):
    """What is asked next after ``calls`` with ``outputs``."""
    messages = [*conversation(issue), Message(role="assistant", content=format_calls(calls))]
    messages += [Message(role="tool", content=output) for output in outputs]
    return [call.arguments for call in parse_turn(LexicalModel(2).next_text(messages))[1]]


def search(name):
    return "grep", {"pattern": rf"(def|class) {name}\b", "output_mode": "content"}


def test_a_search_that_went_wrong_is_made_again():
    nothing = "No matches for it in /repo"
    assert after([search("solvs"), search("helper")], [nothing, nothing])[0] == search("solve")[1]
    found = "/repo/pkg/core.py:31:def helper(x):"
    assert after([search("solvs"), search("helper")], [nothing, found]) == [
        search("solve")[1],
        {"path": "/repo/pkg/core.py", "start_line": 31},
    ]


def test_the_plan_fits_the_limits_and_without_a_clue_the_answer_is_empty():
    assert parse_answer(LexicalModel(4).next_text(conversation("It is broken!"))).modify == []
    assert [plan_for(Agent(max_turns=turns)).turns for turns in (3, 12)] == [3, 4]
    assert plan_for(Agent(max_turns=12, mode="sequential")).turns == 12  # one call a turn
