"""What one Python file says about the graph: its definitions, whom they call and inherit from, and what is imported.

Names are as they are written; whom they mean is for :mod:`tasks.code.graph.linking` to find out. Facts are plain
records that survive JSON, so that a snapshot is parsed once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from tasks.code.functions import parse

CLASS, FUNCTION = "class", "function"
INIT = "__init__"

_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
MAX_DEFINITIONS = 20_000
MAX_DEPTH = 40
"""Definitions of one file, and definitions in one another, that are looked at."""


class Import(NamedTuple):
    """``import module as alias`` where ``name`` is empty, else ``from module import name as alias``; absolute."""

    module: str
    name: str = ""
    alias: str = ""


@dataclass(frozen=True)
class Definition:
    """A class or function ``name`` (``Outer.method.inner``) on lines ``start`` to ``end``, decorators included.

    ``header`` is the line of its ``def`` or ``class``. ``calls`` are last names: ``save`` of ``self.items.save()``.
    """

    kind: str
    name: str
    start: int
    header: int
    end: int
    calls: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    imports: tuple[Import, ...] = ()


@dataclass(frozen=True)
class FileFacts:
    """A file of ``lines`` lines. ``imports`` are all its imports, at whatever depth."""

    path: str
    lines: int
    definitions: tuple[Definition, ...] = ()
    imports: tuple[Import, ...] = ()


def facts_of(path: str, source: str) -> FileFacts:
    """Never raises: a file this Python cannot parse is a file without definitions."""
    lines = source.count("\n") + (not source.endswith("\n"))
    tree = parse(source)
    if tree is None:
        return FileFacts(path, lines)
    found: dict[str, Definition] = {}
    for name, node, owner in _definitions(tree):
        found[name] = _definition(name, node, owner, path)  # of several with one name the last is meant
        if len(found) >= MAX_DEFINITIONS:
            break
    return FileFacts(path, lines, tuple(found.values()), tuple(dict.fromkeys(_imports(ast.walk(tree), path))))


def _definitions(tree: ast.Module) -> Iterator[tuple[str, Any, str]]:
    """Qualified name, node and kind of what holds it, in the order of the source; nothing inside a constructor."""
    pending: list[tuple[ast.AST, str, str, int]] = [(tree, "", "", 0)]
    while pending:
        node, prefix, owner, depth = pending.pop()
        if isinstance(node, _DEFINITIONS):
            name = prefix + node.name
            yield name, node, owner
            if depth >= MAX_DEPTH or _is_init(node, owner):
                continue
            prefix, depth = f"{name}.", depth + 1
            owner = CLASS if isinstance(node, ast.ClassDef) else FUNCTION
        for block in reversed(_BLOCKS):
            children = getattr(node, block, None)
            if isinstance(children, list):
                pending.extend((child, prefix, owner, depth) for child in reversed(children))


def _is_init(node: Any, owner: str) -> bool:
    return owner == CLASS and isinstance(node, ast.FunctionDef) and node.name == INIT


def _definition(name: str, node: Any, owner: str, path: str) -> Definition:
    start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    lines = (start, node.lineno, node.end_lineno or node.lineno)
    if isinstance(node, ast.ClassDef):
        return _class(name, node, lines, path)
    if _is_init(node, owner):
        return Definition(FUNCTION, name, *lines)  # what it calls counts as called by its class
    imports = tuple(dict.fromkeys(_imports(iter(node.body), path)))
    return Definition(FUNCTION, name, *lines, tuple(dict.fromkeys(_called(_own(node)))), (), imports)


def _class(name: str, node: ast.ClassDef, lines: tuple[int, int, int], path: str) -> Definition:
    """A class calls what its constructor calls, functions nested in that included."""
    init = next((item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == INIT), None)
    calls = [*_decorating(init), *_called(ast.walk(init))] if init else []
    bases = [base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in node.bases]
    imports = [*_imports(iter(node.body), path), *_imports(iter(init.body if init else ()), path)]
    return Definition(CLASS, name, *lines, *(tuple(dict.fromkeys(filter(None, kind))) for kind in (calls, bases, imports)))


def _decorating(node: ast.FunctionDef) -> Iterator[str]:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Name):
            yield decorator.id
        else:
            yield from (part.attr for part in ast.walk(decorator) if isinstance(part, ast.Attribute))


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """Nodes of a function without its decorators and without functions and classes nested in it."""
    decorators = getattr(function, "decorator_list", [])
    pending = [child for child in ast.iter_child_nodes(function) if child not in decorators]
    while pending:
        node = pending.pop()
        if not isinstance(node, _DEFINITIONS):
            yield node
            pending.extend(ast.iter_child_nodes(node))


def _called(nodes: Iterator[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield node.func.id
            elif isinstance(node.func, ast.Attribute):
                yield node.func.attr


def _imports(nodes: Iterator[ast.AST], path: str) -> Iterator[Import]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, "", alias.asname or "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = _absolute(node, path)
            yield from (Import(module, alias.name, alias.asname or "") for alias in node.names)


def _absolute(node: ast.ImportFrom, path: str) -> str:
    """The dotted module of a ``from``, which folders of ``path`` complete where it is relative."""
    if not node.level:
        return node.module or ""
    folders = path.split("/")[: -node.level]
    return ".".join([*folders, *([node.module] if node.module else [])])
