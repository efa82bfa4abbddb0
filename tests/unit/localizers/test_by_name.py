"""Where names of other languages than Python are defined, and which functions call them."""

import pytest

from fusesearch.localizers.answerers.asked import Asked, read
from fusesearch.localizers.answerers.beside import beside
from fusesearch.localizers.answerers.by_name import by_name
from fusesearch.localizers.answerers.certain import Finding, find
from fusesearch.search.repository import Repository
from tests.fakes.git import write

TREE = {
    "gin.go": """\
package gin

type Engine struct {
\tname string
}

func (engine *Engine) validateHeader(header string) bool {
\treturn header != ""
}

func (c *Context) ClientIP() string {
\tif engine.validateHeader("X") {
\t\treturn "1"
\t}
\treturn ""
}
""",
    "src/arg.rs": """\
// a struct Arg in a comment
pub(crate) struct Arg {
    name: String,
}

impl Arg {
    pub fn new(name: &str) -> Self { build(name) }
    pub fn build(name: &str) -> Self { Arg { name: name.to_string() } }
}
""",
    "src/group.rs": """\
pub struct Group { size: usize }

impl Group {
    pub fn new(size: usize) -> Self { Group { size } }
}
""",
    "lib/fast.js": """\
'use strict'

function fast (options) {
  const errors = buildHandler()

  function setHandler (handler) {
    return handler
  }
  return { setHandler }
}

function buildHandler () {
  // buildHandler() is the first
  return 1
}

function again (depth) {
  return depth ? again(depth - 1) : 0
}
""",
    "app/user.rb": """\
class User
  def paid?
    true
  end

  def greet
    paid? ? 1 : 2
  end
end
""",
    "tools/run.py": "def start():\n    return 1\n",
}


@pytest.fixture
def tree(tmp_path):
    return Repository(write(tmp_path / "tree", TREE))


def asked(question: str, tree: Repository, tmp_path) -> Finding | None:
    question_read = read(question)
    assert question_read is not None
    return by_name(question_read, tree, tmp_path / "index")


