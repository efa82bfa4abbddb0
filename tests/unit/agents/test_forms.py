"""Calls in the forms of many families: read, trained as they were read, told where they cannot be read, and none out of prose."""

from pathlib import Path

import pytest
from hypothesis import given

from fusesearch.agents.conversation import as_text, reads_back
from fusesearch.agents.forms import read_calls
from fusesearch.agents.parsing import format_answer, format_calls, parse_turn
from fusesearch.core.schema import Answer, Observation, Trajectory, Turn
from fusesearch.search.tools import schemas
from tests.unit.agents.test_parsing import CALLS, HOSTILE, LISTS

A = '{"pattern": "wanted"}'
CALL = f'{{"name": "grep", "arguments": {A}}}'
PYTHON = 'grep(pattern="wanted")'

EVERY = (Path(__file__).parent / "forms.txt").read_text(encoding="utf-8").split("==== ")[1:]
FORMS = {name: text.removesuffix("\n") for name, text in (part.split("\n", 1) for part in EVERY)}
"""One call, ``grep`` for "wanted", as each family writes it."""


def episode(text, calls):
    made = [Observation(call_id=call.id, output="x") for call in calls]
    turns = [Turn(text=text, calls=calls, observations=made)]
    return Trajectory(instance_id="i", localizer="l", system="", issue="", turns=turns, stop="max_turns")


@pytest.mark.parametrize("prose", ["", "I search first.\n"])
@pytest.mark.parametrize("form", FORMS)
def test_a_call_is_read_and_trained_as_it_was_read(form, prose):
    text, calls = read_calls(prose + FORMS[form], schemas())
    assert [(call.name, call.arguments, call.error) for call in calls] == [("grep", {"pattern": "wanted"}, None)]
    assert parse_turn(text)[0] == prose.strip()
    for written in (text, prose + FORMS[form]):
        label = as_text(episode(written, calls))
        assert reads_back(label)
        assert parse_turn(label.turns[0].text) == (prose.strip(), [calls[0].model_copy(update={"id": ""})])


@pytest.mark.parametrize("form", sorted({*FORMS} - {"Claude 2"}))
def test_several_calls_are_read_in_their_order(form):
    other = FORMS[form].replace("grep", "glob").replace("wanted", "*.py")
    calls = read_calls(f"{FORMS[form]}\n{other}", schemas())[1]
    assert [(call.name, call.arguments, call.error) for call in calls] == [
        ("grep", {"pattern": "wanted"}, None), ("glob", {"pattern": "*.py"}, None),
    ]  # fmt: skip


def test_calls_without_a_mark_may_stand_behind_a_colon_and_have_prose_between_them():
    for prose in ("First: ", "First:\n```json\n"):
        text, calls = read_calls(f"{prose}{CALL}\n{'```' * ('`' in prose)}\nThen:\n{CALL}", schemas())
        assert (text.strip("`\n"), [call.name for call in calls]) == ("First:", ["grep", "grep"])
    escaped = CALL.replace("wanted", r"def \w+\(\"x\"\)\n")
    assert read_calls(escaped, schemas())[1][0].arguments == {"pattern": 'def \\w+\\("x"\\)\n'}


@given(CALLS)
def test_hermes_blocks_are_read_as_without_other_forms(calls):
    text = format_calls(calls)
    assert read_calls(text, schemas()) == (text, parse_turn(text)[1])


@given(LISTS)
def test_an_answer_has_no_call(locations):
    text = format_answer(Answer(modify=locations))
    assert read_calls(text, schemas()) == (text, [])


@pytest.mark.parametrize(
    "text",
    [
        f"I would use {PYTHON} next.", f"Call grep with {A}.", "grep\nis a tool", "- grep\n- glob",
        'See\n```json\n{"name": "grep", "version": "1"}\n```',
        '{"name": "other", "arguments": {}}', f"```python\nx = {PYTHON}\n```", f"```python\nimport re\n{PYTHON}\n```",
        '<Tooltip name="grep">text</Tooltip>', '<div class="grep"><p>{x}</p></div>',
        f"<think>\n{FORMS['Kimi K2']}",
    ],
)  # fmt: skip
def test_prose_code_and_thinking_are_no_calls(text):
    assert read_calls(text, schemas()) == (text, [])


@pytest.mark.parametrize("form", sorted({*FORMS} - {"Hermes"}))
def test_an_answer_that_quotes_a_call_without_a_mark_and_a_message_without_tools_make_none(form):
    for text, tools in ((FORMS[form].replace("grep", "search"), schemas()), (FORMS[form], [])):
        answer = f"## Locations to Modify\n- /repo/a.py\n\nThe parser drops:\n{text}\n"
        calls = read_calls(answer, tools, answered=True)[1]
        assert [call.name for call in calls if not call.error] == []


@pytest.mark.parametrize(
    "text",
    [
        f"[TOOL_CALLS]find[ARGS]{A}", '[TOOL_CALLS]grep[ARGS]{"pattern": "wan', FORMS["MiniMax M2"].replace("grep", "find"),
        f"As\n```json\n{CALL}\n```\nsays.", CALL[:-4], CALL.replace("pattern", "regex"), "<|python_tag|>grep wanted",
        "<new:tool_call>grep :: wanted</new:tool_call>",
    ],
)  # fmt: skip
def test_what_looks_like_a_call_and_cannot_be_read_is_told(text):
    kept, (call,) = read_calls(text, schemas())
    assert (kept, call.name) == (text, "")
    assert "Right would be: <tool_call>" in call.error
    assert read_calls(text, schemas(), answered=True) == (text, [])
    found = read_calls(f"{FORMS['Mistral v11']}{text}", schemas())[1]
    assert found[0].arguments == {"pattern": "wanted"}


@given(HOSTILE)
def test_any_text_is_read(text):
    for call in read_calls(text, schemas())[1]:
        assert type(call).model_validate_json(call.model_dump_json()) == call


@pytest.mark.parametrize(
    "text",
    ["<|tool_call_begin|>{" * 50_000, '<invoke name="grep">' * 50_000, "<function=grep><parameter=pattern>" * 30_000,
     "\n{" * 500_000, "a" * 1_000_000, "<" * 1_000_000, "<|a|>[grep(a=[" * 50_000, "a:<escape>" * 100_000,
     "[TOOL_CALLS]" + '[{"a":' * 20_000],
)  # fmt: skip
def test_a_megabyte_of_marks_is_read(text):
    assert len(read_calls(text, schemas())[1]) <= 1
