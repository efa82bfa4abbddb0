"""Where names of other languages than Python are defined, and which functions call them."""

import pytest

from fusesearch.localizers.answerers.asked import Asked, read
from fusesearch.localizers.answerers.by_name import by_name
from fusesearch.localizers.answerers.certain import Finding
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
