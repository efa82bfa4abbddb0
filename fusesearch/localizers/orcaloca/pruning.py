"""Keeps the search results nearest to the suspects in the context (OrcaLoca: distance-aware context pruning)."""

from __future__ import annotations

from dataclasses import dataclass

from fusesearch.code.graph.code_graph import CodeGraph
from fusesearch.code.graph.listing import node_named
from fusesearch.localizers.orcaloca.replies import Suspect

KEPT = 12
"""Most results to keep."""
FAR = 999_999
"""Distance between nodes that no path connects."""


@dataclass(frozen=True)
class Result:
    """A search that showed one whole node."""

    node: str
    action: str
    text: str


class Context:
    """The results of an episode, one per node."""

    def __init__(self, graph: CodeGraph) -> None:
        self._graph = graph
        self._results: dict[str, Result] = {}
        self._distances: dict[tuple[str, str], int] = {}

    def add(self, result: Result) -> None:
        """Add a result unless its node has one."""
        self._results.setdefault(result.node, result)

    def kept(self, suspects: list[Suspect], most: int = KEPT) -> list[Result]:
        """The results with the least mean distance to those suspects that are in the graph, nearest first.

        Ties keep the order in which results were added, so without any suspect in the graph that is the order of all.
        """
        nodes = [node for node in (node_of(suspect, self._graph) for suspect in suspects) if node is not None]

        def mean_distance(result: Result) -> float:
            return sum(self._distance(result.node, other) for other in nodes) / len(nodes) if nodes else 0.0

        return sorted(self._results.values(), key=mean_distance)[:most]

    def _distance(self, one: str, other: str) -> int:
        key = (min(one, other), max(one, other))
        if key not in self._distances:
            found = self._graph.distance(one, other)
            self._distances[key] = FAR if found is None else found
        return self._distances[key]


def node_of(suspect: Suspect, graph: CodeGraph) -> str | None:
    """The node of a suspect: its class and method, else either of them, else its file."""
    if not suspect.file_path:
        return None
    names = [".".join(filter(None, (suspect.class_name, suspect.method_name))), suspect.class_name, suspect.method_name]
    texts = [*(f"{suspect.file_path}::{name}" for name in names if name), suspect.file_path]
    return next((node for node in (node_named(text, graph) for text in texts) if node is not None), None)
