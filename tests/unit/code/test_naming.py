"""Names of functions as twelve languages write them, and as models write them after a path."""

from hypothesis import given
from hypothesis import strategies as st

from fusesearch.code.naming import read_name
from tests.unit.code.test_readings import EVERY

IDENTIFIER = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,8}", fullmatch=True)
LAST = [
    "f", "paid?", "save!", "name=", "<=>", "==", "[]", "[]=", "+@", "!", "=~", "<<", "~Box", "operator==", "operator()",
    "operator[]", "operator bool", "operator new", 'operator""_km', "operator<=>", "operator->", "#own", "$el", "str-key",
    "[Symbol.iterator]", "r#type",
]  # fmt: skip


NAMES = st.builds(
    lambda holders, last: ".".join([*holders, last]), st.lists(IDENTIFIER, max_size=3), IDENTIFIER | st.sampled_from(LAST)
)


@given(NAMES, st.sampled_from(["", " (lines 3-9)", ", which fails", " - reason"]))
def test_a_name_of_any_language_is_read_whole_and_ends_where_prose_begins(name, prose):
    assert read_name(name + prose) == (name, prose)


def test_other_text_is_no_name_and_names_of_python_are_identifiers():
    assert [text for text in ("", "<module>", "(top level)", "12", "'quoted'", ", x") if read_name(text)] == []
    assert (read_name("f?", "a.py"), read_name("f?", "a.rb"), read_name("#f", "a.py")) == (("f", "?"), ("f?", ""), None)


@given(st.text(max_size=60))
def test_any_text_is_read_without_failing(text):
    found = read_name(text)
    assert found is None or (found[0] and text.endswith(found[1]))


ONLY_IN_THE_FILE = {
    "b c", "a (b) {c}", "ops.c d", "ops.1", "self.onmessage", "A.a b", "A.12", "(A,B).b", "fn(u8).f", "V.`", "A.[`tpl`]", "o.1.5",
    "o.[`g`]", "o.e f", "().c", "dynAny+Send.e", "A.my name",
}  # fmt: skip
"""Names that need their file to be told from the text around them."""


def test_each_name_of_a_source_is_read_as_its_spans_have_it():
    named = {(path, name) for path, _, functions in EVERY for _, _, name in functions}
    assert {name for path, name in named if read_name(name, path) != (name, "")} == ONLY_IN_THE_FILE
