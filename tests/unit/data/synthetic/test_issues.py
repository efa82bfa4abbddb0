"""Issue texts say what was observed, briefly, in varied words."""

import ast

from hypothesis import given
from hypothesis import strategies as st

from fusesearch.data.sources.synthetic.corpus import shortened
from fusesearch.data.sources.synthetic.issues import MAX_ISSUE_CHARS, Symptom, write_issue

VALUE = Symptom(("from toolz import remove",), ("list(remove(odd, [1, 2]))",), "[2]\n", "[1]\n")
FRAMES = ('  File "a/b.py", line 7, in helper', "    return -x")
CRASH = Symptom((), ("x = f(1)", "print(x)"), "3\n", "", "TypeError", "bad operand", traceback=FRAMES)
NO_ERROR = Symptom((), ("check(-1)",), "", "None\n", promised="ValueError: negative")


def texts(symptom):
    return {write_issue(symptom, "toolz 1.0", str(key)) for key in range(60)}


def test_a_symptom_is_told_with_all_that_was_seen_and_expected():
    for symptom, parts in (
        (VALUE, ("from toolz import remove", "list(remove(odd, [1, 2]))", "[1]", "[2]")),
        (CRASH, ('File "a/b.py", line 7, in helper', "TypeError: bad operand")),
        (NO_ERROR, ("ValueError",)),
    ):
        assert [(text, part) for text in texts(symptom) for part in parts if part not in text] == []


def test_wordings_vary_between_issues_and_not_between_runs():
    assert len(texts(VALUE)) > 20
    assert write_issue(VALUE, "toolz 1.0", "k") == write_issue(VALUE, "toolz 1.0", "k")


def test_the_title_is_about_the_call_that_made_what_is_shown_and_very_long_reports_are_given_up():
    symptom = Symptom((), ("G = build(4)", "G"), "graph\n" * 3, "other\n" * 3)
    assert all("`build`" in text.split("\n")[0] or "`G`" in text.split("\n")[0] for text in texts(symptom))
    assert write_issue(Symptom((), ("f(1)\n" * 300,), "1", "2"), "p 1", "k") is None


@given(
    st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=3),
    st.text(max_size=80),
    st.text(max_size=600),
    st.text(max_size=5),
)
def test_any_symptom_gives_a_short_text_with_a_title_or_none(statements, want, got, key):
    text = write_issue(Symptom((), tuple(statements), want, got), "p 1", key)
    assert text is None or (len(text) <= MAX_ISSUE_CHARS and text.split("\n")[0].strip())


def test_docstrings_are_shortened_and_lines_still_found():
    text = 'def f(a):\n    """Adds.\n\n    >>> f(1)\n    2\n    """\n    return a + 1\n\n\ndef g():\n    return 3\n'
    short = shortened(text)
    assert ">>>" not in short.text
    assert ast.get_docstring(ast.parse(short.text).body[0]) == "Adds."
    lines = short.text.split("\n")
    assert lines[short.line(7) - 1] == "    return a + 1"
    assert lines[short.line(11) - 1] == "    return 3"