@pytest.mark.parametrize(
    ("name", "entity", "line"),
    [
        ("validateHeader", "gin.go::Engine.validateHeader", 7),
        ("Context.ClientIP", "gin.go::Context.ClientIP", 11),
        ("Engine", "gin.go::Engine", 3),
        ("Arg", "src/arg.rs::Arg", 2),
        ("Arg::new", "src/arg.rs::Arg.new", 7),
        ("Group#new", "src/group.rs::Group.new", 4),
        ("buildHandler", "lib/fast.js::buildHandler", 12),
        ("setHandler", "lib/fast.js::fast", 6),
        ("`paid?`", "app/user.rb::User.paid?", 2),
    ],
)
def test_the_only_definition_of_a_name_is_the_answer(tree, tmp_path, name, entity, line):
    found = asked(f"where is {name} defined?", tree, tmp_path)
    assert found is not None
    assert (found.certain, found.values) == (True, [entity])
    assert found.lines == [f"{entity.partition('::')[0]}:{line}  {entity.partition('::')[2]}"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_sources_in_utf_16_are_read(tmp_path, encoding):
    sources = {
        "Cart.cs": "\ufeffclass Cart {\r\n  int Total() {\r\n    return Tax(1);\r\n  }\r\n}\r\n",
        "tax.cpp": "\ufeffint Tax(int x) {\n  return x;\n}\n",
    }
    for path, text in sources.items():
        (tmp_path / path).write_bytes(text.encode(encoding))
    repository = Repository(tmp_path)
    found = asked("where is Tax defined?", repository, tmp_path)
    assert found is not None
    assert found.lines == ["tax.cpp:1  Tax"]
    found = asked("who calls Tax?", repository, tmp_path)
    assert found is not None
    assert found.lines == ["Cart.cs:3  Cart.Total"]


def test_several_definitions_are_candidates(tree, tmp_path):
    found = asked("where is `new` defined?", tree, tmp_path)
    assert found is not None
    assert not found.certain
    assert [one.path for one in found.candidates] == ["src/arg.rs", "src/group.rs"]


@pytest.mark.parametrize(
    ("name", "callers"),
    [
        ("validateHeader", ["Context.ClientIP"]),
        ("buildHandler", ["fast"]),  # not itself: its own head and a comment are no calls
        ("again", ["again"]),
        ("`paid?`", ["User.greet"]),
    ],
)
def test_functions_with_a_call_of_the_name_are_candidates(tree, tmp_path, name, callers):
    found = asked(f"who calls {name}?", tree, tmp_path)
    assert found is not None
    assert not found.certain
    assert [one.function for one in found.candidates] == callers
    assert "by its name alone" in found.said


def test_without_a_call_and_for_other_questions_the_definitions_are_shown(tree, tmp_path):
    for question, said in (("who calls ClientIP?", "Nothing calls"), ("which classes inherit from Engine?", "Python alone")):
        found = asked(question, tree, tmp_path)
        assert found is not None
        assert not found.certain
        assert said in found.said
        assert found.lines


def test_a_name_that_only_python_has_or_nothing_has_finds_nothing(tree, tmp_path):
    assert asked("where is `start` defined?", tree, tmp_path) is None
    assert asked("who calls nowhereAtAll?", tree, tmp_path) is None
    assert asked("where is `_` defined?", tree, tmp_path) is None
    assert by_name(Asked("raises", {"code": "f(1)"}), tree, tmp_path / "index") is None


MORE = {
    "shop/Cart.java": """\
package shop;

public class Cart<T> implements Priced {
    /** The class Cart in a comment. */
    public static final int LIMIT = 12;
    private final Clock clock = Clocks.system();

    public Cart() { this(LIMIT); }
    Cart(int size) { reset(size); }

    void reset(int size) { }

    public enum State {
        OPEN(1) { int next() { return 2; } },
        CLOSED;
    }

    static class Builder {
        Cart build() { return new Cart(); }
    }
}
""",
    "shop/Priced.java": "package shop;\n\ninterface Priced {\n    int total(int tax);\n}\n",
    "shop/Order.java": "package shop;\n\nclass Order {\n    static class Builder {\n        int go() { return 1; }\n    }\n}\n",
    "src/store.h": """\
#define STORE_SIZE 10
typedef struct store store_t;
struct store;
struct store {
  int size;
};
class Later;
enum store_error { STORE_FULL = 1, STORE_GONE };
typedef enum {
  MODE_READ,
  MODE_WRITE
} store_mode;
int store_put(struct store *s,
              struct later *l);
struct store *store_new(void);
""",
    "src/store.c": """\
#include "store.h"
static int count = 0;
int store_put(struct store *s, struct later *l) { return s->size; }
struct store *store_open(void) { return put_all(0, 1); }
""",
    "src/node.cpp": """\
namespace y {
class Node {
 public:
  Node operator[](int key) { return get<int>(key); }
};
}
""",
    "pkg/server/server.go": """\
package server

// ErrGone is an error.
var ErrGone = errors.New("gone")

const (
\tfirst = iota
\tsecond
)

type Source interface {
\tFetch(name string) error
}

type Server struct {
\tName string
}
""",
    "src/macros.rs": """\
pub const SCRATCH: &str = "x";
macro_rules! doc_mut {
    () => {};
}
pub trait Part {
    fn draw(&self, size: u8);
}
fn all() { draw::<u8>(1); }
""",
    "web/main.ts": """\
export const produce: Produce = maker.produce
interface Options {
  base?: string;
}
class Maker {
  produce(x: number) { return shape<Part>(x) }
}
register(produce(1))
function shape(x) { return x }
export { Maker as Factory }
""",
    "lib/const.rb": """\
module Web
  VERSION = "1.0"
  class Page
    attr_reader :title
  end
end
configure Page.new
""",
    "src/Mode.php": "<?php\nnamespace App;\nclass Mode {\n    const FAST = 1;\n    private ?int $speed = null;\n}\n",
    "Sources/App.swift": """\
struct App {
    let limit = 3
    func start(_ port: Int) -> Bool {
        let local = port
        return check(local)
    }
    enum State { case idle }
}
app.start(80)
""",
    "core/Show.scala": "object Show {\n  def fromText[A](text: String): Show[A] =\n    parse(text)\n}\n"
    "given ordering: Ord[Int] with\n  def run = fetch[List[Int]](1)\n",
    "Sources/Depot.swift": """\
struct Depot {
    init(size: Int) { }
}
struct Big: Depot { var one: Depot { old } }
func none() -> Depot { old }
func open() -> Any { Depot(size: 1) }
""",
    "build.sc": "val version = 3\nobject core { def deps = ivy[Dep](version) }\nclass Maker(x: Int)\ndef maker = new Maker(1)\n",
    "web/Form.vue": "<script>\nexport default {\n  methods: {\n    onSave() {\n      return 1\n    },\n  },\n}\n</script>\n",
    "db/schema.sql": (
        "-- create table later (id int);\nCREATE TABLE IF NOT EXISTS shop.users (id int);\n"
        "create or replace function total_of() returns int;\n"
    ),
    "src/größe.kt": "fun größe() = 1\n",
    "src/Add.hs": "addTwo :: Int -> Int\naddTwo x = x + 2\n",
    "src/add.zig": "pub fn addOne(x: i32) i32 {\n    return x;\n}\n",
    "lib/eval.ml": "let rec evaluate x = x\n",
    "lib/check.ex": "defmodule Shop.Check do\n  def run_all(x), do: x\nend\n",
    "lib/deep.lua": "-- function later\nfunction deep.compare(a, b)\nend\n",
    "app/Main.kt": """\
typealias Name = String
val routes = module {
    single<Store> { Store() }
}
fun start() = launch { routes }
expect fun App.launch(block: () -> Unit)
""",
}


@pytest.fixture
def more(tmp_path):
    return Repository(write(tmp_path / "more", MORE))


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("Cart", "shop/Cart.java:3"),  # with its constructors, and not a comment
        ("Cart<T>", "shop/Cart.java:3"),
        ("Cart.LIMIT", "shop/Cart.java:5"),
        ("Cart.State", "shop/Cart.java:13"),
        ("State.CLOSED", "shop/Cart.java:15"),
        ("Cart.Builder", "shop/Cart.java:18"),
        ("Order.Builder", "shop/Order.java:4"),
        ("Priced.total", "shop/Priced.java:4"),
        ("STORE_SIZE", "src/store.h:1"),
        ("store", "src/store.h:4"),  # not what is declared ahead of it
        ("store_t", "src/store.h:2"),
        ("store_mode", "src/store.h:12"),
        ("MODE_WRITE", "src/store.h:11"),
        ("store_put", "src/store.c:3"),
        ("count", "src/store.c:2"),
        ("y::Node", "src/node.cpp:2"),
        ("Node::operator[]", "src/node.cpp:4"),
        ("ErrGone", "pkg/server/server.go:4"),
        ("server.ErrGone", "pkg/server/server.go:4"),
        ("second", "pkg/server/server.go:8"),
        ("Source.Fetch", "pkg/server/server.go:12"),
        ("Server.Name", "pkg/server/server.go:16"),
        ("SCRATCH", "src/macros.rs:1"),
        ("doc_mut!", "src/macros.rs:2"),
        ("Part::draw", "src/macros.rs:6"),
        ("Options.base", "web/main.ts:3"),
        ("Maker.prototype.produce", "web/main.ts:6"),
        ("Factory", "web/main.ts:10"),
        ("Web::VERSION", "lib/const.rb:2"),
        ("title", "lib/const.rb:4"),
        ("Mode::FAST", "src/Mode.php:4"),
        ("App\\Mode", "src/Mode.php:3"),
        ("limit", "Sources/App.swift:2"),
        ("App.start", "Sources/App.swift:3"),
        ("Show.fromText", "core/Show.scala:2"),
        ("version", "build.sc:1"),
        ("core.deps", "build.sc:2"),
        ("routes", "app/Main.kt:2"),
        ("größe", "src/größe.kt:1"),
        ("onSave", "web/Form.vue:4"),
        ("users", "db/schema.sql:2"),
        ("total_of", "db/schema.sql:3"),
        ("addTwo", "src/Add.hs:1"),
        ("addOne", "src/add.zig:1"),
        ("evaluate", "lib/eval.ml:1"),
        ("Shop.Check", "lib/check.ex:1"),
        ("run_all", "lib/check.ex:2"),
        ("deep.compare", "lib/deep.lua:2"),
    ],
)
def test_declarations_and_classes_of_every_language(more, tmp_path, name, place):
    found = asked(f"where is `{name}` defined?", more, tmp_path)
    assert found is not None
    assert [line.split()[0] for line in found.lines] == [place]
    assert found.certain


