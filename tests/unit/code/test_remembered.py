"""Spans that are remembered are those that would be read."""

from hypothesis import given
from hypothesis import strategies as st

from fusesearch.code.functions import function_spans, spans_of

PIECES = st.lists(
    st.sampled_from(["def f():\n    pass\n", "class A:\n    def g(self): ...\n", "x = 1\n", "function h() { }\n", "\ud800"])
)


@given(PIECES, st.sampled_from(["a.py", "b.py", "a.js", "a.txt", "A.PY"]))
def test_remembered_facts_equal_those_of_a_fresh_read(pieces, path):
    source = "".join(pieces)
    assert list(spans_of(source, path)) == function_spans(source, path)
    assert spans_of(source, path) == spans_of(source, path)
