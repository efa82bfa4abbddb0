"""LocAgent's three tools as a model calls them; :mod:`fusesearch.localizers.locagent.tools` answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fusesearch.code.graph.code_graph import EDGE_TYPES, NODE_TYPES
from fusesearch.search.tool import Tool

DIRECTIONS = ("downstream", "upstream", "both")

_STRINGS = {"type": "array", "items": {"type": "string"}}
_ID = "an id such as /repo/pkg/mod.py::Class.method, /repo/pkg/mod.py or /repo/pkg"


@dataclass(frozen=True)
class SearchEntity(Tool):
    """Find entities."""

    terms: tuple[str, ...] = ()
    file_pattern: str = ""
    lines: tuple[int, ...] = ()

    name = "search_entity"
    description = (
        "Find files, classes and functions by id, by name, or by words of their code. One exact id, or few matches, are shown "
        "with code; many matches as a list of ids."
    )
    properties: ClassVar = {
        "terms": {**_STRINGS, "description": "ids, names, or words to look for, each on its own"},
        "file_pattern": {"type": "string", "description": "only in files that match, such as /repo/pkg/**/*.py"},
        "lines": {
            "type": "array",
            "items": {"type": "integer"},
            "description": "in place of terms: show what holds these lines of the one file that file_pattern names",
        },
    }


@dataclass(frozen=True)
class TraverseGraph(Tool):
    """Walk the graph."""

    start: tuple[str, ...]
    direction: str = "downstream"
    hops: int = 2
    node_types: tuple[str, ...] = ()
    edge_types: tuple[str, ...] = ()

    name = "traverse_graph"
    description = (
        "Walk the graph of the code from some nodes and show what is met as a tree. Folders contain files, files classes and "
        "functions; files, classes and functions import and invoke others; classes inherit."
    )
    properties: ClassVar = {
        "start": {**_STRINGS, "description": f"where to start: {_ID}"},
        "direction": {
            "type": "string",
            "enum": list(DIRECTIONS),
            "description": "downstream (default): what the start contains, uses and inherits from; upstream: what "
            "contains and uses it",
        },
        "hops": {"type": "integer", "description": "edges from the start at most; 2 by default, -1 for all"},
        "node_types": {**_STRINGS, "description": f"only nodes of these types: {', '.join(NODE_TYPES)}"},
        "edge_types": {**_STRINGS, "description": f"only edges of these types: {', '.join(EDGE_TYPES)}"},
    }


@dataclass(frozen=True)
class RetrieveEntity(Tool):
    """Show whole entities."""

    entities: tuple[str, ...]

    name = "retrieve_entity"
    description = "The whole code of files, classes and functions, with their type and lines."
    properties: ClassVar = {"entities": {**_STRINGS, "description": f"each {_ID}"}}


GRAPH_TOOLS: dict[str, type[Tool]] = {tool.name: tool for tool in (SearchEntity, TraverseGraph, RetrieveEntity)}
