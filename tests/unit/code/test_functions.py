"""Function spans: what is a function, what it is called and which lines it has."""

import ast
import gc
import os
import re
import textwrap
import time
import typing
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.code import functions
from fusesearch.code.functions import function_spans, parse, spans_of
from fusesearch.code.spans import FunctionSpan, function_at, is_python

BOTH = pytest.mark.parametrize("by_indentation", [False, True])


def spans(source: str, by_indentation: bool = False) -> list[tuple[str, int, int]]:
    found = function_spans(textwrap.dedent(source).lstrip("\n"), "a.py", by_indentation=by_indentation)
    return [(span.name, span.start, span.end) for span in found]


@BOTH
def test_methods_have_qualified_names_and_what_a_function_holds_belongs_to_it(by_indentation):
    source = """
    class Outer:
        x = 1
        class Inner(Base):
            def m(self):
                return 1

        async def n(self): return 2
    def top():
        def inner():
            return 1
        class Local:
            def method(self):
                pass
        return inner
    """
    assert spans(source, by_indentation) == [("Outer.Inner.m", 4, 5), ("Outer.n", 7, 7), ("top", 8, 14)]


@BOTH
def test_decorators_and_comments_between_them_belong_to_the_function(by_indentation):
    source = """
    # about f
    @first(
        option=1,
    )
    # between
    @second

    def f():
        return 1
        # trailing comment

    x = 1
    """
    assert spans(source, by_indentation) == [("f", 2, 9)]


@BOTH
def test_definitions_inside_blocks_count_at_module_and_class_level(by_indentation):
    source = """
    try:
        import fast
    except ImportError:
        def a(): pass
    else:
        def b(): pass
    finally:
        def c(): pass
    if x:
        pass
    elif y:
        with z:
            for i in w:
                def d():
                    pass
    class C:
        if x:
            def m(self): pass
        else:
            def m(self, y): pass
    """
    assert [name for name, _, _ in spans(source, by_indentation)] == ["a", "b", "c", "d", "C.m", "C.m"]


@BOTH
def test_definitions_in_strings_and_continuations_are_not_seen(by_indentation):
    source = (
        '''
    TEXT = """
    def fake():
        pass
    """
    def f(a=(1,
    2), b="\\"def g(): '''
        + "'''"
        + '''"):
        return """
    not indented
    """ + \\
    "x"
    def g():
        r = {
    1: 2}
    '''
    )
    assert [name for name, _, _ in spans(source, by_indentation)] == ["f", "g"]
    assert spans(source, by_indentation)[0] == ("f", 5, 10)


def test_python_2_is_read_by_indentation():
    source = """
    class C:
        def show(self, u):
            print "x", u
            raise ValueError, ur'bad'

    @deco
    def tail(x):
    \tif x <> 0777:
            exec "y" in {}
    """
    assert spans(source) == [("C.show", 2, 4), ("tail", 6, 9)]


def test_broken_syntax_hides_no_later_function():
    source = """
    def f():
        return call(1, [2
    def g():
        return 'open
    class C(:
        def m(self): pass
    """
    assert spans(source) == [("f", 1, 2), ("g", 3, 4), ("C.m", 6, 6)]


def test_a_byte_order_mark_and_odd_input_are_harmless():
    assert spans("\ufeffdef f(): pass\n") == [("f", 1, 1)]
    assert spans("") == []
    assert spans("x = 1\ry = 2\r\n\r\ndef f():\r\n    return 1\r\n") == [("f", 3, 4)]
    assert spans("def f(): pass\n\0") == [("f", 1, 1)]
    assert spans("(" * 5000 + "\ndef f(): pass") == [("f", 2, 2)]
    assert spans("if x: pass\n" + "".join(f"elif y == {i}: pass\n" for i in range(3000)) + "def f(): pass\n")[-1][0] == "f"


