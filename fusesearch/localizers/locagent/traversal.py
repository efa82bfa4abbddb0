"""TraverseGraph: walks from a node, breadth first, and shows the nodes as a tree."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from fusesearch.code.graph.code_graph import DIRECTORY, CodeGraph, path_of
from fusesearch.code.graph.listing import Page, shown_node
from fusesearch.code.kinds import is_test
from fusesearch.localizers.locagent.arguments import TraverseGraph

MAX_EDGES = 300
ALL_HOPS = 20  # what hops=-1 stands for
_CUT = "(the walk ends after {} edges: use fewer hops, or types, to see the others)"


@dataclass
class _Visit:
    """A node on the walk, the edge that led to it, and the nodes after it."""

    node: str
    edge: str = ""
    way: str = ""
    depth: int = 0
    children: list[_Visit] = field(default_factory=list)


def add_tree(page: Page, graph: CodeGraph, start: str, walk: TraverseGraph) -> None:
    """Add the tree to the page. Each edge is followed once; a repeated node is shown without its children."""
    root, complete = _walked(graph, start, walk)
    page.add(shown_node(start), "" if graph.type_of(start) == DIRECTORY else start.partition("::")[0])
    for line, node in _drawn(root):
        page.add(line, "" if graph.type_of(node) == DIRECTORY else node.partition("::")[0])
    if not complete:
        page.add(_CUT.format(MAX_EDGES))


def _walked(graph: CodeGraph, start: str, walk: TraverseGraph) -> tuple[_Visit, bool]:
    root = _Visit(start)
    expanded: set[str] = set()
    edges: set[tuple[str, str, str]] = set()
    pending = deque([root])
    hops = ALL_HOPS if walk.hops < 0 else min(walk.hops, ALL_HOPS)
    while pending:
        here = pending.popleft()
        if here.depth >= hops or here.node in expanded:
            continue
        expanded.add(here.node)
        for way, kind, other in _steps(graph, here, walk):
            edge = (here.node, kind, other) if way == "downstream" else (other, kind, here.node)
            if edge in edges:
                continue
            if len(edges) >= MAX_EDGES:
                return root, False
            edges.add(edge)
            here.children.append(_Visit(other, kind if way == "downstream" else f"{kind}-by", way, here.depth + 1))
            pending.append(here.children[-1])
    return root, True


def _steps(graph: CodeGraph, here: _Visit, walk: TraverseGraph) -> Iterator[tuple[str, str, str]]:
    """Edges from a node with their direction. A walk in both directions splits only at its start."""
    ways = [here.way] if here.way else ["downstream", "upstream"] if walk.direction == "both" else [walk.direction]
    for way in ways:
        for kind, other in graph.outward(here.node) if way == "downstream" else graph.inward(here.node):
            if walk.edge_types and kind not in walk.edge_types:
                continue
            if walk.node_types and graph.type_of(other) not in walk.node_types:
                continue
            if not is_test(path_of(other)):
                yield way, kind, other


def _drawn(root: _Visit) -> Iterator[tuple[str, str]]:
    """Lines of the tree below its root, each with its node."""
    pending = [(visit, "", index == 0) for index, visit in enumerate(reversed(root.children))]
    while pending:
        visit, margin, last = pending.pop()
        yield f"{margin}{'└── ' if last else '├── '}{visit.edge} ── {shown_node(visit.node)}", visit.node
        inner = margin + ("    " if last else "│   ")
        pending += [(child, inner, index == 0) for index, child in enumerate(reversed(visit.children))]
