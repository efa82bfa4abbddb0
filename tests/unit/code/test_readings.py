"""Functions of sources that grammars cannot parse as they stand, and of newer syntax."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fusesearch.code.functions import function_spans, is_python
from fusesearch.code.other.languages import language_of
from fusesearch.code.other.parsing import read_syntax
from fusesearch.code.other.readings import readings
from fusesearch.code.other.syntax import read_source


def constructs() -> list[tuple[str, str, list[tuple[int, int, str]]]]:
    """The cases of constructs.txt: a file's name and source, then its functions with their lines."""
    rows = []
    for part in (Path(__file__).parent / "constructs.txt").read_text().split("==== ")[1:]:
        name, _, rest = part.partition("\n")
        source, _, listed = rest.rpartition("---- ")
        functions = [re.fullmatch(r"(\d+)-(\d+) (.+)", one) for one in listed.strip().split("  ") if one]
        rows.append((name, source, [(int(one[1]), int(one[2]), one[3]) for one in functions if one]))
    return rows


EVERY = constructs()


@pytest.mark.parametrize(("path", "source", "functions"), EVERY, ids=[row[0] for row in EVERY])
def test_functions(path: str, source: str, functions: list[tuple[int, int, str]]) -> None:
    assert [(span.start, span.end, span.name) for span in function_spans(source, path)] == functions
    if is_python(path) and "def \\" not in source:  # whose name stands on the next line, only the tree tells
        assert function_spans(source, path, by_indentation=True) == function_spans(source, path)
    syntax = read_syntax(source, language_of(path, source) or "") if not is_python(path) else None
    outside = [
        (first, last) for first, last in (syntax.unread if syntax else ())
        if not any(start <= last and first <= end for start, end, _ in functions)
    ]  # fmt: skip
    assert bool(outside) == ("unread" in path)


@pytest.mark.parametrize(
    "path", ["a.c", "a.cpp", "a.cs", "a.kt", "a.rs", "a.ts", "a.go", "a.php", "a.rb", "a.java", "a.swift", "a.scala"]
)
def test_what_cannot_be_read_is_told(path: str) -> None:
    source = "<?php\n" * (path == "a.php") + "class ) { ]] ((\n" * 3
    syntax = read_syntax(source, language_of(path, source) or "")
    assert syntax is not None
    assert syntax.unread


BROKEN = """class A {
  int a() {
    try { f(); }}
    catch (E e) { g(); }
    if (x) { g(); } else { f(); }
    for (;;) { g(); }
    while (x) { g(); }
    switch (x) { case 1: g(); }
    return (x);
  }
}
"""


@pytest.mark.parametrize(
    "path",
    ["a.c", "a.cpp", "a.cs", "a.java", "a.js", "a.ts", "a.tsx", "a.go", "a.php", "a.rs", "a.kt", "a.swift", "a.scala", "a.sc"],
)
def test_no_function_is_named_by_a_keyword(path: str) -> None:
    header = {".php": "function", ".js": "", ".ts": "", ".tsx": "", ".go": "func", ".rs": "fn", ".kt": "fun", ".swift": "func"}
    header |= {".scala": "def", ".sc": "def"}
    source = "<?php\n" * (path == "a.php") + BROKEN.replace("int", header.get(path[1:], "int"))
    words = set() if path == "a.c" else {"catch"}
    words |= {"if", "else", "for", "while", "switch", "case", "return"}
    for cut in range(0, len(source), 5):
        names = {span.name.rpartition(".")[2] for span in function_spans(source[:cut] + source[cut + 1 :], path)}
        assert not names & words, (cut, names)


@given(st.text(alphabet="#if0else ndABC_({[]})\"'/*\\\n x;:,<>", max_size=200))
@example("TEST(\n    Suite,\n    enum) {\n}\nint c() { return 1; }\n")
@example("template <typename T, ENABLE_IF\n(\nx)> void f();\nvoid g() { int class; }\n")
@example("ENTRY(\n  unsigned int x)\n{\n  return 1;\n}\n")
@example("context(\n  a: B)\nfun f() {}\n@A\nget() = 1\n")
def test_readings_keep_every_line(text: str) -> None:
    data = text.encode()
    for language in ("c", "cpp", "csharp", "kotlin", "swift"):
        for reading in readings(data, language):
            assert [len(line) for line in reading.split(b"\n")] == [len(line) for line in data.split(b"\n")]


@given(st.text(alphabet="abc \n(){};", max_size=200))
def test_nothing_is_blanked_without_directives_and_macros(text: str) -> None:
    assert set(readings(text.encode(), "c") + readings(text.encode(), "cpp")) == {text.encode()}


def test_a_hopeless_source_costs_no_more_than_its_length_says() -> None:
    source = "class A {\n" + "@ ( int f { ] ; }\n" * 3000 + "int last() { return 1; }\n}\n"
    started = time.process_time()
    assert read_source(source.encode(), "java").unread
    assert time.process_time() - started < 4