def test_what_may_be_meant_otherwise_is_no_answer(more, tmp_path):
    for name, lines in {
        "produce": ["web/main.ts:1  produce", "web/main.ts:6  Maker.produce"],
        "Elsewhere.LIMIT": ["shop/Cart.java:5  LIMIT"],
        "store_new": ["src/store.h:15  store_new"],
        "Builder": ["shop/Cart.java:18  Builder", "shop/Order.java:4  Builder"],
    }.items():
        found = asked(f"where is `{name}` defined?", more, tmp_path)
        assert found is not None
        assert (found.certain, found.lines) == (False, lines)
    assert asked("where is `local` defined?", more, tmp_path) is None
    assert asked("where is `Later` defined?", more, tmp_path) is None


@pytest.mark.parametrize(
    ("name", "callers"),
    [
        ("Cart", ["shop/Cart.java:19  Cart.Builder.build"]),
        ("reset", ["shop/Cart.java:9  Cart.Cart"]),
        ("system", ["shop/Cart.java:6"]),
        ("total", []),  # an interface only declares it
        ("get", ["src/node.cpp:4  y.Node.operator[]"]),
        ("store_put", []),
        ("draw", ["src/macros.rs:8  all"]),
        ("shape", ["web/main.ts:6  Maker.produce"]),
        ("produce", ["web/main.ts:8"]),
        ("register", ["web/main.ts:8"]),
        ("configure", ["lib/const.rb:7"]),
        ("start", ["Sources/App.swift:9"]),
        ("check", ["Sources/App.swift:5  App.start"]),
        ("parse", ["core/Show.scala:3  Show.fromText"]),
        ("fetch", ["core/Show.scala:6  ordering.run"]),
        ("ivy", ["build.sc:2  core.deps"]),
        ("Maker", ["build.sc:4  maker"]),
        ("single", ["app/Main.kt:3"]),
        ("Depot", ["Sources/Depot.swift:6  open"]),
        ("Depot.init", ["Sources/Depot.swift:6  open"]),
        ("launch", ["app/Main.kt:5  start"]),
    ],
)
def test_calls_with_types_or_braces_and_outside_functions(more, tmp_path, name, callers):
    found = asked(f"who calls `{name}`?", more, tmp_path)
    assert (found.lines if found and "by its name alone" in found.said else []) == callers


