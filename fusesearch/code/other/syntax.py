"""Functions of a source file from its tree-sitter syntax tree (see :mod:`fusesearch.code.other.languages`).

Broken sources have trees too: an error node is searched like any other. Some sources take a parser minutes;
:mod:`fusesearch.code.other.parsing` runs this module in a child process with limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial
from importlib import import_module
from typing import Any, NamedTuple

from fusesearch.code.other.languages import LANGUAGES, Language
from fusesearch.code.other.macros import named_by_macros
from fusesearch.code.other.nodes import bare, bound_name, by_name, text_of
from fusesearch.code.other.readings import BRANCHES, readings
from fusesearch.code.other.recovery import Recovery, blank, masked, matched, repaired
from fusesearch.code.spans import FunctionSpan

_NESTED = frozenset({"object", "class"})
"""Values that contain functions, whose names start with the name of the variable."""

_FUNCTIONS_OF_OTHERS = frozenset({
    "map", "flatMap", "filter", "reduce", "reduceRight", "forEach", "find", "findIndex", "findLast", "findLastIndex", "some",
    "from", "every", "sort", "toSorted", "then", "catch", "finally", "on", "once", "off", "subscribe", "addEventListener",
    "setTimeout", "setInterval", "setImmediate", "requestAnimationFrame", "nextTick",
})  # fmt: skip
"""Calls that give back something else than the function that they are given."""
_CONDITION = re.compile(rb"(?:\}\s*else\s+)?\bif\s+#\[cfg\b[^\n{]*\]\s*\{|\}\s*else\s*\{")
"""Of ``cfg_if!``."""
_WRAPPERS = 8
"""Most wrappers around one function."""


class Source(NamedTuple):
    """Outermost functions in order of their first line; the source without its comments; and the lines (first, last) of what no
    reading of the source can parse."""

    spans: list[FunctionSpan]
    code: str
    unread: list[tuple[int, int]]


def read_source(data: bytes, language: str, whole: bool = True) -> Source:
    """A source in UTF-8; unless ``whole``, only its functions."""
    tree, row = _parser(language).parse(data), LANGUAGES[language]
    unread: list[tuple[int, int]] = []
    if tree.root_node.has_error:
        spans, unread = recovered(data, language)
    else:
        spans = spans_in_tree(tree, language)
    if language in ("c", "cpp"):
        spans = list(named_by_macros(spans, data))
    code = masked(data, quotes=row.quotes, comments=row.comments, literals=False) if whole else b""
    return Source(sorted(spans), code.decode("utf-8", "replace"), unread)


def recovered(data: bytes, language: str) -> tuple[list[FunctionSpan], list[tuple[int, int]]]:
    """The functions of a source that does not parse, and the lines of what cannot be read outside them.

    Functions in other branches of an ``#if`` than the first come from readings with those.
    """
    row, keywords = LANGUAGES[language], _keywords(language)
    walk = partial(spans_in_tree, language=language, broken=True)
    data = masked(data, quotes=row.quotes, comments=row.comments, literals=False)
    sources = readings(data, language)
    found = Recovery(sources, row, _parser(language).parse, walk, keywords)
    if not matched(found.code):
        repairs = [repaired(source, found.code) for source in sources]
        again = Recovery([source for source, _ in repairs], row, _parser(language).parse, walk, keywords)
        again.unread += [(line, line) for line in repairs[0][1]]
        found = again if repairs[0][1] and len(again.spans) >= len(found.spans) else found
    if row.instead and found.unread:
        again = Recovery(sources, row, _parser(row.instead).parse, walk, keywords)
        found = again if len(again.spans) > len(found.spans) else found
    spans, kept = found.spans, found.code.split(b"\n")
    other = sources[0]
    for branch in range(1, BRANCHES if b"#" in data else 1):
        last, other = other, readings(data, language, branch)[0]
        if other == last:
            break
        for span in spans_in_tree(_parser(language).parse(other), language):
            met = [one for one in spans if span.start <= one.end and one.start <= span.end]
            if not met and not kept[span.start - 1].strip():
                spans.append(span)
            elif len(met) == 1 and met[0].end < span.end and (met[0].start, met[0].name) == (span.start, span.name):
                spans[spans.index(met[0])] = span  # whose last brace is in another branch
    return spans, found.unread


def spans_in_tree(tree: Any, language: str, *, broken: bool = False) -> list[FunctionSpan]:
    """Outermost functions in order of their first line. ``broken``: the source has errors, if not this tree."""
    row = LANGUAGES[language]
    return sorted(_walk(tree.root_node, row, broken or row.reserved or tree.root_node.has_error))


def _walk(root: Any, language: Language, broken: bool) -> Iterator[FunctionSpan]:
    """Walk everything outside functions. Uses a stack because expressions can be thousands deep."""
    pending: list[tuple[Any, str, int]] = [(root, "", 0)]
    while pending:
        node, prefix, first = pending.pop()
        if node.type == language.opened:
            yield from _opened(node, prefix)
            continue
        bindings = _bindings(node, language)
        name = _function_name(node, bindings, language)
        if name is not None and not (broken and node.type in language.functions and name.rpartition(".")[2] in language.keywords):
            row, column = _end(node) if language.indented else node.end_point
            yield FunctionSpan(first + 1, max(row + (column > 0), first + 1), prefix + name)
            continue
        if len(bindings) > 1:
            for bound, value in bindings:
                if bound and value.type in language.values:
                    yield FunctionSpan(value.start_point[0] + 1, value.end_point[0] + 1, prefix + bound)
            continue
        prefix += _scope(node, bindings, language)
        pending += [(child, prefix, start) for child, start in _children(node, first, language) if child.child_count]


def _opened(node: Any, prefix: str) -> Iterator[FunctionSpan]:
    """The functions in the braces of a Rust macro's call, if those hold items, as in ``cfg_if! { fn f() {} }``."""
    tokens, row = node.named_children[-1], node.start_point[0]
    if tokens.type != "token_tree" or b"fn " not in tokens.text:
        return
    inside = tokens.text[1:-1]
    if node.text.startswith((b"cfg_if", b"::cfg_if")) and b"}" in inside:
        inside = _CONDITION.sub(lambda match: blank(match[0]), inside[: inside.rindex(b"}")])
    spans, unread = recovered(b"\n" * (tokens.start_point[0] - row) + inside, "rust")
    if not unread:
        yield from (FunctionSpan(span.start + row, span.end + row, prefix + span.name) for span in spans)


