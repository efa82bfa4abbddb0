"""Functions and comments of a source file from its tree-sitter syntax tree (see :mod:`fusesearch.code.languages`).

Broken sources have trees too: an error node is searched like any other. Some sources take a parser minutes;
:mod:`fusesearch.code.parsing` runs this module in a child process with limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from fusesearch.code.languages import LANGUAGES, Language, bound_name, by_name
from fusesearch.code.spans import FunctionSpan

_NESTED = frozenset({"object", "class"})
"""Values that contain functions, whose names start with the name of the variable."""

_SECOND_READING = {"kotlin": (re.compile(rb"(?<=[^\s{;])[ \t](?=\})"), b";")}
"""What to replace (at equal length) if a source does not parse: tree-sitter-kotlin 1.1 rejects a declaration with a closing
brace after it on the same line."""


def parse(data: bytes, language: str) -> Any:
    """The ``tree_sitter.Tree`` of a source in UTF-8. With errors, a second way of parsing is tried."""
    tree = _parser(language).parse(data)
    if tree.root_node.has_error and language in _SECOND_READING:
        pattern, replacement = _SECOND_READING[language]
        second = _parser(language).parse(pattern.sub(replacement, data))
        tree = tree if second.root_node.has_error else second
    return tree


def spans_in_tree(tree: Any, language: str) -> list[FunctionSpan]:
    """Outermost functions in order of their first line."""
    return sorted(_walk(tree.root_node, LANGUAGES[language]))


def comments_in_tree(tree: Any, language: str) -> list[tuple[int, int]]:
    """First byte of each comment and the byte after it, in order."""
    return list(_comments(tree, LANGUAGES[language].comments))


def _comments(tree: Any, kinds: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Uses a cursor, because queries of tree-sitter 0.26 take quadratic time in deeply nested sources."""
    cursor = tree.walk()
    while True:
        node = cursor.node
        if node.type in kinds:
            yield node.start_byte, node.end_byte
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _walk(root: Any, language: Language) -> Iterator[FunctionSpan]:
    """Walk everything outside functions. Uses a stack because expressions can be thousands deep."""
    pending: list[tuple[Any, str, int]] = [(root, "", 0)]
    while pending:
        node, prefix, first = pending.pop()
        name = _function_name(node, language)
        if name is not None:
            row, column = node.end_point
            yield FunctionSpan(first + 1, max(row + (column > 0), first + 1), prefix + name)
            continue
        prefix += _scope(node, language)
        pending += [(child, prefix, start) for child, start in _children(node, language)]


def _function_name(node: Any, language: Language) -> str | None:
    """Name of a function that begins at ``node``: one that has a name, or a binding whose value is a function."""
    namer = language.functions.get(node.type)
    if namer is not None:
        return namer(node)
    value = _bound_value(node, language)
    if value is None or value.type not in language.values:
        return None
    name = bound_name(node, language.bindings[node.type][0])
    return by_name(value) or "exports" if name == "" else name


def _scope(node: Any, language: Language) -> str:
    """The prefix that ``node`` adds to names inside it."""
    namer = language.containers.get(node.type)
    name = namer(node) if namer is not None else None
    value = _bound_value(node, language)
    if value is not None and value.type in _NESTED:
        name = bound_name(node, language.bindings[node.type][0])
    return f"{name}." if name else ""


def _bound_value(node: Any, language: Language) -> Any | None:
    """The value of a binding, without parentheses and Go's list of one expression."""
    if node.type not in language.bindings:
        return None
    value = node.child_by_field_name(language.bindings[node.type][1])
    while value is not None and value.type in ("parenthesized_expression", "expression_list") and value.named_child_count == 1:
        value = value.named_children[0]
    return value


def _children(node: Any, language: Language) -> Iterator[tuple[Any, int]]:
    """Children and the first line of each, decorators and attributes included."""
    wrapped = node.start_point[0] if node.type in ("template_declaration", "export_statement") else None
    leading: int | None = None
    for child in node.children:
        row = child.start_point[0]
        if child.type in language.leading:
            leading = row if leading is None else leading
        elif child.is_named and not child.is_extra:
            start = leading if leading is not None else row
            yield child, start if wrapped is None else wrapped
            leading = None


@cache
def _parser(language: str) -> Any:
    from tree_sitter import Language as Grammar
    from tree_sitter import Parser

    row = LANGUAGES[language]
    return Parser(Grammar(getattr(import_module(row.module), row.entry)()))
