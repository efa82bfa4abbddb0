"""What a client sees: the schemas of the tools, and instructions for using them together."""

from __future__ import annotations

from typing import Any

from mcp_types import Tool, ToolAnnotations

from fusesearch.localizers.ranker.context import LEAST_TOKENS, MOST_TOKENS, TOKENS
from fusesearch.search.repository import VIRTUAL_ROOT
from fusesearch.search.tools import TOOLS, schemas

LOCALIZE, CONTEXT, ASK = "localize", "context", "ask"
MOST_FILES = 100
READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)

_LOCATION = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "file, relative to the root"},
        "function": {"type": ["string", "null"], "description": "qualified name, such as Class.method; null for a whole file"},
        "lines": {
            "type": ["array", "null"],
            "items": {"type": "integer"},
            "description": "first and last line of the function, from 1; null where they are not known",
        },
        "confidence": {"type": "number", "description": "probability that a fix modifies it, from localizers that can tell"},
        "reasons": {"type": "array", "items": {"type": "string"}, "description": "what speaks for it"},
        "signature": {"type": "string", "description": "the head of the function"},
    },
    "required": ["path", "function", "lines"],
}
_PLACE = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "file, relative to the root"},
        "confidence": {"type": "number", "description": "probability that a fix modifies the file"},
        "likely": {"type": "boolean", "description": "more likely than not: act on it; the others are what else to look at"},
        "reasons": {"type": "array", "items": {"type": "string"}, "description": "what speaks for the file"},
        "functions": {"type": "array", "items": _LOCATION, "description": "its best functions, each with its own probability"},
    },
    "required": ["path", "confidence", "likely", "reasons", "functions"],
}
_SEARCH = {
    "type": "object",
    "properties": {
        "localizer": {"type": "string", "description": "who searched"},
        "model": {"type": "string", "description": "the model that searched"},
        "stop": {
            "type": "string",
            "description": "answer, or why not: no_answer, length, filter, max_turns, max_context",
        },
        "turns": {"type": "integer", "description": "messages of the model, the answer among them"},
        "calls": {"type": "integer", "description": "tool calls made"},
        "efficiency": {"type": "number", "description": "e: mean share of a call's results that earlier turns had not seen"},
        "seconds": {"type": "number", "description": "wall time"},
    },
    "required": ["localizer", "model", "stop", "turns", "calls", "efficiency", "seconds"],
}
_ANSWER = {
    "type": "object",
    "properties": {
        "root": {"type": "string", "description": "the root that was searched"},
        "folder": {"type": "string", "description": "its folder, to which paths are relative"},
        "outcome": {"enum": ["answer", "too_little", "no_answer"], "description": "too_little: the issue names nothing here"},
        "places": {"type": "array", "items": _PLACE, "description": "files to look at, most likely first, from the ranker"},
        "modify": {"type": "array", "items": _LOCATION, "description": "the set to modify, with the highest expected F1"},
        "related": {"type": "array", "items": _LOCATION, "description": "places worth reading beside them"},
        "confidence": {
            "type": "number",
            "description": "probability that the first file is right, from localizers that can tell",
        },
        "trajectory": {**_SEARCH, "description": "what the search cost"},
    },
    "required": ["root", "folder", "outcome", "places", "modify", "related", "trajectory"],
}
_ISSUE: dict[str, Any] = {
    "type": "object",
    "properties": {"issue": {"type": "string", "description": "the whole text of the issue: what happens, what should, errors"}},
    "required": ["issue"],
    "additionalProperties": False,
}


_TOP = {"type": "integer", "minimum": 1, "maximum": MOST_FILES, "description": "so many files, however likely; 5 by default"}
_TOKENS = {
    "type": "integer",
    "minimum": LEAST_TOKENS,
    "maximum": MOST_TOKENS,
    "description": f"the most to return, in tokens of four bytes; {TOKENS} by default",
}
_QUESTION = {
    "type": "object",
    "properties": {"question": {"type": "string", "description": "the whole question"}},
    "required": ["question"],
    "additionalProperties": False,
}
_ANSWERED = {
    "type": "object",
    "properties": {
        "root": {"type": "string", "description": "the root that was searched"},
        "folder": {"type": "string", "description": "its folder, to which paths are relative"},
        "outcome": {"enum": ["answer", "no_answer"]},
        "values": {"type": "array", "items": {"type": "string"}, "description": "the entries of the answer"},
        "text": {"type": "string", "description": "the whole answer"},
        "trajectory": {**_SEARCH, "description": "what the search cost"},
    },
    "required": ["root", "folder", "outcome", "values", "text", "trajectory"],
}


