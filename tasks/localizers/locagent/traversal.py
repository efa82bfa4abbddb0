"""TraverseGraph: what is met on a walk from a node, breadth first, shown as a tree."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from tasks.code.graph.code_graph import DIRECTORY, CodeGraph, path_of
from tasks.code.graph.listing import Page, shown_node
from tasks.code.kinds import is_test
from tasks.localizers.locagent.arguments import ALL_HOPS

MAX_EDGES = 300
_CUT = "(the walk ends after {} edges: use fewer hops, or types, to see the others)"


@dataclass(frozen=True)
class Walk:
    """How far to go, which way, and what to look at; empty types are all types."""

    direction: str = "downstream"
    hops: int = 2
    node_types: Collection[str] = ()
    edge_types: Collection[str] = ()


@dataclass
class _Met:
    """A node on the walk, the edge it was met by, and what was met from it."""

    node: str
    edge: str = ""
    way: str = ""
    depth: int = 0
    met: list[_Met] = field(default_factory=list)


def add_tree(page: Page, graph: CodeGraph, start: str, walk: Walk) -> None:
    """Add the tree to the page. Each edge is followed once; a node met again is shown without what lies behind it."""
    root, complete = _walked(graph, start, walk)
    page.add(shown_node(start), "" if graph.type_of(start) == DIRECTORY else start.partition("::")[0])
    for line, node in _drawn(root):
        page.add(line, "" if graph.type_of(node) == DIRECTORY else node.partition("::")[0])
    if not complete:
        page.add(_CUT.format(MAX_EDGES))


def _walked(graph: CodeGraph, start: str, walk: Walk) -> tuple[_Met, bool]:
    root = _Met(start)
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
            here.met.append(_Met(other, kind if way == "downstream" else f"{kind}-by", way, here.depth + 1))
            pending.append(here.met[-1])
    return root, True


def _steps(graph: CodeGraph, here: _Met, walk: Walk) -> Iterator[tuple[str, str, str]]:
    """Edges from a node, with the way they lead; a walk in both directions turns nowhere but at its start."""
    ways = [here.way] if here.way else ["downstream", "upstream"] if walk.direction == "both" else [walk.direction]
    for way in ways:
        for kind, other in graph.outward(here.node) if way == "downstream" else graph.inward(here.node):
            if walk.edge_types and kind not in walk.edge_types:
                continue
            if walk.node_types and graph.type_of(other) not in walk.node_types:
                continue
            if not is_test(path_of(other)):
                yield way, kind, other


def _drawn(root: _Met) -> Iterator[tuple[str, str]]:
    """Lines of the tree below its root, each with its node."""
    pending = [(met, "", index == 0) for index, met in enumerate(reversed(root.met))]
    while pending:
        met, margin, last = pending.pop()
        yield f"{margin}{'└── ' if last else '├── '}{met.edge} ── {shown_node(met.node)}", met.node
        inner = margin + ("    " if last else "│   ")
        pending += [(child, inner, index == 0) for index, child in enumerate(reversed(met.met))]
