"""Functions of the languages that tree-sitter reads: what is one, what it is called, which lines it has."""

import textwrap
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fusesearch.code import parsing
from fusesearch.code.functions import function_spans
from fusesearch.code.languages import LANGUAGES, language_of
from fusesearch.code.parsing import read_spans, read_syntax


def spans(path: str, source: str) -> list[tuple[str, int, int]]:
    found = function_spans(textwrap.dedent(source).lstrip("\n"), path)
    return [(span.name, span.start, span.end) for span in found]


JAVASCRIPT = """
import x from "y";
function top() {
  function inner() {}
  return inner;
}
export async function* stream() {}
export const arrow = (a) => {
  return a;
}, plain = 3;
class Box {
  static #size = 1;
  constructor() {}
  get width() { return 1; }
  handler = () => {
    return 2;
  };
}
const api = {
  list() {},
  get: function () {},
  nested: { deep: () => 1 },
  [computed]: () => 1,
};
Foo.prototype.bar = function () {};
module.exports = { main() {} };
exports.helper = () => {};
(function () {
  function wrapped() {}
})();
describe("x", () => {
  it("y", () => {
    const local = function () {};
  });
});
const { a, b } = () => 1;
items.map((item) => item.id);
export default () => {};
"""

TYPESCRIPT = """
namespace Outer.Inner {
  export function f(): void {}
}
export function over(a: string): void;
export function over(a: any) {}
abstract class Service<T> {
  @Input()
  @Output()
  public name(): string { return ""; }
  abstract q(): void;
}
interface Shape { area(): number; }
declare function ambient(): void;
const typed = <T,>(x: T): T => x;
"""

TSX = """
export const Button: React.FC<Props> = ({ label }) => {
  return <button onClick={() => 1}>{label}</button>;
};
"""

JAVA = """
package p;
public class Outer<T> {
    /** Doc. */
    @Override
    public int run(int x) throws E {
        Runnable r = new Runnable() { public void run() {} };
        return x;
    }
    Outer() {}
    static class Inner { void m() {} }
    enum Kind { A { void k() {} }; }
    record Pair(int a) { Pair { check(a); } }
}
interface Shape { int area(); default int twice() { return 2; } }
"""

GO = """
package p

// About F.
func F() {
	g := func() {}
	g()
}
func (r *T[K, V]) Method() error { return nil }
func (T) Unnamed() {}
func Gen[T any](x T) {}
var handler = func() {
}
type I interface { X() }
func external()
"""

RUST = """
mod tests {
    #[test]
    // why
    #[ignore]
    fn t() {}
}
impl<'a, T: X> Display for a::Foo<'a, T> {
    /// Doc.
    pub fn show(&self) -> i32 {
        fn inner() {}
        1
    }
}
impl Tr for &mut Bar { fn h() {} }
trait Z { fn given() {} fn wanted(); }
extern "C" { fn ext(); }
"""

C = """
#include <x.h>
int declared(int);
static int *pointer(int x)
{
  return 0;
}
int (*returns_pointer(int x))(int) { return 0; }
#ifdef X
void conditional(void) {}
#endif
struct s { int (*f)(void); };
"""

CPP = """
namespace a::b { namespace {
template <typename T>
class C : D {
 public:
  C() : x(1) {}
  ~C() = default;
  int f() const { return 1; }
  operator bool() const { return true; }
  C& operator=(const C&) { return *this; }
  void declared();
};
} }
template <class T>
int a::b::C<T>::declared() { return 0; }
extern "C" { void e() {} }
S::~S() {}
bool operator==(const S& a, const S& b) { return true; }
auto trailing() -> int { return 1; }
int attempt() try { return 1; } catch (...) { return 2; }
"""

CSHARP = """
namespace N.M {
  class A<T> : B {
    [Fact]
    public int F<U>() { int local() => 1; return 1; }
    int Auto { get; set; }
    int Computed => 1;
    int Full { get { return 1; } set { } }
    public A() {}
    ~A() {}
    public static A operator +(A a, A b) { return a; }
    public static implicit operator int(A a) => 1;
    public int this[int i] { get { return 1; } }
  }
  interface I { void Declared(); }
}
"""

