"""Names and paths as other languages write them, through every reader of answers (public bug reports' kinds)."""

import pytest

from fusesearch.agents.parsing import parse_answer
from fusesearch.code.names import Claim, Namer, functions_named, locate
from fusesearch.code.outline import outline
from fusesearch.localizers.fenced import read_named, read_paths
from fusesearch.localizers.locagent.answers import read_answer
from fusesearch.search.repository import Repository

ORDER = (
    "class Order\n  def initialize(total)\n    @total = total\n  end\n\n  def paid?\n    @total > 0\n  end\n\n"
    "  def paid\n    @total\n  end\n\n  def cancel!\n    @total = 0\n  end\nend\n"
)
REPLY = "```\nlib/order.rb\nfunction: Order.paid?\nfunction: Order.cancel!\n```"
PATHS = ["app/[slug]/page.tsx", "app/(shop)/cart.tsx", "routes/[[...rest]]/a.ts", "@scope/b.js"]


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/order.rb").write_text(ORDER)
    (tmp_path / "app/[slug]").mkdir(parents=True)
    (tmp_path / "app/[slug]/page.tsx").write_text("export default function Page() { return 1 }\n")
    return Repository(tmp_path)


def test_the_agents_answer_names_both_methods():
    answer = parse_answer("## Locations to Modify\n- /repo/lib/order.rb::Order.paid?\n- /repo/lib/order.rb::Order.cancel!\n")
    assert answer.functions == ["lib/order.rb::Order.paid?", "lib/order.rb::Order.cancel!"]


def test_fenced_answers_name_the_methods_and_no_other():
    named = read_named(REPLY, 10)
    assert [row.name for row in named] == ["Order.paid?", "Order.cancel!"]
    contents = outline("lib/order.rb", ORDER)
    assert [locate(row, contents).lines for row in named] == [(6, 8), (14, 16)]


@pytest.mark.parametrize("path", PATHS)
def test_paths_with_brackets_are_read(path):
    assert read_paths(f"```\n{path}\n```", 5) == [path]
    assert [row.path for row in read_named(f"```\n{path}\nfunction: Page\n```", 5)] == [path]
    assert parse_answer(f"## Locations to Modify\n- /repo/{path}::Page\n").functions == [f"{path}::Page"]


@pytest.mark.parametrize("word", ["(a/b.py)", "[a.py]", "Foo.bar(x)", "a/b(c.py", "'a/b.py'"])
def test_words_in_brackets_are_no_paths(word):
    assert read_paths(word, 5) == []


def test_locagents_answer_reads_paths_with_brackets(tree):
    answer = read_answer("```\napp/[slug]/page.tsx\nfunction: Page\n```", Namer(tree))
    assert answer.files == ["app/[slug]/page.tsx"]
    assert read_answer(REPLY, Namer(tree)).functions == ["lib/order.rb::Order.paid?", "lib/order.rb::Order.cancel!"]


class Files:
    """One file of a commit."""

    def __contains__(self, path):
        return path == "lib/order.rb"

    def ending(self, tail):
        return ["lib/order.rb"] if "lib/order.rb".endswith(tail) else []

    def entities(self, path):
        from fusesearch.code.entities import Entities

        return Entities(path, ORDER)


@pytest.mark.parametrize("written", ["Order.paid?", "Order#paid?", "order.rb::Order.paid?"])
def test_published_answers_keep_the_marks_of_ruby(written):
    assert functions_named(Claim("lib/order.rb", written), Files()).functions == ("Order.paid?",)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a.rb", "A.valid?"), ("a.rb", "A.save!"), ("a.rb", "A.name="), ("a.rb", "A.<=>"), ("a.cpp", "V.operator=="),
        ("a.cpp", "V.operator bool"), ("a.cpp", "V.~V"), ("a.js", "A.#secret"), ("a.js", "$scope.load"), ("a.rs", "r#match"),
        ("a.js", "obj.str-key"),
    ],
)  # fmt: skip
def test_names_that_are_no_identifiers_are_read_without_the_file(path, name):
    assert parse_answer(f"## Locations to Modify\n- /repo/{path}::{name}\n").functions == [f"{path}::{name}"]
    assert [row.name for row in read_named(f"```\n{path}\nfunction: {name}\n```", 5)] == [name]
