"""The graph of a Python snapshot: what its edges mean, and that any source is survived."""

from pathlib import Path

import pytest

from fusesearch.code.graph.code_graph import NODE_TYPES
from fusesearch.code.graph.facts import facts_of
from fusesearch.code.graph.linking import link
from fusesearch.code.graph.listing import Listing, Page, node_named, shown_node
from fusesearch.code.names import Namer
from fusesearch.core.config import Tools
from fusesearch.search.repository import Repository
from tests.fakes.git import files_in, write

FILES = files_in(Path(__file__).parent / "graph_sources.txt")


def linked(files):
    return link([facts_of(path, text) for path, text in files.items() if path.endswith(".py")])


@pytest.fixture(scope="module")
def graph():
    return linked(FILES)


@pytest.fixture
def repository(tmp_path):
    return Repository(write(tmp_path / "repo", FILES))


def edges(graph, node, kind):
    return {other for found, other in graph.outward(node) if found == kind}


EDGES = [
    ("/", "contains", "pkg other tests broken.py"),
    ("pkg/core.py", "contains", "pkg/core.py::Shape pkg/core.py::scale pkg/core.py::again"),
    ("pkg/core.py::Shape", "contains", "pkg/core.py::Shape.__init__ pkg/core.py::Shape.area pkg/core.py::Shape.Corner"),
    ("pkg/core.py::Shape.area", "contains", "pkg/core.py::Shape.area.inner"),
    ("broken.py", "contains", ""),  # what does not parse defines nothing
    # submodules, definitions, or modules
    ("pkg/core.py", "imports", "pkg/helpers.py pkg/base.py::Base pkg/base.py::make pkg/base.py::late"),
    ("pkg/core.py::again", "imports", "pkg/base.py::late"),
    ("tests/test_core.py", "imports", "pkg/__init__.py"),
    # a class invokes what its constructor does, and an alias means what it renames
    ("pkg/core.py::Shape", "invokes", "pkg/base.py::make"),
    ("pkg/core.py::Shape.__init__", "invokes", ""),
    ("pkg/core.py::Shape", "inherits", "pkg/base.py::Base"),
    # nested functions have their own calls, and names resolve outwards
    ("pkg/core.py::Shape.area", "invokes", "pkg/core.py::Shape.area.inner"),
    ("pkg/core.py::Shape.area.inner", "invokes", "pkg/core.py::scale"),
    ("pkg/core.py::Shape.Corner.angle", "invokes", "pkg/core.py::Shape.area"),
    # names that mean nothing near mean every definition anywhere
    ("pkg/core.py::scale", "invokes", "pkg/helpers.py::clamp other/far.py::Far.elsewhere_only"),
    ("pkg/core.py::again", "invokes", "pkg/base.py::late pkg/core.py::again other/far.py::Far.again"),
    # members of packages are seen through their __init__
    ("tests/test_core.py::test_area", "invokes", "pkg/core.py::Shape"),
]


@pytest.mark.parametrize(("node", "kind", "others"), EDGES)
def test_edges_mean_what_the_source_says(graph, node, kind, others):
    assert edges(graph, node, kind) == set(others.split())


def test_decorators_belong_to_a_definition(graph):
    assert graph.lines("pkg/core.py::Shape.area") == (12, 16)
    assert graph.header("pkg/core.py::Shape.area") == 13


def test_what_a_name_may_mean_comes_in_one_order_and_one_of_very_many_definitions_is_kept_as_a_name(monkeypatch):
    files = {"a.py": "\n".join(f"class C{n}:\n    def run(self):\n        x.run()\n" for n in range(8))}
    meant = [other for kind, other in linked(files).outward("a.py::C3.run") if kind == "invokes"]
    assert meant == [f"a.py::C{n}.run" for n in range(8) if n != 3]
    monkeypatch.setattr("fusesearch.code.graph.linking.MAX_TARGETS", 3)
    graph = linked(files)
    assert edges(graph, "a.py::C0.run", "invokes") == {f"a.py::C{n}.run" for n in range(8)}
    assert graph.graph.number_of_edges() == 1 + 8 + 8


def every_edge(graph):
    return [(node, kind, other) for node in graph.nodes() for kind, other in graph.outward(node)]


def test_every_edge_is_seen_from_both_of_its_ends(graph):
    outward = every_edge(graph)
    assert sorted(outward) == sorted((other, kind, node) for node in graph.nodes() for kind, other in graph.inward(node))
    assert len(set(outward)) == len(outward)
    assert {graph.type_of(node) for node in graph.nodes()} <= set(NODE_TYPES)
    holders = {node: sum(kind == "contains" for kind, _ in graph.inward(node)) for node in graph.nodes()}
    assert holders == {node: int(node != "/") for node in graph.nodes()}


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("/repo/pkg/core.py::Shape.area", "pkg/core.py::Shape.area"),
        ("pkg/core.py:Shape.area", "pkg/core.py::Shape.area"),
        ("`/repo/pkg/core.py::scale()`", "pkg/core.py::scale"),
        ("/repo/pkg/", "pkg"), ("/repo", "/"), ("/", "/"), (".", "/"), ("./broken.py", "broken.py"),
        ("pkg/core.py::None", None), ("/etc/passwd", None), ("../pkg", None), ("", "/"),
    ],
)  # fmt: skip
def test_ids_are_read_as_models_write_them(graph, text, node):
    assert node_named(text, graph) == node
    assert [node_named(shown_node(node), graph) for node in graph.nodes()] == list(graph.nodes())


def test_a_page_ends_at_its_limit_and_says_so(repository, graph):
    page = Page(Tools(output_chars=200))
    Listing(repository, graph).add(page, "pkg/core.py")
    found = page.outcome()
    assert len(found.output) <= 200
    assert found.output.endswith("ask for less at a time)")
    assert found.entities == [f"pkg/core.py:{number}" for number in range(1, len(found.entities) + 1)]


def test_a_line_is_named_by_its_function(repository):
    namer = Namer(repository)
    assert namer.at("pkg/core.py", 15).function == "Shape.area"
    assert namer.at("pkg/core.py", 1) is None