def _end(node: Any) -> tuple[int, int]:
    """Where the last word of a node ends, without comments after it."""
    last = node
    while last is not None:
        node = last
        words = (one for one in reversed(node.children) if "comment" not in one.type and one.end_byte > one.start_byte)
        last = next(words, None)
    return tuple(node.end_point)


def _function_name(node: Any, bindings: list[tuple[str | None, Any]], language: Language) -> str | None:
    """Name of a function that begins at ``node``: one that has a name, or a binding whose value is a function."""
    namer = language.functions.get(node.type)
    if namer is not None:
        return namer(node)
    if len(bindings) != 1:
        return None
    name, value = bindings[0]
    function = _wrapped(value, language)
    if function is None:
        return None
    return by_name(function) or ("exports" if node.type == "assignment_expression" else "default") if name == "" else name


def _scope(node: Any, bindings: list[tuple[str | None, Any]], language: Language) -> str:
    """The prefix that ``node`` adds to names inside it."""
    namer = language.containers.get(node.type)
    name = namer(node) if namer is not None else None
    if len(bindings) == 1 and bindings[0][1].type in _NESTED:
        name = bindings[0][0]
    return f"{name}." if name else ""


def _bindings(node: Any, language: Language) -> list[tuple[str | None, Any]]:
    """The names that ``node`` binds, each with its value."""
    if node.type not in language.bindings:
        return []
    field, where = language.bindings[node.type]
    value = node.child_by_field_name(where)
    if value is None:
        return []
    names = node.children_by_field_name(field) if field else []
    if value.type == "expression_list" and len(names) == value.named_child_count > 1:
        return [(text_of(name), bare(one)) for name, one in zip(names, value.named_children, strict=True)]
    return [(bound_name(node, field) if field else "", bare(value))]


def _wrapped(value: Any, language: Language, wrappers: int = _WRAPPERS) -> Any | None:
    """The function that a value is, or that is handed to the calls around it: ``memo(forwardRef(function Row() {}))``."""
    value = _alternative(value, language)
    if value.type in language.values:
        return value
    called = value.child_by_field_name("function") if value.type == "call_expression" and wrappers else None
    arguments = value.child_by_field_name("arguments")
    if called is None or arguments is None or called.type == "parenthesized_expression":
        return None
    if text_of(called.children[-1] if called.children else called) in _FUNCTIONS_OF_OTHERS:
        return None
    handed = [bare(one) for one in arguments.named_children if one.type != "comment"]
    for one in sorted(handed, key=lambda one: one.type not in language.values):
        if (one.type == "call_expression" or one.type in language.values) and (found := _wrapped(one, language, wrappers - 1)):
            return found
    return None


def _alternative(value: Any, language: Language) -> Any:
    """The function of ``a || function () {}`` or ``a ? function () {} : b``, or the value."""
    parts = ("right",) if value.type == "binary_expression" else ("consequence", "alternative")
    found = [bare(part) for name in parts if (part := value.child_by_field_name(name)) is not None]
    return next((part for part in found if part.type in language.values), value)


def _children(node: Any, first: int, language: Language) -> Iterator[tuple[Any, int]]:
    """Children and the first line of each, decorators and attributes included. ``first`` is that of the node."""
    wrapped = first if node.type in ("template_declaration", "export_statement") else None
    leading: int | None = None
    for child in node.children:
        row = child.start_point[0]
        if child.type in language.leading and (child.type != "annotated_expression" or b"{" not in child.text):
            leading = row if leading is None else leading
        elif child.is_named and (not child.is_extra or child.is_error):
            start = leading if leading is not None else row
            yield child, start if wrapped is None else wrapped
            leading = None


@cache
def _parser(language: str) -> Any:
    from tree_sitter import Language as Grammar
    from tree_sitter import Parser

    row = LANGUAGES[language]
    return Parser(Grammar(getattr(import_module(row.module), row.entry)()))


@cache
def _keywords(language: str) -> frozenset[bytes]:
    """The words that are tokens of their own in a grammar, as such or in a node such as ``open_modifier``."""
    grammar = _parser(language).language
    kinds = ((grammar.node_kind_for_id(kind) or "", grammar.node_kind_is_named(kind)) for kind in range(grammar.node_kind_count))
    words = (re.fullmatch("([a-z]{2,})_modifier" if named else "([a-z]{2,})", kind) for kind, named in kinds)
    return frozenset(word[1].encode() for word in words if word)
