"""Builds the graph of one tree in its own process, by this project's code or by LocAgent's published code.

``python graph_side.py ours|original TREE RESULT [CLONE]`` writes seconds, memory, nodes and edges as JSON. The published code
needs only networkx and matplotlib.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Graph = tuple[dict[str, str], set[tuple[str, str, str]]]


def ours(tree: str) -> Callable[[], Graph]:
    """Builds the graph; the result lists its nodes and edges."""
    from tasks.code.graph.storing import build_graph
    from tasks.search.repository import Repository

    graph = build_graph(Repository(Path(tree)))
    return lambda: ({node: graph.type_of(node) for node in graph.nodes()}, set(graph.edges()))


def original(tree: str, clone: str) -> Callable[[], Graph]:
    """As LocAgent builds its indexes: it looks for names in the whole repository where it finds none nearer."""
    sys.path.insert(0, clone)
    import matplotlib

    matplotlib.use("Agg")
    graph = importlib.import_module("dependency_graph.build_graph").build_graph(tree, global_import=True)
    return lambda: (
        {_named(node): data["type"] for node, data in graph.nodes(data=True)},
        {(_named(one), data["type"], _named(other)) for one, other, data in graph.edges(data=True)},
    )


def main(side: str, tree: str, result: str, clone: str = "") -> None:
    """Build, measure, write."""
    if side == "ours":  # imports are not measured
        importlib.import_module("tasks.code.graph.storing")
    else:
        sys.path.insert(0, clone)
        importlib.import_module("dependency_graph.build_graph")
    wall, cpu = time.perf_counter(), time.process_time()
    list_all = ours(tree) if side == "ours" else original(tree, clone)
    row: dict[str, Any] = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    cpu = time.process_time()
    nodes, edges = list_all()
    row |= {"listing_cpu": time.process_time() - cpu, "nodes": nodes, "edges": sorted(edges)}
    row["memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    Path(result).write_text(json.dumps(row), encoding="utf-8")


def _named(node: str) -> str:
    return node.replace(":", "::", 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
