"""Graphs of two sides are compared as sets, and every difference goes under the rule that makes it."""

import os
import subprocess

import pytest
from typer.testing import CliRunner

from experiments.benchmarks.localizers.graph_bench import app, report

PUBLISHED = """\
import networkx as nx


def build_graph(path, fuzzy_search=True, global_import=False):
    graph = nx.MultiDiGraph()
    graph.add_node("/", type="directory")
    graph.add_node("a.py", type="file")
    graph.add_node("a.py:A", type="class")
    graph.add_node("hidden.py", type="file")
    graph.add_edge("/", "a.py", type="contains")
    graph.add_edge("a.py", "a.py:A", type="contains")
    graph.add_edge("a.py", "a.py:A", type="contains")
    assert global_import
    return graph
"""


def side(nodes, edges, seconds):
    return {"wall": seconds, "cpu": seconds, "listing_cpu": 0.0, "memory_mb": 10.0, "nodes": nodes, "edges": edges}


def test_differences_are_named_by_rule():
    shared = {"/": "directory", "a.py": "file", "b.py": "file", "a.py::A": "class", "a.py::f": "function"}
    edges = [["/", "contains", "a.py"], ["a.py", "contains", "a.py::A"], ["a.py", "contains", "a.py::f"]]
    ours = side(
        {**shared, "a.py::A.__init__": "function"},
        [*edges, ["/", "contains", "b.py"], ["a.py::A", "contains", "a.py::A.__init__"], ["a.py::f", "invokes", "a.py::A"]],
        1.0,
    )
    theirs = side({**shared, "c.py": "file"}, [*edges, ["a.py::f", "invokes", "b.py"], ["c.py", "imports", "a.py"]], 3.0)
    text = "\n".join(report("x/repo.git@0123456789abcdef", [(ours, theirs), (ours, {**theirs, "cpu": 5.0})]))
    assert "## repo@0123456789, 2 Python files" in text
    assert "| processor seconds per 1,000 files | 500.00 | 2000.00 | 4.0 (3.0 to 5.0) |" in text
    assert "| nodes: function | 2 | 1 | |" in text
    rows = [line for line in text.split("\n") if line.startswith(("| ours,", "| original,"))]
    assert [row.split(" | ")[:3] for row in rows] == [
        ["| ours, nodes", "constructor", "1"],
        ["| original, nodes", "node", "1"],
        ["| ours, edges", "contains, a file that does not parse", "1"],
        ["| ours, edges", "contains, of a constructor", "1"],
        ["| ours, edges", "invokes, in one file", "1"],
        ["| original, edges", "invokes, of a file or folder", "1"],
        ["| original, edges", "imports, of a node that only one has", "1"],
    ]


@pytest.fixture
def clone(tmp_path):
    package = tmp_path / "LocAgent" / "dependency_graph"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "build_graph.py").write_text(PUBLISHED)
    return tmp_path / "LocAgent"


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "repo"
    root.mkdir()
    (root / "a.py").write_text("class A:\n    pass\n")
    identity = {f"GIT_{who}_{what}": "t@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"]):
        subprocess.run(["git", "-C", root, *command], check=True, env={**os.environ, **identity})
    return root


def test_both_sides_are_built_in_processes_of_their_own(clone, repository, tmp_path):
    arguments = [f"{repository}@HEAD", "--original", str(clone), "--rounds", "1", "--snapshots", str(tmp_path / "snapshots")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "| nodes: class | 1 | 1 | |" in done.output
    assert "| edges: contains | 2 | 2 | |" in done.output
    assert "| original, nodes | node | 1 | `hidden.py` |" in done.output


def test_the_commit_must_be_said(clone, repository):
    done = CliRunner().invoke(app, [str(repository), "--original", str(clone)])
    assert done.exit_code == 2
    assert "PATH@COMMIT" in done.output