def test_only_python_files_have_functions():
    assert function_spans("def f(): pass", "notes.txt") == []
    assert is_python("a/b.PYI")
    assert not is_python("a/py")


def test_function_at_finds_the_holder_of_a_line():
    found = function_spans("def f():\n    pass\n\nx = 1\ndef g(): pass\n")
    assert function_at(found, 2) == FunctionSpan(1, 2, "f")
    assert function_at(found, 5) == FunctionSpan(5, 5, "g")
    assert function_at(found, 4) is None
    assert function_at([], 1) is None


def test_both_ways_of_reading_agree_on_the_standard_library():
    folder = Path(ast.__file__).parent
    sources = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))[:20]]
    assert [function_spans(source, by_indentation=True) for source in sources] == [function_spans(source) for source in sources]


@given(st.text(alphabet="def class@():\n\t '\"\\#xf\r\f", max_size=200))
def test_any_text_gives_ordered_disjoint_spans_within_it(source):
    assert list(spans_of(source, "a.py")) == list(spans_of(source, "a.py")) == function_spans(source)  # remembered or not
    for found in (function_spans(source), function_spans(source, by_indentation=True)):
        lines = [number for span in found for number in (span.start, span.end)]
        assert all(span.start <= span.end <= source.count("\n") + 1 for span in found)
        if parse(source) is None:
            assert lines == sorted(lines)


def test_threads_can_parse_at_the_same_time():
    source = Path(typing.__file__).read_text(encoding="utf-8")
    threshold = gc.get_threshold()

    def switch(phase, info):
        time.sleep(0)

    gc.callbacks.append(switch)  # the collector lets other threads run in the midst of a tree, as finalizers do
    gc.set_threshold(100)
    try:
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(function_spans, [source] * 8))
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(switch)
    assert results[0]
    assert all(result == results[0] for result in results)


ODD = [
    "class A:\r    def f(self):\r        pass\r", "def \\\n f():\n    pass\n", "async \\\n def f():\n    pass\n",
    "\\\ndef f(): pass\n",
    "def f():\n    x = 1 \\\n  # joined\n\ny = 2\n", "def f():\n    x = 1 \\\n\ny = 2\n", "def ﬁ(): pass\n", "def f(:\n  pass\n",
    "x = (1,\ndef f():\n    pass\n", "def f():\n    return ((((((1))))))\n", 'def f():\n    """a\ndef g(): pass\n    """\n',
]  # fmt: skip
BITS = [
    '"', "'", '"""', "'''", "(", ")", "[", "]", "{", "}", "\n", "\n    ", "\n\t", "\\", "\\\n", "#", "x", "def f", "class A",
    "def f(a):", "async def g():", "@d", "\r\n", "\f", " ", "=1", ":", "pass\n",
]  # fmt: skip


@pytest.mark.parametrize("source", ODD)
def test_without_a_tree_odd_sources_have_the_same_functions(source):
    assert functions.spans_without_tree(source) == function_spans(source)


@given(st.lists(st.sampled_from(BITS), max_size=40).map("".join))
def test_a_logical_line_is_the_same_by_one_expression_and_token_by_token(source):
    at_once = function_spans(source, by_indentation=True)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(functions, "_LOGICAL", re.compile(r"(?!)"))
        assert function_spans(source, by_indentation=True) == at_once


def same_without_tree(paths):
    for path in paths:
        source = path.read_bytes()[:1_000_000].decode("utf-8-sig", "replace")
        assert functions.spans_without_tree(source) == function_spans(source), path


def test_without_a_tree_modules_of_python_have_the_same_functions():
    same_without_tree(sorted(Path(os.__file__).parent.glob("[a-c]*.py")))


@pytest.mark.rare
def test_without_a_tree_all_installed_modules_have_the_same_functions():
    paths = [*Path(os.__file__).parent.rglob("*.py"), *Path(pytest.__file__).parents[1].rglob("*.py")]
    assert len(paths) > 20_000
    same_without_tree(paths)
