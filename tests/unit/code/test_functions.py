"""Function spans of Python by each way of reading. What a function is, ``constructs.txt`` says."""

import gc
import json
import os
import re
import shutil
import subprocess
import sys
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


def test_a_byte_order_mark_and_odd_input_are_harmless():
    long = "if x: pass\n" + "".join(f"elif y == {i}: pass\n" for i in range(3000))
    for source, lines in (
        ("\ufeffdef f(): pass\n", (1, 1)), ("x = 1\ry = 2\r\n\r\ndef f():\r\n    return 1\r\n", (3, 4)),
        ("def f(): pass\n\0", (1, 1)), ("(" * 5000 + "\ndef f(): pass", (2, 2)), (long + "def f(): pass\n", (3002, 3002)),
    ):  # fmt: skip
        assert function_spans(source) == [FunctionSpan(*lines, "f")], source[:30]
    assert function_spans("") == function_spans("def f(): pass", "notes.txt") == []


def test_function_at_finds_the_holder_of_a_line():
    found = function_spans("def f():\n    pass\n\nx = 1\ndef g(): pass\n")
    assert function_at(found, 2) == FunctionSpan(1, 2, "f")
    assert function_at(found, 5) == FunctionSpan(5, 5, "g")
    assert function_at(found, 4) is None
    assert function_at([], 1) is None
    assert is_python("a/b.PYI")
    assert not is_python("a/py")


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


def test_every_way_of_reading_finds_the_same_functions():
    modules = [path.read_text(encoding="utf-8") for path in sorted(Path(os.__file__).parent.glob("[a-c]*.py"))]
    for source in [*ODD, *modules]:
        assert functions.spans_without_tree(source) == function_spans(source), source[:100]
    for source in modules:
        assert function_spans(source, by_indentation=True) == function_spans(source), source[:100]


@given(st.lists(st.sampled_from(BITS), max_size=40).map("".join))
def test_a_logical_line_is_the_same_by_one_expression_and_token_by_token(source):
    at_once = function_spans(source, by_indentation=True)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(functions, "_LOGICAL", re.compile(r"(?!)"))
        assert function_spans(source, by_indentation=True) == at_once


def test_lines_of_what_does_not_end_are_told():
    for source, lines in (('x = f"{1}"', []), ("x = (1,\ndef f(): pass", [(1, 1)]), ("a\nx = '''b\ndef f(): pass", [(2, 3)])):
        assert functions.unclosed_lines(source) == lines


BY_AST = """
import ast, json, sys, warnings

def spans(statements, prefix):
    for one in statements:
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield min(part.lineno for part in [one, *one.decorator_list]), one.end_lineno, prefix + one.name
            continue
        for block in ("body", "handlers", "cases", "orelse", "finalbody"):
            inside = getattr(one, block, [])
            prefixed = f"{prefix}{one.name}." if isinstance(one, ast.ClassDef) else prefix
            yield from spans(inside if isinstance(inside, list) else [], prefixed)

warnings.simplefilter("ignore")
sys.setrecursionlimit(50_000)
for path in map(str.strip, sys.stdin):
    try:
        tree = ast.parse(open(path, "rb").read().decode("utf-8-sig"))
        print(json.dumps([path, sorted(spans(tree.body, ""))]))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
"""


@pytest.mark.rare
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("minor", range(11, 15))
def test_the_functions_of_the_library_and_of_20_packages_are_those_of_each_python(minor):
    python = f"python3.{minor}" if minor != sys.version_info.minor else sys.executable
    asked = [shutil.which(python) or "false", "-c", "import os; print(os.path.dirname(os.__file__))"]
    library = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    if not library:
        pytest.skip(f"no {python}")
    packages = sorted(module.parent for module in Path(pytest.__file__).parents[1].glob("[a-z]*/__init__.py"))[:20]
    paths = [path for folder in [Path(library), *packages] for path in folder.rglob("*.py")]
    reply = subprocess.run([python, "-c", BY_AST], input="\n".join(map(str, paths)), capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in reply.stdout.splitlines()]
    assert len(rows) > 1000
    for path, expected in rows:
        source = Path(path).read_bytes().decode("utf-8-sig")
        if "\r" in source.replace("\r\n", "\n") or functions._UNSURE.search(source):
            continue
        found = function_spans(source, by_indentation=True)
        assert [[span.start, span.end, span.name] for span in found] == expected, path
