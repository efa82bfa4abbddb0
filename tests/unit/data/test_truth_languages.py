"""Truth in the languages that tree-sitter reads, by the same rules as in Python."""

import difflib
import re

import pytest

from fusesearch.core.schema import Truth
from fusesearch.data.truth import truth_from_patch

SOURCES = {
    "a.js": ("class A {\n  f() {\n    // why\n    return 1;\n  }\n}\n\nconst g = () => {\n  return 3;\n};\n", "A.f", "g"),
    "a.ts": ("class A {\n  f(): number {\n    // why\n    return 1;\n  }\n}\n\nconst g = () => {\n  return 3;\n};\n", "A.f", "g"),
    "a.tsx": (
        "class A {\n  f() {\n    // why\n    return 1;\n  }\n}\n\nconst g = () => {\n  return <b>{3}</b>;\n};\n",
        "A.f",
        "g",
    ),
    "A.java": ("class A {\n  int f() {\n    // why\n    return 1;\n  }\n\n  int g() {\n    return 3;\n  }\n}\n", "A.f", "A.g"),
    "a.go": ("package p\n\nfunc (a *A) f() int {\n\t// why\n\treturn 1\n}\n\nfunc g() int {\n\treturn 3\n}\n", "A.f", "g"),
    "a.rs": ("impl A {\n  fn f() -> i32 {\n    // why\n    return 1;\n  }\n}\n\nfn g() -> i32 {\n  return 3;\n}\n", "A.f", "g"),
    "a.c": ("int f(void)\n{\n  // why\n  return 1;\n}\n\nint g(void)\n{\n  return 3;\n}\n", "f", "g"),
    "a.cpp": ("int A::f() {\n  // why\n  return 1;\n}\n\nint g() {\n  return 3;\n}\n", "A.f", "g"),
    "a.h": ("class A {\n  int f() {\n    // why\n    return 1;\n  }\n};\n\nint g() {\n  return 3;\n}\n", "A.f", "g"),
    "A.cs": ("class A {\n  int f() {\n    // why\n    return 1;\n  }\n\n  int g() {\n    return 3;\n  }\n}\n", "A.f", "A.g"),
    "a.rb": ("class A\n  def f\n    # why\n    return 1\n  end\nend\n\ndef g\n  return 3\nend\n", "A.f", "g"),
    "a.php": ("<?php\nclass A {\nfunction f() {\n  // why\n  return 1;\n}\n}\n\nfunction g() {\n  return 3;\n}\n", "A.f", "g"),
    "a.kt": ("class A {\n  fun f(): Int {\n    // why\n    return 1\n  }\n}\n\nfun g(): Int {\n  return 3\n}\n", "A.f", "g"),
    "a.swift": ("class A {\nfunc f() -> Int {\n// why\nreturn 1\n}\n}\n\nfunc g() -> Int {\nreturn 3\n}\n", "A.f", "g"),
    "a.scala": ("class A:\n  def f: Int =\n    // why\n    1\n\nobject B:\n  def g: Int =\n    3\n", "A.f", "B.g"),
}


def truth(path: str, old: str, new: str) -> Truth:
    sides = [text.splitlines(keepends=True) for text in (old, new)]
    patch = "".join(difflib.unified_diff(*sides, f"a/{path}", f"b/{path}"))
    return truth_from_patch(patch.replace("\r\n", "\n"), {path: old}.get)


@pytest.mark.parametrize("path", SOURCES)
def test_the_rules_of_python_hold_in_every_language(path):
    old, first, second = SOURCES[path]
    changed = truth(path, old, old.replace("1", "2"))
    assert changed.functions == [f"{path}::{first}"]
    number = old[: old.index("1")].count("\n") + 1
    assert changed.lines == {path: [(number, number)]}
    assert truth(path, old, re.sub(r"\b3\b", "4", old)).functions == [f"{path}::{second}"]
    # comments, blanks and lost line ends modify none
    for new in (old.replace("why", "wherefore"), old.replace("1;", "1;  "), old.replace("\n\n", "\n\n\n")):
        if new != old:
            assert truth(path, old, new) == Truth(files=[path], lines=truth(path, old, new).lines)
    assert truth(path, old.replace("\n", "\r\n"), old.replace("\n", "\r\n").replace("1", "2")).functions
    # a renamed function is modified and added, and a new file adds all
    renamed = truth(path, old, re.sub(r"\bg\b", "late", old))
    assert renamed.functions == [f"{path}::{second}"]
    assert renamed.added_functions == [f"{path}::{second.removesuffix('g')}late"]
    body = "".join(f"+{line}\n" for line in old.splitlines())
    patch = f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{old.count(chr(10))} @@\n{body}"
    assert truth_from_patch(patch, {}.get) == Truth(added_files=[path], added_functions=[f"{path}::{first}", f"{path}::{second}"])


def test_a_renamed_file_keeps_the_names_it_had_in_another_language_and_what_cannot_be_parsed_is_told():
    patch = "diff --git a/a.js b/a.ts\nsimilarity index 90%\nrename from a.js\nrename to a.ts\n--- a/a.js\n+++ b/a.ts\n"
    patch += "@@ -4 +4 @@\n-    return 1;\n+    return 2;\n"
    found = truth_from_patch(patch, {"a.js": SOURCES["a.js"][0]}.get)
    assert found == Truth(files=["a.js"], functions=["a.js::A.f"], lines={"a.js": [(4, 4)]})
    broken = "class ) { ]] ((\n" * 5
    for path in ("a.c", "a.cpp", "a.kt", "a.cs", "a.swift", "a.scala"):
        found = truth(path, broken, broken.replace("((", "((x", 1))
        assert (found.files, found.functions, found.unread) == ([path], [], [path])


MACRO = "SSL_METHOD\nf() {\n  return 1;\n}\n\nint g() { return 2; }\n\nclass Store {\n};\n"
NAMED = '@JvmName("x")\ninternal fun f(): Int {\n  return 1\n}\n'


@pytest.mark.parametrize(
    ("path", "old", "before", "after", "functions"),
    [
        ("a.h", "int f() {\n  return 1;\n}\n", "1", "a::b", ["f"]),  # one language on both sides
        ("a.cpp", "int f(int x) {\n  return x;\n}\n" + "class ) { ]] ((\n" * 3, "return x", "return 1", ["f"]),
        ("a.c", "#ifdef A\nint b(int x) {\n#else\nint b(long x) {\n#endif\n  return x;\n}\n", "return x", "return 1", ["b"]),
        ("a.cpp", MACRO, "class Store {", "class API_X Store : public Base {", []),
        ("a.kt", NAMED, "}\n", "}\n\n/** Why. */\nval d = 1\n", []),
        ("a.kt", NAMED, '"x"', '"y"', ["f"]),
        ("a.rs", SOURCES["a.rs"][0], "fn g", "#[inline]\nfn g", ["g"]),
        ("A.java", SOURCES["A.java"][0], "  int g", "  @Override\n  int g", ["A.g"]),
    ],
)
def test_the_function_of_a_change_is_known_whatever_stands_around_it(path, old, before, after, functions):
    found = truth(path, old, old.replace(before, after))
    assert (found.functions, found.added_functions, found.unread) == ([f"{path}::{name}" for name in functions], [], [])
