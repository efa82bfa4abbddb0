"""The graph: nodes are folders, files, classes and functions; edges are contains, imports, invokes and inherits."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cached_property

import networkx as nx

from fusesearch.code.graph.facts import CLASS, FUNCTION, INIT

DIRECTORY, FILE = "directory", "file"
CONTAINS, IMPORTS, INVOKES, INHERITS = "contains", "imports", "invokes", "inherits"
NODE_TYPES = (DIRECTORY, FILE, CLASS, FUNCTION)
EDGE_TYPES = (CONTAINS, IMPORTS, INVOKES, INHERITS)
ROOT = "/"

Edge = tuple[str, str]
"""Type of an edge, and the node at its other end."""


class CodeGraph:
    """``graph`` is a MultiDiGraph whose edges are keyed by their type; a node is ``path`` or ``path::Qualified.name``.

    Nodes have ``type``, ``start``, ``header`` and ``end`` (lines; folders have none). A name that cannot be resolved where it is
    used refers to every definition of that name in the snapshot. These edges outnumber all others, so they are not stored one by
    one: ``elsewhere`` has the ``(type, name)`` of each for every node. All methods return both kinds of edges.
    """

    def __init__(self, graph: nx.MultiDiGraph, elsewhere: Mapping[str, Collection[tuple[str, str]]]) -> None:
        self.graph = graph
        self.elsewhere = elsewhere

    def __contains__(self, node: object) -> bool:
        return node in self.graph

    def __len__(self) -> int:
        return len(self.graph)

    def type_of(self, node: str) -> str:
        """One of :data:`NODE_TYPES`."""
        return self.graph.nodes[node]["type"]

    def lines(self, node: str) -> tuple[int, int]:
        """First and last line of a file, class or function; ``(0, 0)`` for a folder."""
        data = self.graph.nodes[node]
        return data.get("start", 0), data.get("end", 0)

    def header(self, node: str) -> int:
        """The line of a node's ``def`` or ``class``."""
        return self.graph.nodes[node].get("header", 1)

    def nodes(self, *types: str) -> Iterator[str]:
        """All nodes, or those of some types, in the order of paths and lines."""
        return (node for node, data in self.graph.nodes(data=True) if not types or data["type"] in types)

    def members(self, node: str) -> list[str]:
        """What a node contains directly."""
        return [other for _, other, kind in self.graph.out_edges(node, keys=True) if kind == CONTAINS]

    def outward(self, node: str) -> Iterator[Edge]:
        """What ``node`` contains, imports, invokes and inherits from."""
        yield from ((kind, other) for _, other, kind in self.graph.out_edges(node, keys=True))
        for kind, name in self.elsewhere.get(node, ()):
            yield from ((kind, other) for other in self.named.get(name, ()))

    def inward(self, node: str) -> Iterator[Edge]:
        """What contains, imports, invokes and inherits from ``node``."""
        yield from ((kind, other) for other, _, kind in self.graph.in_edges(node, keys=True))
        name = last_name(node)
        if node in self.named.get(name, ()):
            yield from self._users.get(name, ())

    def distance(self, one: str, other: str) -> int | None:
        """Fewest edges on a directed path between two nodes, in either direction; ``None`` without a path.

        The edges of ``elsewhere`` do not count.
        """
        lengths: list[int] = []
        for source, target in ((one, other), (other, one)):
            with suppress(nx.NodeNotFound, nx.NetworkXNoPath):
                lengths.append(nx.shortest_path_length(self.graph, source, target))
        return min(lengths, default=None)

    @cached_property
    def named(self) -> dict[str, list[str]]:
        """Classes and functions by their last name. Constructors are left out; their class stands for them."""
        found: dict[str, list[str]] = {}
        for node in self.nodes(CLASS, FUNCTION):
            if last_name(node) != INIT or self._is_plain_init(node):
                found.setdefault(last_name(node), []).append(node)
        return found

    def _is_plain_init(self, node: str) -> bool:
        """Whether a function called ``__init__`` is outside a class."""
        holder = node.rpartition(".")[0]
        return holder not in self.graph or self.type_of(holder) != CLASS

    @cached_property
    def _users(self) -> dict[str, list[Edge]]:
        found: dict[str, list[Edge]] = {}
        for node, uses in self.elsewhere.items():
            for kind, name in uses:
                found.setdefault(name, []).append((kind, node))
        return found


def path_of(node: str) -> str:
    """The file or folder a node is in."""
    return node.partition("::")[0]


def name_of(node: str) -> str:
    """``Qualified.name`` of a class or function; empty for files and folders."""
    return node.partition("::")[2]


def last_name(node: str) -> str:
    """``method`` of ``a.py::Class.method``."""
    return node.rpartition("::")[2].rpartition(".")[2]
