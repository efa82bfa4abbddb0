"""The reader of languages that tree-sitter reads: comments, bounds. What a function is, ``constructs.txt`` says."""

import ast
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusesearch.code
from fusesearch.code.functions import function_spans
from fusesearch.code.other import parsing
from fusesearch.code.other.languages import LANGUAGES, language_of
from fusesearch.code.other.parsing import read_spans, read_syntax


def spans(path: str, source: str) -> list[tuple[str, int, int]]:
    return [(span.name, span.start, span.end) for span in function_spans(source, path)]


def test_one_import_leads_from_the_code_of_python_to_the_other_languages():
    room = Path(fusesearch.code.__file__).parent
    imports = [
        (path.name, ast.unparse(node))
        for path in room.rglob("*.py")
        if path.parent.name != "other"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom) and "code.other" in ast.unparse(node)
    ]
    assert imports == [("reader.py", "from fusesearch.code.other import reader")]


@pytest.mark.parametrize(
    ("path", "source", "code"),
    [
        ("a.js", "a(); // x\n/* y\n z */ b('// no');\n", ["a();", "", "      b('// no');", ""]),
        ("a.java", "class A { /** d */ int x; // e\n}", ["class A {          int x;", "}"]),
        ("a.rs", "/// doc\nfn f() {} // é\n", ["", "fn f() {}", ""]),
        ("a.rb", "# a\nx = '#b' # c\n", ["", "x = '#b'", ""]),
        ("a.php", "<?php # a\n$x = 1; // b\n", ["<?php", "$x = 1;", ""]),
        ("a.kt", "/* a\n*/ val x = 1 // b\n", ["", "   val x = 1", ""]),
        ("a.swift", "/* a /* b\n*/ c */ let x = 1 // b\n/// d\n", ["", "   let x = 1", "", ""]),
        ("a.scala", "/* a /* b\n*/ c */ val x = 1 // b\n", ["", "   val x = 1", ""]),
        ("a.cs", "int x; // a\n", ["int x;", ""]),
        ("a.go", "package p // a\n", ["package p", ""]),
        ("a.cpp", "int x; /* é */ int y;\n", ["int x;            int y;", ""]),
    ],
)
def test_comments_are_no_code(path, source, code):
    found = read_syntax(source, language_of(path) or "")
    assert found is not None
    assert [line.split() for line in found.code] == [line.split() for line in code]


def test_broken_sources_keep_the_functions_that_are_whole_and_exports_have_their_own_name_or_that_of_the_export():
    assert spans("a.go", "package p\nfunc A() {}\nfunc B( {\nfunc C() {}\n")[0] == ("A", 2, 2)
    assert spans("A.java", "}}}} class A { void f() {} }")[0][0] == "A.f"
    assert spans("a.js", "module.exports = function parse() {};\n") == [("parse", 1, 1)]
    assert spans("a.js", "module.exports = () => 1;\n") == [("exports", 1, 1)]


def test_a_file_past_the_bounds_has_no_functions_a_fault_is_told_and_the_next_file_has_its_own(monkeypatch):
    with pytest.raises(RuntimeError, match="KeyError"):
        read_syntax("x", "cobol")
    assert function_spans("function f() {}" + " " * parsing.MAX_CHARS, "a.js") == []
    monkeypatch.setattr(parsing, "_child", cache(lambda _: parsing.Answerer(parsing.__name__, "0.5")))
    assert read_syntax("a<" * 400_000, "cpp") is None  # ended by its limit of processor time
    assert spans("a.js", "function f() {}") == [("f", 1, 1)]


@pytest.mark.parametrize("name", LANGUAGES)
@given(source=st.text(alphabet="fn class{}()<>=;:'\"`/*#@\n\t aé\0", max_size=120))
def test_any_text_gives_ordered_spans_within_it(name, source):
    found = read_syntax(source, name)
    assert found is not None
    assert found.spans == read_spans(source, name)
    assert len(found.code) == source.count("\n") + 1
    assert found.spans == sorted(found.spans)
    assert all(1 <= span.start <= span.end <= len(found.code) for span in found.spans)
