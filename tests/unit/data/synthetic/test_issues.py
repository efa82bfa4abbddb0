"""Issue texts say what was observed, briefly, in varied words."""

import ast

from hypothesis import given
from hypothesis import strategies as st

from fusesearch.data.sources.synthetic.corpus import shortened
from fusesearch.data.sources.synthetic.issues import MAX_ISSUE_CHARS, Symptom, write_issue

VALUE = Symptom(("from toolz import remove",), ("list(remove(odd, [1, 2]))",), "[2]\n", "[1]\n")
CRASH = Symptom(
    (),
    ("x = f(1)", "print(x)"),
    "3\n",
    "",
    "TypeError",
    "bad operand",
    traceback=('  File "a/b.py", line 7, in helper', "    return -x"),
)
NO_ERROR = Symptom((), ("check(-1)",), "", "None\n", promised="ValueError: negative")


def texts(symptom):
    return {write_issue(symptom, "toolz 1.0", str(key)) for key in range(60)}


def test_a_wrong_value_is_told_with_statement_output_and_expectation():
    for text in texts(VALUE):
        assert "from toolz import remove" in text
        assert "list(remove(odd, [1, 2]))" in text
        assert "[1]" in text
        assert "[2]" in text


def test_a_crash_is_told_with_its_traceback():
    for text in texts(CRASH):
        assert 'File "a/b.py", line 7, in helper' in text
        assert "TypeError: bad operand" in text


def test_a_missing_exception_is_told_by_name():
    assert all("ValueError" in text for text in texts(NO_ERROR))


def test_wordings_vary_between_issues_and_not_between_runs():
    assert len(texts(VALUE)) > 20
    assert write_issue(VALUE, "toolz 1.0", "k") == write_issue(VALUE, "toolz 1.0", "k")


def test_the_title_is_about_the_call_that_made_what_is_shown():
    symptom = Symptom((), ("G = build(4)", "G"), "graph\n" * 3, "other\n" * 3)
    assert all("`build`" in text.split("\n")[0] or "`G`" in text.split("\n")[0] for text in texts(symptom))


def test_very_long_reports_are_given_up():
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
