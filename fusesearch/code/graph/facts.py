"""The facts of one Python file for the graph: its definitions, what they call and inherit from, and its imports.

Names are as written; :mod:`fusesearch.code.graph.linking` resolves them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from fusesearch.code.functions import BLOCKS, FunctionNode, first_line, parse

CLASS, FUNCTION = "class", "function"
INIT = "__init__"

_DEFINITIONS = FunctionNode | ast.ClassDef
MAX_DEFINITIONS = 20_000  # of one file
MAX_DEPTH = 40  # of nested definitions


class Import(NamedTuple):
    """``import module as alias`` if ``name`` is empty, else ``from module import name as alias``; absolute."""

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
    """A file of ``lines`` lines. ``imports`` are all its imports, at any depth."""

    path: str
    lines: int
    definitions: tuple[Definition, ...] = ()
    imports: tuple[Import, ...] = ()


def facts_of(path: str, source: str) -> FileFacts:
    """The facts of a file. Never raises: a file that this Python cannot parse has no definitions."""
    lines = source.count("\n") + (not source.endswith("\n"))
    tree = parse(source)
    if tree is None:
        return FileFacts(path, lines)
    found: dict[str, Definition] = {}
    for name, node, owner in _definitions(tree):
        found[name] = _definition(name, node, owner, path)  # of several with one name the last counts
        if len(found) >= MAX_DEFINITIONS:
            break
    return FileFacts(path, lines, tuple(found.values()), tuple(dict.fromkeys(_imports(ast.walk(tree), path))))


def _definitions(tree: ast.Module) -> Iterator[tuple[str, Any, str]]:
    """Qualified name, node and kind of its parent, in source order, without anything inside a constructor."""
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
        for block in reversed(BLOCKS):
            children = getattr(node, block, None)
            if isinstance(children, list):
                pending.extend((child, prefix, owner, depth) for child in reversed(children))


def _is_init(node: Any, owner: str) -> bool:
    return owner == CLASS and isinstance(node, ast.FunctionDef) and node.name == INIT


def _definition(name: str, node: Any, owner: str, path: str) -> Definition:
    lines = (first_line(node), node.lineno, node.end_lineno or node.lineno)
    if isinstance(node, ast.ClassDef):
        return _class(name, node, lines, path)
    if _is_init(node, owner):
        return Definition(FUNCTION, name, *lines)  # its calls count as calls of its class
    imports = tuple(dict.fromkeys(_imports(iter(node.body), path)))
    return Definition(FUNCTION, name, *lines, tuple(dict.fromkeys(_called(_own(node)))), (), imports)


def _class(name: str, node: ast.ClassDef, lines: tuple[int, int, int], path: str) -> Definition:
    """A class, which calls what its constructor and the functions nested in that call."""
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
    """Nodes of a function without its decorators and nested definitions."""
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
    """The dotted module of a ``from``; a relative one is completed with the folders of ``path``."""
    if not node.level:
        return node.module or ""
    folders = path.split("/")[: -node.level]
    return ".".join([*folders, *([node.module] if node.module else [])])
