"""Calls in the forms of many families: read, trained as they were read, told where they cannot be read, and none out of prose."""

import json
import re

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
LLAMA = CALL.replace("arguments", "parameters")
PYTHON = 'grep(pattern="wanted")'
INVOKE = '<invoke name="grep">\n<parameter name="pattern">wanted</parameter>\n</invoke>'
QWEN = "<function=grep>\n<parameter=pattern>\nwanted\n</parameter>\n</function>"
PAIR = "<arg_key>pattern</arg_key>\n<arg_value>wanted</arg_value>"
DEEPSEEK = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"  # noqa: RUF001
ROW = json.dumps({"tool_calls": [{"id": "1", "type": "function", "function": {"name": "grep", "arguments": A}}]})

FORMS = {
    "Hermes": f"<tool_call>\n{CALL}\n</tool_call>",
    "Hermes, a list": f"<tool_call>[{CALL}]</tool_call>",
    "Qwen3 Coder": f"<tool_call>\n{QWEN}\n</tool_call>",
    "Kimi K2": f"<|tool_calls_section_begin|><|tool_call_begin|>functions.grep:0<|tool_call_argument_begin|>{A}<|tool_call_end|>"
    "<|tool_calls_section_end|>",
    "Kimi K3": '<|open|>tools<|sep|><|open|>call tool="grep" index="1"<|sep|><|open|>argument key="pattern" type="string"<|sep|>'
    "wanted<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
    "DeepSeek V3": DEEPSEEK.format(f"function<｜tool▁sep｜>grep\n```json\n{A}\n```"),  # noqa: RUF001
    "DeepSeek V3.1": DEEPSEEK.format(f"grep<｜tool▁sep｜>{A}"),  # noqa: RUF001
    "DeepSeek V3.2": re.sub("(</?)", r"\1｜DSML｜", f"<function_calls>\n{INVOKE}\n</function_calls>"),  # noqa: RUF001
    "Mistral": f"[TOOL_CALLS] [{CALL}]",
    "Mistral v11": f"[TOOL_CALLS]grep[ARGS]{A}",
    "Mistral with an id": f"[TOOL_CALLS]grep[CALL_ID]abc123XYZ[ARGS]{A}",
    "MiniMax M2": f"<minimax:tool_call>\n{INVOKE}\n</minimax:tool_call>",
    "MiniMax M1, Jamba, Hunyuan": f"<tool_calls>\n{CALL}\n</tool_calls>",
    "Llama 3.1": LLAMA,
    "Llama 3.1, in a fence": f"```json\n{LLAMA}\n```",
    "Llama 3.1, after its tag": f"<|python_tag|>{LLAMA}",
    "Llama 3.1, its own tag": f"<function=grep>{A}</function>",
    "Llama 3.1, a method": '<|python_tag|>grep.call(pattern="wanted")',
    "Llama 3.2": f"[{PYTHON}]",
    "Llama 4": f"<|python_start|>[{PYTHON}]<|python_end|>",
    "Harmony": f"<|channel|>commentary to=functions.grep <|constrain|>json<|message|>{A}<|call|>",
    "Harmony without marks": f"commentary to=functions.grep json{A}",
    "a list": f"[{CALL}]",
    "GLM 4.5": f"<tool_call>grep\n{PAIR}\n</tool_call>",
    "GLM 4": f"grep\n{A}",
    "Hunyuan 3": f"<tool_calls:6a><tool_call:6a>grep<tool_sep:6a>{PAIR.replace('>', ':6a>')}</tool_call:6a></tool_calls:6a>",
    "Granite": f"<|tool_call|>[{CALL}]",
    "Phi 4 mini": f"functools[{CALL}]",
    "InternLM": f"<|action_start|><|plugin|>\n{LLAMA}<|action_end|>",
    "Command": f'<|START_ACTION|>[{{"tool_call_id": "0", "tool_name": "grep", "parameters": {A}}}]<|END_ACTION|>',
    "Nemotron": f"<TOOLCALL>[{CALL}]</TOOLCALL>",
    "Apertus": f'<|tools_prefix|>[{{"grep": {A}}}]<|tools_suffix|>',
    "LongCat": f"<longcat_tool_call>{CALL}</longcat_tool_call>",
    "LFM2": f"<|tool_call_start|>[{PYTHON}]<|tool_call_end|>",
    "OLMo 3": f"<function_calls>\n{PYTHON}\n</function_calls>",
    "Gemma 3": f"```tool_code\n{PYTHON}\n```",
    "Gemma 4": '<|tool_call>call:grep{pattern:<|"|>wanted<|"|>}<tool_call|>',
    "FunctionGemma": "<start_function_call>call:grep{pattern:<escape>wanted<escape>}<end_function_call>",
    "Step 3": f"<steptml:tool_call>{INVOKE}</steptml:tool_call>".replace("invoke", "steptml:invoke"),
    "Seed": f"<seed:tool_call>{QWEN}</seed:tool_call>",
    "Functionary": f">>>grep\n{A}",
    "Claude 2": "<invoke>\n<tool_name>grep</tool_name>\n<parameters>\n<pattern>wanted</pattern>\n</parameters>\n</invoke>",
    "Cline": "<grep>\n<pattern>wanted</pattern>\n</grep>",
    "clients of MCP": f"<tool_use>\n<name>grep</name>\n<arguments>{A}</arguments>\n</tool_use>",
    "ReAct": f"Action: grep\nAction Input: {A}",
    "OpenAI's message": ROW,
    "JavaScript": f"functions.grep({A})",
    "an end token": f"{LLAMA}<|eom_id|>",
    "elements not closed": "<function=grep>\n<parameter=pattern>\nwanted\n</function>",
    "Command R": f'Action: ```json\n[\n    {{\n        "tool_name": "grep",\n        "parameters": {A}\n    }}\n]```',
    "ReAct, marked up": f"**Action:** `grep`\n**Action Input:** `{A}`",
    "ReAct, in brackets": f"Action: grep[{A}]",
    "Qwen 2": f"✿FUNCTION✿: grep\n✿ARGS✿: {A}\n✿RESULT✿",
    "Pangu": f"[unused11][{CALL}][unused12]",
    "LongCat, pairs": f"<longcat_tool_call>grep\n{PAIR.replace('arg_', 'longcat_arg_')}\n</longcat_tool_call>",
    "SmolLM 3": f"<code>\n{PYTHON}\n</code>",
    "Llama 3.1, a bracket missing": f"<function=grep{A}</function>",
    "a fence in Hermes' tag": f"<tool_call>\n```json\n{CALL}\n```\n</tool_call>",
    "Python's quotes": f"<tool_call>\n{CALL}\n</tool_call>".replace('"', "'"),
    "a last comma and a comment": f"[TOOL_CALLS][{CALL[:-1]}, /* all */}},]",
    "Python in a fence": f"```python\n{PYTHON}\n```",
    "another prefix and spelling": f'{{"toolName": "default_api.grep:0", "args": {A}}}',
    "several at once": f'to=multi_tool_use.parallel {{"tool_uses": [{{"recipient_name": "functions.grep", "parameters": {A}}}]}}',
    "no object of arguments": '{"tool": "grep", "pattern": "wanted"}',
}


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
