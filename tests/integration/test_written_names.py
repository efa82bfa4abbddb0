"""Names in every form that models write, through the reader of every localizer that has the file at hand."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.agents.parsing import format_answer, parse_answer
from fusesearch.code.functions import function_spans
from fusesearch.code.names import Namer, locate
from fusesearch.code.naming import spelled
from fusesearch.code.outline import outline
from fusesearch.core.schema import Answer, Location
from fusesearch.localizers.fenced import read_named, read_paths
from fusesearch.localizers.locagent import read_answer
from fusesearch.localizers.located import with_lines
from fusesearch.localizers.orcaloca import _location
from fusesearch.localizers.orcaloca.replies import read_conclusion
from fusesearch.localizers.ranker.evidence import draw_evidence
from fusesearch.search.repository import Repository
from tests.fakes.git import files_in, write
from tests.unit.code.test_naming import NAMES

SOURCES = files_in(Path(__file__).parent / "written_names.txt")

ODD = [tuple(line.split(" ", 1)) for line in (Path(__file__).parents[1] / "unit/code/odd_names.txt").read_text().splitlines()]
"""Names of public repositories (fmt, zstd, Polly, eslint, vite, okio, rack, tokio, ...), each after a path of its language."""
FOUND = [span.name for path, source in SOURCES.items() for span in function_spans(source, path)]


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    root = tmp_path_factory.mktemp("tree")
    return Repository(write(root, SOURCES))


def fenced(text, path):
    contents = outline(path, SOURCES[path])
    found = [locate(row, contents) for row in read_named(f"```\n{text}\n```", 9, set(SOURCES))]
    return [location.function for location in found if location]


def located(text, tree):
    return [one.function for one in read_answer(f"```\n{text}\n```", Namer(tree)).modify]


READERS = {
    "fenced": lambda path, name, tree: fenced(f"{path}\nfunction: {name}", path),
    "fenced, one line": lambda path, name, tree: fenced(f"{path}::{name}", path),
    "fenced, marked up": lambda path, name, tree: fenced(f"{path}\n- **function:** `{name}`", path),
    "locagent": lambda path, name, tree: located(f"{path}\nfunction: {name}", tree),
    "locagent, one line": lambda path, name, tree: located(f"{path}::{name}", tree),
    "orcaloca": lambda path, name, tree: [
        _location(suspect, Namer(tree)).function
        for suspect in read_conclusion(json.dumps({"bug_locations": [{"file_path": path, "method_name": name}]}))
    ],
}

FORMS = [
    ("lib/order.rb", "Order.paid?", ["Order#paid?", "Order::paid?", "paid?", "def paid?",
        "Order.paid? (lines 2-4)", "Order.paid? - why"]),
    ("lib/order.rb", "Order.paid=", ["Order#paid=", "Order#paid=(v)", "paid=", "def paid=(v)"]),
    ("lib/order.rb", "Order.[]=", ["Order#[]=", "Order#[]=(k, v)"]),
    ("lib/order.rb", "Order.<=>", ["Order#<=>", "Order.<=>(other)"]),
    ("a.cpp", "ns.V.f", ["ns::V<T>::f", "V<T>::f", "void ns::V<T>::f()", "ns::V<std::map<int, T>>::f() const"]),
    ("a.cpp", "V.operator std::string", ["V::operator std::string() const", "V::operator std::string"]),
    ("a.cpp", "V.operator char", ["V::operator const char*", "V::operator const char*() const"]),
    ("a.cpp", "V.operator new[]", ["V::operator new []", "V::operator new[](size_t)"]),
    ("a.cpp", "V.~V", ["V::~V", "~V()", "V::~V() noexcept"]),
    ("a.cpp", 'operator""_km', ['operator"" _km', 'operator ""_km']),
    ("a.cpp", "max", ["max<int>", "::max"]),
    ("a.rs", "(A,B).f", ["<(A, B) as X>::f"]),
    ("a.rs", "dynFoo+Send.h", ["<dyn Foo + Send as X>::h"]),
    ("a.rs", "C.m", ["<a::b::C<T> as X>::m", "a::b::C::<T>::m", "crate::a::C::m", "<impl X for C<T>>::m", "fn m"]),
    ("a.rs", "r#match", ["r#match", "match", "fn r#match()"]),
    ("a.js", "A.#p", ["A.#p", "A#p", "#p", "this.#p"]),
    ("a.js", "A.GET /users/:id", ["A['GET /users/:id']", 'A["GET /users/:id"]', "A.'GET /users/:id'"]),
    ("a.js", "A.[Symbol.iterator]", ["A[Symbol.iterator]", "A.[Symbol.iterator]()"]),
    ("a.js", "A.['x']", ["A['x']", "A.x"]),
    ("a.js", "A.gen", ["static async *gen()", "async gen", "A.prototype.gen"]),
    ("a.js", "o.user#created", ["o['user#created']", "o.user#created"]),
    ("a.cs", "A.Bar", ["A.IFoo<int>.Bar", "IFoo<int>.Bar", "N.A.Bar"]),
    ("a.cs", "A.operator +", ["A.operator+", "operator +", "A.operator +(A, A)"]),
    ("a.cs", "A.this", ["A.this[int]", "A.this[int i]"]),
    ("a.cs", "B.C.D", ["B<T>.C.D", "N.B<T>.C.D()"]),
    ("a.kt", "A.adds 2, fast", ["A.`adds 2, fast`()", "`adds 2, fast`", "A.adds 2, fast"]),
    ("a.kt", "A.plus", ["fun A.plus(o: A): A", "A#plus"]),
    ("a.kt", "List.second", ["List<Int>.second", "fun List<Int>.second()"]),
    ("a.swift", "A.f", ["A.f(_:by:)", "A<Int>.f", "func f(_ x: Int, by y: Int)", "A.f(_ x: Int)", "self.f"]),
    ("a.swift", "A.init", ["A.init(x:)", "A.init?(x: Int)", "init(x:)"]),
    ("a.swift", "A.subscript", ["A.subscript(_:)", "subscript(i: Int)"]),
    ("a.scala", "L.+:", ["L.+:", "L.+:(x: Int)", "def +:(x: Int)"]),
    ("a.scala", "L.unary_!", ["L.unary_!", "L#unary_!", "unary_!"]),
    ("a.scala", "L.map", ["L.map[B]", "L.map[B](f: A => B)", "L$.map", "org.acme.L.map", "L::map", "def map[B](f: A => B)"]),
    ("a.go", "Server.Handle", ["(*Server).Handle", "(s *Server[T]) Handle", "(*Server[T]).Handle",
        "x.(*Server).Handle", "func (s *Server[T]) Handle()"]),
    ("a.go", "List.Len", ["List[K, V].Len", "(List[K, V]).Len"]),
    ("A.java", "O.I.h", ["com.acme.O.I.h", "O$I.h", "O$I#h(int, String)", "I::h"]),
    ("A.java", "O.O", ["O.<init>", "O#O()"]),
    ("a.php", "A.__construct", ["App\\M\\A::__construct", "\\App\\M\\A::__construct()"]),
    ("a.php", "A.r", ["A->r", "$this->r"]),
    ("a.php", "top", ["App\\M\\top", "function top()"]),
    ("my dir/a, b's.cpp", "f", ["f", "int f()", "::f"]),
]  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
def test_each_function_of_a_source_is_found_by_its_own_name_and_no_other_by_a_name_that_the_file_lacks(repository, reader):
    for path, source in SOURCES.items():
        for span in function_spans(source, path):
            assert READERS[reader](path, span.name, repository) == [span.name], path
    for path, written in (
        ("lib/order.rb", "Order.open?"), ("lib/order.rb", "cancel"), ("a.cpp", "W::~W"), ("a.cpp", "V::operator/"),
        ("A.java", "P"),
    ):  # fmt: skip
        assert [name for name in READERS[reader](path, written, repository) if name] == [], written


@pytest.mark.parametrize(("path", "name", "forms"), FORMS)
def test_forms_that_models_write_name_the_function_of_the_file(repository, path, name, forms):
    for written in forms:
        read = {reader: found(path, written, repository) for reader, found in READERS.items()}
        assert read == {reader: [name] for reader in READERS}, written


def test_a_path_is_read_whatever_it_is_made_of_and_words_in_brackets_are_none(repository):
    for path in SOURCES:
        for line in ("{}", "`{}`", "- `{}`: why", "1. {}", "/repo/{}", "{} (the cause)"):
            text = f"```\n{line.format(path)}\n```"
            assert read_paths(text, 5, set(SOURCES)) == read_answer(text, Namer(repository)).files == [path], text
    for path in ("app/[slug]/page.tsx", "app/(shop)/cart.tsx", "routes/[[...rest]]/a.ts", "@scope/b.js"):  # not at hand
        assert read_paths(f"```\n{path}\n```", 5) == [path]
        assert [row.path for row in read_named(f"```\n{path}\nfunction: Page\n```", 5)] == [path]
    assert [read_paths(word, 5) for word in ("(a/b.py)", "[a.py]", "Foo.bar(x)", "a/b(c.py", "'a/b.py'")] == [[]] * 5


def test_answers_are_read_without_files_at_hand():
    for entry, path, function in (
        ("- /repo/my dir/a.cpp::V::f (lines 3-9)", "my dir/a.cpp", "V.f"),
        ("- /repo/docs/user guide/page.ts", "docs/user guide/page.ts", None),
        ("- /repo/app/(shop)/[id].tsx::Page", "app/(shop)/[id].tsx", "Page"),
        ("- `/repo/a, b.rb::Order#paid?`", "a, b.rb", "Order.paid?"),
        ("- Makefile", "Makefile", None),
        ("- /repo/Makefile and others", "Makefile", None),
        ("- /repo/a.rs::<(A, B) as X>::f", "a.rs", "(A,B).f"),
        ("- /repo/a.go::(s *Server) Handle(w)", "a.go", "Server.Handle"),
        ("- /repo/A.java::com.acme.O$I.h", "A.java", "O.I.h"),
        ("- ``/repo/a.js::o.user#created``", "a.js", "o.user#created"),
    ):
        (one,) = parse_answer(f"## Locations to Modify\n{entry}\n").modify
        assert (one.path, one.function) == (path, function), entry


@given(
    st.lists(
        st.sampled_from(ODD)
        | st.tuples(st.sampled_from([*SOURCES, "a/Kconfig", "src/a b/[c] (d), e.rs"]), NAMES | st.sampled_from(FOUND)),
        min_size=1,
        max_size=5,
        unique=True,
    )
)
def test_any_answer_comes_back(entities):
    answer = Answer(modify=[Location(path=path, function=name) for path, name in entities])
    text = format_answer(answer)
    assert parse_answer(text) == answer
    assert format_answer(parse_answer(text)) == text


@pytest.mark.parametrize(("path", "name"), ODD)
def test_names_of_public_repositories_come_back(path, name):
    answer = Answer(modify=[Location(path=path, function=name, lines=(3, 9))])
    assert parse_answer(format_answer(answer)) == answer
    fenced = read_named(f"```\n{path}\nfunction: {name}\n```", 9, {path})
    assert fenced[0].among([name, "other"], path) == name


@given(st.sampled_from([*SOURCES]), st.data())
def test_a_name_that_a_file_has_is_spelled_so(path, data):
    odd = st.sampled_from(ODD).map(lambda entity: entity[1])
    names = data.draw(st.lists(NAMES | st.sampled_from(FOUND) | odd, min_size=1, max_size=9, unique=True))
    name = data.draw(st.sampled_from(names))
    assert spelled(name, names, path) == name
    assert spelled(f"{name} (lines 3-9)", names, path) == name


def test_users_get_the_lines_of_a_name_in_another_form(repository):
    answer = Answer(modify=[Location(path="a.js", function="A.p"), Location(path="lib/order.rb", function="Order.paid?")])
    found = with_lines(answer, repository).modify
    assert [(one.function, one.lines) for one in found] == [("A.#p", (1, 1)), ("Order.paid?", (2, 4))]


def test_issues_name_functions_with_marks_and_the_mark_of_a_sentence_is_no_part_of_a_name():
    for issue, marked, plain in (
        ("paid? returns true", "paid?", "paid"), ("x\n\n`Order#paid?` and `paid`", "paid?", ""),
        ("x\n\n`Cart#[]=` fails", "[]=", ""), ("x\n\n`V::operator bool` fails", "operator bool", ""),
        ("order.cancel! raises", "cancel!", "cancel"), ("V::~V leaks", "~V", ""), ("x\n\n`#secret` is read", "#secret", "secret"),
    ):  # fmt: skip
        assert draw_evidence(issue).marked[marked].plain == plain
    assert [draw_evidence(issue).marked for issue in ("Is it paid? Yes", "Why is it not paid?", "It broke!")] == [{}] * 3