RUBY = """
module M
  class A::B < C
    def ask?; end
    def self.make
      1
    end
    class << self
      def level=(x) = 1
    end
    private def hidden
    end
  end
end
describe "x" do
  def helper; end
end
"""

PHP = """
<?php
namespace A\\B;
#[X]
function f() {}
abstract class C {
    /** Doc. */
    public static function make(): self { return new class { function inner() {} }; }
    abstract function declared();
}
trait T { function t() {} }
enum E { case A; public function e() {} }
$x = function () {};
if (true) { function g() {} }
"""

KOTLIN = """
package p
class A(val x: Int) : B() {
    @Test
    override fun f(): Int {
        fun inner() {}
        return 1
    }
    val y: Int get() = 1
    val plain = 1
    constructor(s: String) : this(1) { use(s) }
    companion object { fun make() = A(1) }
}
interface I {
    fun declared()
}
object O { fun o() {} }
fun <T> List<T>.extended(): Int = 1
fun String?.maybe(): Int = 1
"""


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("a.js", JAVASCRIPT, [
            ("top", 2, 5), ("stream", 6, 6), ("arrow", 7, 9), ("Box.constructor", 12, 12), ("Box.width", 13, 13),
            ("Box.handler", 14, 16), ("api.list", 19, 19), ("api.get", 20, 20), ("api.nested.deep", 21, 21),
            ("Foo.bar", 24, 24), ("main", 25, 25), ("helper", 26, 26), ("wrapped", 28, 28), ("local", 32, 32),
            ("default", 37, 37),
        ]),
        ("a.ts", TYPESCRIPT, [("Outer.Inner.f", 2, 2), ("over", 5, 5), ("Service.name", 7, 9), ("typed", 14, 14)]),
        ("a.tsx", TSX, [("Button", 1, 3)]),
        ("A.java", JAVA, [
            ("Outer.run", 4, 8), ("Outer.Outer", 9, 9), ("Outer.Inner.m", 10, 10), ("Outer.Kind.k", 11, 11),
            ("Outer.Pair.Pair", 12, 12), ("Shape.twice", 14, 14),
        ]),
        ("a.go", GO, [("F", 4, 7), ("T.Method", 8, 8), ("T.Unnamed", 9, 9), ("Gen", 10, 10), ("handler", 11, 12)]),
        ("a.rs", RUST, [("tests.t", 2, 5), ("Foo.show", 9, 12), ("Bar.h", 14, 14), ("Z.given", 15, 15)]),
        ("a.c", C, [("pointer", 3, 6), ("returns_pointer", 7, 7), ("conditional", 9, 9)]),
        ("a.h", C, [("pointer", 3, 6), ("returns_pointer", 7, 7), ("conditional", 9, 9)]),
        ("a.h", CPP, [
            ("a.b.C.C", 5, 5), ("a.b.C.f", 7, 7), ("a.b.C.operator bool", 8, 8), ("a.b.C.operator=", 9, 9),
            ("a.b.C.declared", 13, 14), ("e", 15, 15), ("S.~S", 16, 16), ("operator==", 17, 17), ("trailing", 18, 18),
            ("attempt", 19, 19),
        ]),
        ("A.cs", CSHARP, [
            ("A.F", 3, 4), ("A.Computed", 6, 6), ("A.Full", 7, 7), ("A.A", 8, 8), ("A.~A", 9, 9), ("A.operator +", 10, 10),
            ("A.operator int", 11, 11), ("A.this", 12, 12),
        ]),
        ("a.rb", RUBY, [
            ("M.A.B.ask?", 3, 3), ("M.A.B.make", 4, 6), ("M.A.B.level=", 8, 8), ("M.A.B.hidden", 10, 11), ("helper", 15, 15),
        ]),
        ("a.php", PHP, [("f", 3, 4), ("C.make", 7, 7), ("T.t", 10, 10), ("E.e", 11, 11), ("g", 13, 13)]),
        ("a.kt", KOTLIN, [
            ("A.f", 3, 7), ("A.y", 8, 8), ("A.constructor", 10, 10), ("A.make", 11, 11), ("O.o", 16, 16),
            ("List.extended", 17, 17), ("String.maybe", 18, 18),
        ]),
    ],
)  # fmt: skip
def test_functions_of_a_language(path, source, expected):
    assert spans(path, source) == expected