MIXED = {
    "shop/cart.py": "def find_item(key):\n    return key\n\n\ndef show(key):\n    return find_item(key)\n",
    "web/cart.ts": "export function find_item(key: string) { return key }\n"
    "export function list(keys: string[]) { return keys.map((key) => find_item(key)) }\n",
    "web/show.ts": "export function show_all(key: string) { return show(key) }\n",
    "web/dist/cart.js": "function find_item(key) { return key }\nfunction show(key) { return key }\n",
}


@pytest.mark.parametrize(
    ("question", "certain", "places"),
    [
        ("where is find_item defined?", False, ["shop/cart.py::find_item", "web/cart.ts::find_item"]),
        ("where is shop.cart.find_item defined?", True, []),
        ("where is shop/cart.py::find_item defined?", True, []),
        ("where is show defined?", True, []),  # no call counts, nor what a build wrote
        ("who calls find_item?", False, ["shop/cart.py::show", "web/cart.ts::list"]),
        ("who calls show?", True, []),
    ],
)
def test_a_definition_in_python_hides_none_in_another_language(tmp_path, question, certain, places):
    write(tmp_path / "tree", MIXED)
    tree, asked = Repository(tmp_path / "tree"), read(question)
    assert asked
    found = beside(asked, find(asked, tree), tree, tmp_path / "cache")
    assert found.certain is certain
    assert [f"{one.path}::{one.function}" for one in found.candidates] == places


def test_a_definition_in_a_bundle_is_a_copy(tmp_path):
    parts = {
        name: "".join(
            f"function {step}{name} (text) {{\n  const found = text.{step}('{name}')\n  return found.size + {number}\n}}\n"
            for number, step in enumerate(["open", "read", "check", "close"])
        )
        for name in ("Lexer", "Parser", "Slugger")
    }
    tree = {f"src/{name}.js": text for name, text in parts.items()} | {
        "lib/all.js": "".join(parts.values()),
        "src/use.js": "function use () {\n  return readLexer('a')\n}\n",
        "lib/all.min.js": "function use(){return readLexer('a')}",
    }
    write(tmp_path / "tree", tree)

    def found(question: str) -> Finding | None:
        asked = read(question)
        assert asked
        return by_name(asked, Repository(tmp_path / "tree"), tmp_path / "cache")

    defined = found("where is readLexer defined?")
    assert defined
    assert defined.values == ["src/Lexer.js::readLexer"]
    assert defined.lines[1:] == ["lib/all.js:5  readLexer  (a copy that a program wrote)"]
    called = found("who calls readLexer?")
    assert called
    assert [one.path for one in called.candidates] == ["src/use.js", "lib/all.min.js"]