def tools(roots: list[str], *, ranks: bool, asks: bool, search: bool = False) -> list[Tool]:
    """``localize`` and ``context``; with ``search`` also those of :mod:`fusesearch.search.tools`. All take ``root``.

    ``ranks``: no model searches, and ``localize`` takes ``top``. ``asks``: there is a model, which ``ask`` needs.
    """
    found = [_localize(roots, ranks), _context(roots), *([_ask(roots)] if asks else [])]
    return [*found, *(_search_tool(schema["function"], roots) for schema in schemas())] if search else found


def instructions(folders: dict[str, str], *, asks: bool, search: bool = False) -> str:
    """The server's instructions, which the client's model reads before the tools. ``folders`` are those of the roots."""
    *others, last = TOOLS
    named = ", ".join(f"{name} ({folder})" for name, folder in folders.items())
    several = f"Name one of the roots in every call: {named}." if len(folders) > 1 else f"The root is {named}."
    question = "; ask answers a question about the code" if asks else ""
    look = f" {', '.join(others)} and {last} look further." if search else ""
    return (
        "Finds the code an issue is about, in folders that are only read. Give localize the text of an issue, and it names the "
        "files and functions to modify; context returns what to read for it"
        f"{question}.{look} All paths are relative to the root; absolute ones below it are taken, too. {several}"
    )


def _localize(roots: list[str], ranks: bool) -> Tool:
    how = (
        "An index of names, words and history answers in about a second (longer the first time), with how sure it is and why. "
        "It names at most five files with their best functions, or as many as top says, and which are likely enough to act on."
        if ranks
        else "A search agent greps and reads the root by itself and answers with ranked places to modify, and related ones "
        "apart. Takes seconds to minutes."
    )
    asked = {**_ISSUE, "properties": {**_ISSUE["properties"], "top": _TOP}} if ranks else _ISSUE
    return Tool(
        name=LOCALIZE,
        title="Locate an issue in the code",
        description=f"Find the files and functions an issue is about. {how}",
        input_schema=_with_root(asked, roots),
        output_schema=_ANSWER,
        annotations=READ_ONLY,
    )


def _context(roots: list[str]) -> Tool:
    """Without an output schema: a client shows its model the text alone, which keeps to the budget."""
    asked = {**_ISSUE, "properties": {**_ISSUE["properties"], "tokens": _TOKENS}}
    return Tool(
        name=CONTEXT,
        title="Read what matters for an issue",
        description=(
            "The most useful code to read for an issue, within a budget of tokens: the best functions in full, heads of what "
            "they call, lines that call them, outlines of the likely files, each with path and lines. If issue is one name, "
            "such as shop.cart.Cart.total: its definitions, its callers, what it calls, and the tests that name it."
        ),
        input_schema=_with_root(asked, roots),
        annotations=READ_ONLY,
    )


def _ask(roots: list[str]) -> Tool:
    description = (
        "Answer a question about the code: a default, a constant, who calls, overrides or inherits something, where it is "
        "defined, how it works. A search agent greps and reads the root by itself."
    )
    return Tool(
        name=ASK,
        title="Answer a question about the code",
        description=description,
        input_schema=_with_root(_QUESTION, roots),
        output_schema=_ANSWERED,
        annotations=READ_ONLY,
    )


def _search_tool(function: dict[str, Any], roots: list[str]) -> Tool:
    parameters = function["parameters"]
    properties = {
        key: {**rule, "description": rule["description"].replace(f"below {VIRTUAL_ROOT}", "below the root")}
        for key, rule in parameters["properties"].items()
    }
    return Tool(
        name=function["name"],
        description=f"{function['description']} Paths are relative to the root.",
        input_schema=_with_root({**parameters, "properties": properties}, roots),
        annotations=READ_ONLY,
    )


def _with_root(parameters: dict[str, Any], roots: list[str]) -> dict[str, Any]:
    several = len(roots) > 1
    root = {"type": "string", "enum": roots, "description": "where to search" if several else "where to search; may be left out"}
    return {
        **parameters,
        "properties": {**parameters["properties"], "root": root},
        "required": [*parameters["required"], *(["root"] if several else [])],
    }
