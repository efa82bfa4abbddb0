"""What a function calls and what calls it, where the calls have no brackets, types before them, or a block."""

from __future__ import annotations

from pathlib import Path

import pytest

from fusesearch.code.other.plain import calls_in, without_text
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.neighbours import Neighbours, Spot
from fusesearch.search.repository import Repository
from tests.fakes.git import files_in, write

RUBY = {
    "lib/cluster.rb": """\
class Cluster
  def wait_workers(limit, name: 1)
    # reap what is gone
    worker = find_worker(:term)
    @options[:fork_worker] || log("kill #{worker}")
    @list.reject! { |handle, tag| handle.stopped? && tag }
    { size: workers.size, close: false }
    limit
  end
  def find_worker(kind) = kind
end
""",
    "lib/other.rb": "class Other\n"
    + "".join(
        f"  def {name}; end\n" for name in ["reap", "term", "worker", "fork_worker", "kill", "tag", "close", "limit", "stopped?"]
    )
    + "  def log(text); end\n  def run_all\n    wait_workers 1\n  end\n"
    + "  def keep\n    @wait_workers = :wait_workers\n  end\nend\n",
}
TYPED = {
    "src/Map.cs": """\
class Mapper {
    public T Convert<T>(object source) { return Build<List<T>>(source); }
    // Convert<int>(1) in a comment
    void Note() { var text = "Convert<int>(1)"; }
}
""",
    "src/Use.cs": "class User { int Use(Mapper m) { return m.Convert<int>(1); } }\n"
    "class Maker { object Build<T>(object x) { return x; } }\n",
}
KOTLIN = {
    "a.kt": "fun module(block: () -> Unit) = block()\nfun single(block: () -> Unit) {}\n",
    "b.kt": "fun appModule() = module {\n    single { 1 }\n}\n",
}
SWIFT = {
    "a.swift": "func load<T>(_ type: T.Type) -> T { decode() }\nfunc stack(_ of: () -> Int) -> Int { of() }\n",
    "b.swift": "struct App {\n  var body: Int { stack { load(Int.self) } }\n}\n",
}
SCALA = {
    "a.scala": "object Codec:\n  def decode[A](text: String): A = ???\n",
    "b.scala": 'class Use:\n  def use = Codec.decode[List[Int]]("x")\n',
    "build.sc": 'def script = Codec.decode[Int]("x")\n',
}
MADE = files_in(Path(__file__).parent / "construction.txt")


@pytest.mark.parametrize(
    ("files", "name", "callees", "callers"),
    [
        (RUBY, "Cluster.wait_workers", ["Cluster.find_worker", "Other.log", "Other.stopped?"], ["Other.run_all"]),
        (TYPED, "Mapper.Convert", ["Maker.Build"], ["User.Use"]),
        (KOTLIN, "module", [], ["appModule"]),
        (KOTLIN, "appModule", ["module", "single"], []),
        (SWIFT, "load", [], ["App.body"]),
        (SWIFT, "App.body", ["stack", "load"], []),
        (SCALA, "Codec.decode", [], ["Use.use", "script"]),
        (SCALA, "Use.use", ["Codec.decode"], []),
        (SCALA, "script", ["Codec.decode"], []),
        (MADE, "Cart.init", ["check"], ["sell", "sellAgain", "all"]),
        (MADE, "sellAgain", ["Cart.init"], []),
        (MADE, "Cart.Line.init", [], ["line"]),
        (MADE, "line", ["Cart.Line.init", "Two.init"], []),
        (MADE, "Task.init", [], ["started"]),
        (MADE, "Room.constructor", [], ["makes"]),
        (MADE, "sent", ["actor"], []),
        (MADE, "basket", [], []),
    ],
)
def test_callees_and_callers(tmp_path: Path, files: dict[str, str], name: str, callees: list[str], callers: list[str]):
    with Index(Repository(write(tmp_path / "tree", files)), tmp_path / "index") as index:
        spots = [Spot(path, span) for path, facts in index.facts(index.paths) for span in facts.functions if span.name == name]
        neighbours = Neighbours(index)
        neighbours.learn(spots)
        assert [one.span.name for one in neighbours.callees(spots[0])] == callees
        assert [one.spot.span.name for one in neighbours.uses(spots[0]) if one.sure and one.spot.span.name] == callers


def test_text_is_blanked_out_in_place_and_calls_of_ruby_are_told_from_its_other_words():
    source = "def f(a, b: 1)\n  c = a.d\n  c\n  e(c)\n  @g.h { |i| i.j }\n  :k\n  l: 1\n  M::N.new\nend\n"
    assert calls_in(source, "a.rb") == ["d", "e", "h", "j", "M", "N", "new", "end"]
    for path, source, expected in [
        ("a.go", "f(\"a(b)\") // g(1)\nx := 'c'", "f(      )        \nx :=    "),
        ("a.rs", "fn f<'a>(x: &'a str) { g('x') }", "fn f<'a>(x: &'a str) { g(   ) }"),
        ("a.rb", "f 'a' # g\nh", "f        \nh"),
        ("a.py", "f'{g(1)} h(1)' + 'h(1)'", "   g(1)        +       "),
        ("a.rb", '"#{g} h"', "   g    "),
        ("a.cs", '$"{g(1)}, {{h}}"', "   g(1)         "),
        ("a.ts", "`f(1) ${g(1)}`", "        g(1)  "),
        ("a.js", "f('a') /* g\n(1) */ + h()", "f(   )     \n       + h()"),
    ]:
        assert without_text(source, path) == expected
