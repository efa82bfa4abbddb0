"""Names of functions as twelve languages write them, and as models write them after a path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.code.functions import function_spans
from fusesearch.code.naming import read_name

IDENTIFIER = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,8}", fullmatch=True)
RUBY = st.builds(str.__add__, IDENTIFIER, st.sampled_from("?!=")) | st.sampled_from(
    ["<=>", "==", "[]", "[]=", "+@", "!", "=~", "<<"]
)
CPP = st.builds("~{}".format, IDENTIFIER) | st.sampled_from(
    ["operator==", "operator()", "operator[]", "operator bool", "operator new", 'operator""_km', "operator<=>", "operator->"]
)
SCRIPT = (
    st.builds("#{}".format, IDENTIFIER) | st.builds("${}".format, IDENTIFIER) | st.sampled_from(["str-key", "[Symbol.iterator]"])
)
RUST = st.builds("r#{}".format, IDENTIFIER)
LAST = IDENTIFIER | RUBY | CPP | SCRIPT | RUST
NAMES = st.builds(lambda holders, last: ".".join([*holders, last]), st.lists(IDENTIFIER, max_size=3), LAST)


@given(NAMES)
def test_a_name_of_any_language_is_read_whole(name):
    assert read_name(name) == (name, "")


@given(NAMES, st.sampled_from([" (lines 3-9)", ", which fails", " - reason"]))
def test_a_name_ends_where_prose_begins(name, prose):
    assert read_name(name + prose) == (name, prose)


@given(st.text(max_size=60))
def test_any_text_is_read_without_failing(text):
    found = read_name(text)
    assert found is None or (found[0] and text.endswith(found[1]))


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Order#paid?", "Order.paid?"), ("V<T>::f", "V.f"), ("std::vector<int>::push_back", "std.vector.push_back"),
        ("(*Server).Handle", "Server.Handle"), ("<Cart as Total>::sum", "Cart.sum"),
        ("A.`adds two numbers`", "A.adds two numbers"),
        ("Foo->bar()", "Foo.bar"), ("V::operator ==", "V.operator=="), ("get(x)", "get"), ("run<|endoftext|>", "run"),
    ],
)  # fmt: skip
def test_forms_that_models_write_are_our_form(written, name):
    found = read_name(written)
    assert found is not None
    assert found[0] == name


@pytest.mark.parametrize("text", ["", "<module>", "(top level)", "12", "'quoted'", ", x"])
def test_other_text_is_no_name(text):
    assert read_name(text) is None


def test_names_of_python_are_identifiers():
    assert read_name("f?", "a.py") == ("f", "?")
    assert read_name("f?", "a.rb") == ("f?", "")
    assert read_name("#f", "a.py") is None


SOURCES = {
    "a.kt": "class A {\n fun `adds two`() { x() }\n fun plain() { y() }\n}\n",
    "a.rs": "fn r#match() { }\nimpl X for V<T> { fn f() {} }\nimpl fmt::Display for [u8] { fn g() {} }\n",
    "a.js": (
        "class A { #p() { return 1 } 'str-key'() { return 2 } [Symbol.iterator]() { return 1 } }\n"
        "$s.load = function() { return 1 }\n"
    ),
    "a.rb": "class A\n" + "".join(f" def {name}\n 1\n end\n" for name in ("ok?", "n=(x)", "<=>(o)", "[]=(k, v)", "!")) + "end\n",
    "a.cs": "class A { public static A operator +(A a, A b) { return a; } public static bool operator ==(A a, A b) => true; }\n",
    "a.cpp": (
        "struct V { V& operator++() { return *this; } void operator()(int) {} operator bool() { return 1; } ~V() {}\n"
        "void* operator new(size_t s) { return 0; } };\ntemplate<> void V<int>::f() { }\n"
    ),
    "a.go": "package x\nfunc (s *Server) Handle() { }\nfunc (l List[T]) Len() int { return 1 }\n",
    "a.php": "<?php class A { function &ref() { return 1; } }\n",
}  # fmt: skip


@pytest.mark.parametrize("path", SOURCES)
def test_each_name_of_a_source_is_read_as_its_spans_have_it(path):
    names = [span.name for span in function_spans(SOURCES[path], path)]
    assert len(names) >= 1
    for name in names:
        if " " in name and "operator" not in name:  # written in backticks
            continue
        assert read_name(name, path) == (name, "")