def test_every_language_has_a_suffix_and_a_test_above():
    paths = ["a.js", "a.ts", "a.tsx", "A.java", "a.go", "a.rs", "a.c", "a.cpp", "A.cs", "a.rb", "a.php", "a.kt"]
    assert [language_of(path) for path in paths] == list(LANGUAGES)
    assert language_of("Makefile") is None
    assert language_of("a.d/notes") is None
    assert language_of("A.CPP") == "cpp"


@pytest.mark.parametrize(
    ("path", "source", "code"),
    [
        ("a.js", "a(); // x\n/* y\n z */ b('// no');\n", ["a();", "", "      b('// no');", ""]),
        ("a.java", "class A { /** d */ int x; // e\n}", ["class A {          int x;", "}"]),
        ("a.rs", "/// doc\nfn f() {} // é\n", ["", "fn f() {}", ""]),
        ("a.rb", "# a\nx = '#b' # c\n", ["", "x = '#b'", ""]),
        ("a.php", "<?php # a\n$x = 1; // b\n", ["<?php", "$x = 1;", ""]),
        ("a.kt", "/* a\n*/ val x = 1 // b\n", ["", "   val x = 1", ""]),
        ("a.cs", "int x; // a\n", ["int x;", ""]),
        ("a.go", "package p // a\n", ["package p", ""]),
        ("a.cpp", "int x; /* é */ int y;\n", ["int x;            int y;", ""]),
    ],
)
def test_comments_are_no_code(path, source, code):
    found = read_syntax(source, language_of(path) or "")
    assert found is not None
    assert [line.split() for line in found.code] == [line.split() for line in code]


def test_what_a_module_exports_has_its_own_name_or_that_of_the_export():
    assert spans("a.js", "module.exports = function parse() {};\n") == [("parse", 1, 1)]
    assert spans("a.js", "module.exports = () => 1;\n") == [("exports", 1, 1)]


def test_broken_sources_keep_the_functions_that_are_whole():
    names = [name for name, _, _ in spans("a.go", "package p\nfunc A() {}\nfunc B( {\nfunc C() {}\n")]
    assert names[0] == "A"
    assert spans("A.java", "}}}} class A { void f() {} }")[0][0] == "A.f"


def test_a_file_past_the_bounds_has_no_functions_and_the_next_one_has(monkeypatch):
    assert function_spans("function f() {}" + " " * parsing.MAX_CHARS, "a.js") == []
    monkeypatch.setattr(parsing, "CPU_SECONDS", 0.5)
    monkeypatch.setattr(parsing, "_child", cache(lambda _: parsing._Child()))
    assert read_syntax("a<" * 400_000, "cpp") is None  # ended by its limit of processor time
    assert spans("a.js", "function f() {}") == [("f", 1, 1)]


def test_a_fault_of_the_reader_is_told_not_hidden():
    with pytest.raises(RuntimeError, match="KeyError"):
        read_syntax("x", "cobol")
    assert spans("a.js", "function f() {}") == [("f", 1, 1)]


@pytest.mark.parametrize("name", LANGUAGES)
@settings(max_examples=30)
@given(source=st.text(alphabet="fn class{}()<>=;:'\"`/*#@\n\t aé\0", max_size=120))
def test_any_text_gives_ordered_spans_within_it(name, source):
    found = read_syntax(source, name)
    assert found is not None
    assert found.spans == read_spans(source, name)
    assert len(found.code) == source.count("\n") + 1
    assert found.spans == sorted(found.spans)
    assert all(1 <= span.start <= span.end <= len(found.code) for span in found.spans)
