"""Schemas of LocAgent's three tools, and the check of arguments against them."""

from __future__ import annotations

from typing import Any

from fusesearch.code.graph.code_graph import EDGE_TYPES, NODE_TYPES
from fusesearch.core.errors import ToolError
from fusesearch.search.repository import clipped
from fusesearch.search.tool import function_schema

DIRECTIONS = ("downstream", "upstream", "both")
MAX_ITEMS = 10  # of one list argument
MAX_TEXT = 400  # characters of one item
ALL_HOPS = 20  # what hops=-1 stands for

_STRINGS = {"type": "array", "items": {"type": "string"}}
_ID = "an id such as /repo/pkg/mod.py::Class.method, /repo/pkg/mod.py or /repo/pkg"

_TOOLS: dict[str, tuple[str, dict[str, dict[str, Any]], list[str]]] = {
    "search_entity": (
        "Find files, classes and functions by id, by name, or by words of their code. One exact id, or few matches, are shown "
        "with code; many matches as a list of ids.",
        {
            "terms": {**_STRINGS, "description": "ids, names, or words to look for, each on its own"},
            "file_pattern": {"type": "string", "description": "only in files that match, such as /repo/pkg/**/*.py"},
            "lines": {
                "type": "array",
                "items": {"type": "integer"},
                "description": "in place of terms: show what holds these lines of the one file that file_pattern names",
            },
        },
        [],
    ),
    "traverse_graph": (
        "Walk the graph of the code from some nodes and show what is met as a tree. Folders contain files, files classes and "
        "functions; files, classes and functions import and invoke others; classes inherit.",
        {
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
        },
        ["start"],
    ),
    "retrieve_entity": (
        "The whole code of files, classes and functions, with their type and lines.",
        {"entities": {**_STRINGS, "description": f"each {_ID}"}},
        ["entities"],
    ),
}


def schemas() -> list[dict[str, Any]]:
    """The three tools in OpenAI's form."""
    return [
        function_schema(name, description, properties, required, additionalProperties=False)
        for name, (description, properties, required) in _TOOLS.items()
    ]


def checked(name: str, arguments: object) -> dict[str, Any]:
    """Arguments with every key of the tool; missing ones are None or an empty list. A lone text becomes a list of one.

    Raises :class:`ToolError` with a message that says what would be right.
    """
    if name not in _TOOLS:
        raise ToolError(f"there is no tool {clipped(str(name), 40)}; the tools are {', '.join(_TOOLS)}")
    _, properties, required = _TOOLS[name]
    if not isinstance(arguments, dict):
        raise ToolError(f"{name}: arguments must be a JSON object; {_usage(name)}")
    given = {key: value for key, value in arguments.items() if value is not None and value != ""}
    if unknown := [key for key in given if key not in properties]:
        raise ToolError(f"{name}: unknown argument {clipped(str(unknown[0]), 40)}; {_usage(name)}")
    if missing := [key for key in required if not given.get(key)]:
        raise ToolError(f"{name}: {missing[0]} is missing; {_usage(name)}")
    return {key: _value(name, key, rule, given.get(key)) for key, rule in properties.items()}


def _usage(name: str) -> str:
    _, properties, required = _TOOLS[name]
    return f"use {name}({', '.join(key if key in required else key + '?' for key in properties)})"


def _value(name: str, key: str, rule: dict[str, Any], value: Any) -> Any:
    if rule["type"] == "array":
        return _list(name, key, rule["items"]["type"], value)
    if value is None:
        return None
    if rule["type"] == "integer":
        return _integer(name, key, value)
    text = _text(name, key, value)
    if "enum" in rule and text not in rule["enum"]:
        raise ToolError(f"{name}: {key} must be one of {', '.join(rule['enum'])}, not {clipped(text, 40)}")
    return text


def _list(name: str, key: str, kind: str, value: Any) -> list[Any]:
    items = value if isinstance(value, list) else [] if value is None else [value]
    if len(items) > MAX_ITEMS:
        raise ToolError(f"{name}: {key} has {len(items)} items; at most {MAX_ITEMS} are taken in one call")
    read = _integer if kind == "integer" else _text
    found = [read(name, key, item) for item in items]
    allowed = {"node_types": NODE_TYPES, "edge_types": EDGE_TYPES}.get(key)
    if allowed and (wrong := [item for item in found if item not in allowed]):
        raise ToolError(f"{name}: {key} must be of {', '.join(allowed)}, not {clipped(str(wrong[0]), 40)}")
    return list(dict.fromkeys(found))


def _text(name: str, key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ToolError(f"{name}: {key} must be text, not {clipped(repr(value), 40)}; {_usage(name)}")
    return value.strip()[:MAX_TEXT]


def _integer(name: str, key: str, value: Any) -> int:
    if isinstance(value, str) and len(value) <= 10 and value.strip().removeprefix("-").isdecimal():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**9:
        return value
    raise ToolError(f"{name}: {key} must be an integer, not {clipped(repr(value), 40)}")