def defined_at(tmp_path, files, name):
    """The places that the answer to "where is NAME defined?" shows in a tree of these files."""
    write(tmp_path / "tree", files)
    asked = read(f"where is `{name}` defined?")
    assert asked
    found = by_name(asked, Repository(tmp_path / "tree"), tmp_path / "cache")
    assert found
    return [line.partition(" ")[0] for line in found.lines]


PACKAGES = {
    "store/api.go": "package store\n\ntype Appender interface {\n\tAdd(a int)\n}\n",
    "store/disk.go": "package store\n\ntype Disk struct{}\n\nfunc (d *Disk) Appender() Appender {\n\treturn nil\n}\n",
    "other/api.go": "package other\n\ntype Fan struct{}\n\nfunc (f *Fan) Appender() int {\n\treturn 1\n}\n",
    "web/plugin.ts": "export interface Plugin {\n  name: string\n}\n",
    "web/use.ts": "import {\n  type Plugin,\n  type Other as Plugin,\n} from './plugin'\nimport type { Plugin } from './plugin'\n"
    "import type Plugin from './plugin'\nexport type { Plugin }\n",
    "my-shop/src/json.rs": "pub struct Json<T>(pub T);\n",
    "examples/own/src/json.rs": "pub struct Json<T>(pub T);\n",
    "app/Link.php": "<?php\nclass Link {\n    protected $queryLog = [];\n}\n",
}


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("store.Appender", ["store/api.go:3"]),
        ("Appender", ["store/api.go:3", "other/api.go:5", "store/disk.go:5"]),
        ("Disk.Appender", ["store/disk.go:5"]),
        ("Plugin", ["web/plugin.ts:1"]),
        ("my_shop::Json", ["my-shop/src/json.rs:1"]),
        ("Link::$queryLog", ["app/Link.php:3"]),
        ("$queryLog", ["app/Link.php:3"]),
    ],
)
def test_what_a_package_defines_comes_before_members_and_imports_do_not_count(tmp_path, name, places):
    assert defined_at(tmp_path, PACKAGES, name) == places


RUST = """\
fn helper(x: i32) -> i32 { x }

pub fn total(x: i32) -> i32 {
    helper(x)
}

#[cfg(test)]
use std::fmt;

#[cfg(all(test, feature = "shop"))]
#[allow(dead_code)]
mod tests {
    fn build(x: i32) -> i32 { helper(x) }

    #[test]
    fn it_adds() {
        assert_eq!(helper(build(1)), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn alone() {
    helper(2);
}

#[test] fn short() { helper(3); }

#[cfg(not(test))]
pub fn last() -> i32 { helper(4) }
"""


def test_tests_in_a_file_of_code_are_not_searched(tmp_path):
    tree = {"src/lib.rs": RUST, "src/aid.zig": 'pub fn aid() i32 {\n    return 1;\n}\n\ntest "it" {\n    _ = aid();\n}\n'}
    assert defined_at(tmp_path, tree, "helper") == ["src/lib.rs:1"]
    for question, lines in {
        "who calls helper?": ["src/lib.rs:4  total", "src/lib.rs:29  last"],
        "who calls aid?": ["src/aid.zig:1  aid"],  # its definition
        "where is `build` defined?": None,
    }.items():
        found = asked(question, Repository(tmp_path / "tree"), tmp_path)
        assert (found.lines if found else None) == lines


def test_every_init_of_a_type_of_swift_is_a_candidate_as_overloads_are(tmp_path):
    tree = {
        "Sources/Cart.swift": "struct Cart {\n    init(size: Int) {\n        self.size = size\n    }\n"
        "    convenience init?(_ text: String) {\n        return nil\n    }\n}\nstruct Other {\n    init() { }\n}\n",
        "Sources/More.swift": "extension Cart {\n    public init<T>(of one: T) {\n        self.size = 1\n    }\n}\n",
        "src/Box.java": "class Box {\n    Box(int size) { }\n    Box() { }\n    int put(int x) { return x; }\n"
        "    int put(long x) { return 1; }\n}\n",
    }
    assert defined_at(tmp_path, tree, "Cart.init") == ["Sources/Cart.swift:2", "Sources/Cart.swift:5", "Sources/More.swift:2"]
    assert defined_at(tmp_path, tree, "Box.put") == ["src/Box.java:4", "src/Box.java:5"]
    found = asked("where is `Cart.init` defined?", Repository(tmp_path / "tree"), tmp_path)
    assert found
    assert (found.certain, len(found.candidates)) == (False, 3)
