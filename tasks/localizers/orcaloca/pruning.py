"""Which search results stay in the context: those nearest to what is suspected (OrcaLoca: distance-aware context pruning)."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.code.graph.code_graph import CodeGraph
from tasks.code.graph.listing import node_named
from tasks.localizers.orcaloca.replies import Suspect

KEPT = 12
FAR = 999_999
"""Results kept at most, and the distance of nodes without a path between them."""


@dataclass(frozen=True)
class Result:
    """A search that showed one node whole."""

    node: str
    action: str
    text: str


class Context:
    """The results of an episode. A node is in it once."""

    def __init__(self, graph: CodeGraph) -> None:
        self._graph = graph
        self._results: dict[str, Result] = {}
        self._distances: dict[tuple[str, str], int] = {}

    def __contains__(self, node: str) -> bool:
        return node in self._results

    def add(self, result: Result) -> None:
        """Keep a result, for now."""
        self._results.setdefault(result.node, result)

    def kept(self, suspects: list[Suspect], most: int = KEPT) -> list[Result]:
        """The results of least mean distance to the suspected locations that are in the graph, nearest first.

        Equally near ones are in the order they came in, as all are where nothing in the graph is suspected.
        """
        nodes = [node for node in (node_of(suspect, self._graph) for suspect in suspects) if node is not None]
        ranked = sorted(self._results.values(), key=lambda result: self._far(result.node, nodes))
        return ranked[:most]

    def _far(self, node: str, suspected: list[str]) -> float:
        return sum(self._distance(node, other) for other in suspected) / len(suspected) if suspected else 0.0

    def _distance(self, one: str, other: str) -> int:
        key = (min(one, other), max(one, other))
        if key not in self._distances:
            found = self._graph.distance(one, other)
            self._distances[key] = FAR if found is None else found
        return self._distances[key]


def node_of(suspect: Suspect, graph: CodeGraph) -> str | None:
    """The node a suspected location names: with class and method, with what of them is there, or the file."""
    if not suspect.file_path:
        return None
    names = [".".join(filter(None, (suspect.class_name, suspect.method_name))), suspect.class_name, suspect.method_name]
    texts = [*(f"{suspect.file_path}::{name}" for name in names if name), suspect.file_path]
    return next((node for node in (node_named(text, graph) for text in texts) if node is not None), None)
