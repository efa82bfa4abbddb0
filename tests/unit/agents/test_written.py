"""What a student of an episode has to write: native calls as text, and text that reads as the turn's calls and answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.agents.conversation import as_text, messages_of, reads_back
from fusesearch.agents.parsing import format_answer, parse_turn
from fusesearch.core.schema import Answer, Location, Observation, ToolCall, Trajectory, Turn
from tests.unit.agents.test_parsing import CALLS

RIGHT = Answer(modify=[Location(path="lib/order.rb", function="Order.paid?")])


def episode(*turns, answer=RIGHT):
    last = Turn(text=format_answer(answer)) if answer else Turn(text="done")
    return Trajectory(
        instance_id="i", localizer="fusesearch", system="", issue="", turns=[*turns, last], answer=answer, stop="answer"
    )


def native(text, *calls):
    made = [ToolCall(id=f"c{i}", name=name, arguments=arguments) for i, (name, arguments) in enumerate(calls)]
    return Turn(text=text, calls=made, observations=[Observation(call_id=call.id, output=f"of {call.id}") for call in made])


@given(CALLS, st.sampled_from(["", "I search.", "Two things:\n- a\n"]))
def test_native_calls_become_text_that_reads_as_them(calls, prose):
    written = as_text(episode(native(prose, *calls)))
    assert reads_back(written)
    plain, found = parse_turn(written.turns[0].text)
    assert plain == prose.strip()
    assert [(call.name, call.arguments) for call in found] == calls


def test_calls_in_text_stay_as_they_were_written():
    text = 'x <tool_call>{"name":"grep","arguments":{"pattern":"a"}}</tool_call>'
    turn = Turn(text=text, calls=parse_turn(text)[1], observations=[Observation(call_id="call_0", output="")])
    assert as_text(episode(turn)) == episode(turn)


@pytest.mark.parametrize(
    "text", ["I search.", 'I search.<tool_call>{"name": "grep", </tool_call><tool_call>{"name": "glob"}</tool_call>']
)
def test_an_unreadable_call_leaves_with_its_observation(text):
    turn = native(text, ("grep", {}), ("glob", {}))
    turn.calls[0].error = "not JSON"
    (kept, _) = as_text(episode(turn)).turns
    assert kept.text == 'I search.\n<tool_call>\n{"name": "glob", "arguments": {}}\n</tool_call>'
    assert [seen.output for seen in kept.observations] == ["of c1"]
    alone = native("", ("grep", {}))  # a message of unreadable calls alone leaves whole
    alone.calls[0].error = "not JSON"
    written = as_text(episode(turn, alone, native("", ("glob", {}))))
    assert [message.role for message in messages_of(written)][2:] == ["assistant", "tool", "assistant", "tool", "assistant"]
    assert reads_back(written)


def test_text_that_says_something_else_does_not_read_back():
    assert not reads_back(episode(native("", ("grep", {}))))  # native calls that nobody wrote down
    other = episode()
    other.turns[-1].text = format_answer(Answer(modify=[Location(path="lib/order.rb")]))
    assert not reads_back(other)
