"""Calls and answers: what a model writes, read without ever failing, and written back the same."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.agents import parsing
from fusesearch.agents.parsing import format_answer, format_calls, parse_answer, parse_turn
from fusesearch.core.schema import Answer, Location, ToolCall

JSON_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | JSON_TEXT
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(JSON_TEXT, inner, max_size=3), max_leaves=5
)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=64).filter(str.strip)
CALLS = st.lists(st.tuples(NAMES, st.dictionaries(JSON_TEXT, VALUES, max_size=4)), max_size=6)

FRAGMENTS = [
    "<tool_call>", "</tool_call>", "\n", "{", "}", '"name"', ":", '"grep"', '"arguments"', "<think>", "</think>", "\\", '"',
    ",", "[", "- ", "/repo/", "a.py", "::", "`", "## Locations to Modify", "Related Context", "\ud800", "(lines 3-9)", "NaN",
    "1e999",
]  # fmt: skip
HOSTILE = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=40).map("".join)

SEGMENT = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="/`:"), min_size=1, max_size=8)
SPACED = st.lists(SEGMENT, min_size=1, max_size=3).map(" ".join).filter(lambda part: part not in (".", ".."))
PATHS = st.lists(SPACED, min_size=1, max_size=4).map("/".join)
FUNCTIONS = st.lists(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True), min_size=1, max_size=3).map(".".join)
SPANS = st.tuples(st.integers(1, 99999), st.integers(0, 999)).map(lambda pair: (pair[0], sum(pair)))
LOCATIONS = st.builds(Location, path=PATHS, function=st.none() | FUNCTIONS, lines=st.none() | SPANS)
LISTS = st.lists(LOCATIONS, max_size=5, unique_by=lambda location: location.entity)


@given(CALLS)
def test_calls_written_are_read_back_with_names_and_arguments(calls):
    plain, read = parse_turn(format_calls(calls))
    assert plain == ""
    assert [(call.name, call.arguments, call.error) for call in read] == [(name, args, None) for name, args in calls]


@given(HOSTILE | st.text())
def test_any_text_is_parsed_and_can_be_stored(text):
    _, calls = parse_turn(text)
    for call in calls:
        assert ToolCall.model_validate_json(call.model_dump_json()) == call
    answer = parse_answer(text)
    assert Answer.model_validate_json(answer.model_dump_json()) == answer
    assert all(".." not in path.split("/") and not path.startswith("/") for path in answer.files)


@given(st.builds(Answer, modify=LISTS, related=LISTS))
def test_an_answer_written_is_read_back_the_same(answer):
    assert parse_answer(format_answer(answer)) == answer


def test_the_canonical_answer_is_two_markdown_sections():
    answer = Answer(
        modify=[Location(path="a/b.py", function="C.f"), Location(path="a c.py")],
        related=[Location(path="x.py", function="g", lines=(3, 9))],
    )
    assert format_answer(answer) == (
        "## Locations to Modify\n- /repo/a/b.py::C.f\n- `/repo/a c.py`\n\n## Related Context\n- /repo/x.py::g (lines 3-9)\n"
    )


def test_usual_variants_of_a_call_are_understood_and_one_without_arguments_has_none():
    plain = '{"name": "grep", "arguments": {"pattern": "a"}}'
    for body in (
        plain, plain + "}", '  \n{"name": "grep",\n "arguments": {"pattern": "a"}}\n\n', plain.replace("arguments", "parameters"),
        '{"name": "grep", "arguments": "{\\"pattern\\": \\"a\\"}"}',
    ):  # fmt: skip
        assert parse_turn(f"<tool_call>{body}</tool_call>")[1] == [ToolCall(id="", name="grep", arguments={"pattern": "a"})]
    for arguments in ("", ', "arguments": null', ', "arguments": ""', ', "arguments": {}'):
        assert parse_turn(f'<tool_call>{{"name": "glob"{arguments}}}</tool_call>')[1] == [ToolCall(id="", name="glob")]


def test_a_closing_tag_inside_an_argument_ends_no_call():
    calls = [("grep", {"pattern": "</tool_call> <tool_call> </think>"})]
    assert parse_turn(format_calls(calls))[1][0].arguments == calls[0][1]
    surrogate = '<tool_call>{"name": "a", "arguments": {"x": "\\ud800"}}</tool_call>'  # which nothing could store
    assert parse_turn(surrogate)[1][0].arguments == {"x": "?"}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("[1]", "must be a JSON object"),
        ('{"name": 3}', '"name"'),
        ('{"arguments": {}}', '"name"'),
        ('{"name": " "}', '"name"'),
        (json.dumps({"name": "x" * 65}), '"name"'),
        ('{"name": "a", "arguments": [1]}', "JSON object"),
        ('{"name": "a", "arguments": "no"}', "not usable JSON"),
        ('{"name": "a", "arguments": "{} {}"}', "not usable JSON"),
        ('{"name": "a", "arguments": {"x": 1e999}}', "out of range"),
        ('{"name": "a", "arguments": {"x": 9223372036854775808}}', "out of range"),
        ('{"name": "a", "arguments": {"x": -9223372036854775809}}', "out of range"),
        ('{"name": "a", "arguments": {"x": ' + "[" * 9 + "]" * 9 + "}}", "nested deeper"),
        ('{"name": "a", "arguments": {"x": NaN}}', "not valid JSON"),
        ("[" * 19_000, "not valid JSON"),
        (json.dumps({"name": "a", "arguments": {"x": "y" * 20_000}}), "longer than 20000"),
        (json.dumps({"name": "a", "arguments": json.dumps({"x": "y" * 19_993})}), "longer than 20000"),
    ],
)
def test_an_unreadable_call_has_a_one_line_reason(body, reason):
    (call,) = parse_turn(f"<tool_call>{body}</tool_call>")[1]
    assert call.error
    assert reason in call.error
    assert len(call.error) < 400


def test_calls_names_and_messages_are_read_up_to_their_bounds():
    assert parse_turn(format_calls([("n" * 64, {})]))[1][0].error is None
    for length, error in ((20_000, False), (20_001, True)):
        text = json.dumps({"x": "y" * (length - 9)})
        assert bool(parsing.call_of("", "a", text).error) is error
        head = '{"name": "a", "arguments": {"x": "'
        body = head + "y" * (length - len(head) - 3) + '"}}'
        assert len(text) == len(body) == length
        assert bool(parse_turn(f"<tool_call>{body}</tool_call>")[1][0].error) is error
    calls = parse_turn(format_calls([("a", {})] * 500))[1]
    assert [bool(call.error) for call in calls] == [False] * parsing.MAX_CALLS + [True]


@pytest.mark.parametrize(
    ("text", "names", "around"),
    [
        ('<tool_call>{"name": <tool_call>{"name": "b"}</tool_call>', ["", "b"], ""),
        ('<tool_call>{"name": </tool_call>{"name": "no"}<tool_call>{"name": "b"}', ["", "b"], '{"name": "no"}'),
        ('<tool_call>{"name": "a"}<tool_call>{"name": "b"}</tool_call>', ["a", "b"], ""),
        ('<tool_call>{"name": "a"} <tool_call>{"name": ', ["a", ""], ""),
        ('<tool_call>\n{"name": "a"}\n{"name": "b"}\n</tool_call>', ["a", "b"], ""),
        ('<tool_call>\n{"name": "a"}', ["a"], ""),
        ('<tool_call>\n{"name": "a", "argum', [""], ""),
        ('a<tool_call>{"name": "x"} junk</tool_call>b<tool_call>{ c', ["x", ""], "ab"),
        ('Let.\n<tool_call>{"name": "a"}</tool_call>\n<tool_call>{"name": }</tool_call> Done.', ["a", ""], "Let.\n\n Done."),
    ],
)
def test_a_block_ends_at_its_closing_tag_at_the_next_opening_tag_or_with_the_text_and_spoils_nothing_else(text, names, around):
    plain, found = parse_turn(text)
    assert [call.name for call in found] == names
    assert plain.split() == around.split()
    assert all("not valid JSON" in call.error if not call.name else call.error is None for call in found)


@pytest.mark.parametrize(
    "text",
    ["<tool_call>" * 100_000, "<tool_call>{" * 100_000, "<tool_call>[[" * 80_000, "<tool_call>" + " " * 1_000_000,
     '<tool_call>{"a":"' * 60_000, "- /repo/" + "a" * 1_000_000, "- " * 500_000, "\n- /repo/a.py::f" * 60_000, "*`:" * 300_000,
     ("- /repo/" + "a " * 490 + "\n") * 1000, ("/repo/a" + " b.py" * 198 + " c\n") * 1000, ("#" * 999 + "\n") * 1000,
     ("Locations to Modify" + " *" * 490 + "\n") * 1000, ("Related Context" + "(" * 980 + "\n") * 1000,
     ("Related" + " " * 990 + "\n") * 1000, ("- /repo/a " + "." * 980 + "\n") * 1000],
)  # fmt: skip
def test_a_megabyte_of_nonsense_is_parsed(text):
    """In linear time: a parser that is quadratic in the text runs into the time limit of tests."""
    assert all(call.error for call in parse_turn(text)[1])
    assert len(parse_answer(text).modify) <= 200


def test_thinking_is_no_call_and_no_answer():
    call = '<tool_call>{"name": "a"}</tool_call>'
    assert parse_turn(f"<think>maybe {call}</think>Now.{call}") == ("Now.", [ToolCall(id="", name="a")])
    assert parse_turn(f"<think>cut {call}") == ("", [])
    assert parse_answer("hm, /repo/a.py\n</think>\n- /repo/b.py").files == ["b.py"]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("- /repo/a/b.py::C.f", Location(path="a/b.py", function="C.f")),
        ("* `a/b.py::C.f()`", Location(path="a/b.py", function="C.f")),
        ("1. **/repo/a.py::f** - it returns the wrong sign", Location(path="a.py", function="f")),
        ("2) /repo/a.py::f(self, x) (lines 3-9)", Location(path="a.py", function="f", lines=(3, 9))),
        ("- `/repo/a.py::C::m` (line 7): off by one", Location(path="a.py", function="C.m", lines=(7, 7))),
        ("- /repo/a.py:12-30", Location(path="a.py", lines=(12, 30))),
        ("- /repo/a.py: the whole file", Location(path="a.py")),
        ("/repo/Makefile", Location(path="Makefile")),
        ("- `/repo/my dir/a b.py::f`", Location(path="my dir/a b.py", function="f")),
        ("- ./a//b.py::f lines 9 to 3", Location(path="a/b.py", function="f", lines=(3, 9))),
        ("- /repo/a.py::module level code", Location(path="a.py", function="module")),
        ("- /repo/a.py::<module>", Location(path="a.py")),
        ("- /repo/../etc/passwd", None),
        ("- https://example.org/a.py", None),
        ("- none", None),
        ("The bug is in a.py, as std::vector shows", None),
        ("```", None),
        ("- /repo/a.py and /repo/b.py", Location(path="a.py")),
        ("- /repo/a.py (lines 3-10)", Location(path="a.py", lines=(3, 10))),
        ("- /repo/a.py::f, /repo/b.py::g", Location(path="a.py", function="f")),
        ("/repo/a.py - see foo.py", Location(path="a.py")),
        ("- /repo/ a.py", None),
    ],
)
def test_entries_are_read_with_the_decoration_models_give_them(entry, expected):
    assert parse_answer(f"## Locations to Modify\n{entry}\n").modify == ([expected] if expected else [])


FIRST = Location(path="a.py", function="f")


def test_headings_are_known_in_their_usual_dress_and_no_sentence_and_no_empty_one_takes_an_answer_away():
    for heading in (
        "## Locations to Modify", "**Locations to modify:**", "1. Locations to Modify (ranked)", "LOCATIONS TO MODIFY",
        "## 1) Locations to Modify (the likeliest come first, by how much of the issue they explain):",
        "Locations to Modify: ranked", "## Locations to Modify, ranked ##", "**Locations to Modify** - ranked",
        "Locations to modify are:", "__Locations  to modify__",
    ):  # fmt: skip
        answer = parse_answer(f"Found it.\n{heading}\n- /repo/a.py\n### Related Contexts:\n- /repo/b.py\n")
        assert (answer.files, [location.path for location in answer.related]) == (["a.py"], ["b.py"]), heading
    for line in (
        "Locations to modify are listed above.", "Related context is listed below.", "**Locations to modify** are above.",
        "Locations to modify (ranked) are above.", "Locations to modifying", "## Locations to Modify",
        "Locations to modify: see above.",
    ):  # fmt: skip
        assert parse_answer(f"## Locations to Modify\n- /repo/a.py::f\n\n{line}\n") == Answer(modify=[FIRST]), line


@pytest.mark.parametrize("entry", ["/repo/a.py::f", "`/repo/a.py::f` - wrong sign", "a.py::f"])
def test_an_entry_may_stand_behind_the_colon_of_its_heading(entry):
    title = "Locations to Modify"
    for heading in (f"## {title}: ", f"**{title}:** ", f"__{title}:__ ", f"{title} (ranked):"):
        answer = parse_answer(f"{heading}{entry}\n- /repo/b.py\nRelated Context: /repo/{'deep/' * 20}c.py\n")
        assert answer.modify == [FIRST, Location(path="b.py")], heading
        assert answer.related == [Location(path=f"{'deep/' * 20}c.py")]


PLAIN = st.from_regex(r"[a-z]{1,3}x(/[a-z]{1,3}x){0,2}\.py", fullmatch=True)
TAILS = st.lists(st.sampled_from([*FRAGMENTS, " ", "b c.py"]), max_size=12).map("".join).filter(lambda tail: "think>" not in tail)


@given(PLAIN, TAILS)
def test_a_path_with_an_extension_ends_at_its_first_blank(path, tail):
    assert parse_answer(f"## Locations to Modify\n- /repo/{path} " + tail.replace("\n", " ")).files == [path]


def test_repeats_keep_their_first_rank_a_repeated_section_replaces_the_first_and_without_one_rooted_lines_count():
    text = "## Locations to Modify\n- /repo/x.py\n## Locations to Modify\n- /repo/a.py\n- /repo/b.py\n- /repo/a.py\n"
    assert parse_answer(text).files == ["a.py", "b.py"]
    assert parse_answer("See a.py.\n- b.py\n- /repo/c.py::f\n").modify == [Location(path="c.py", function="f")]
    assert parse_answer("no idea") == Answer()
