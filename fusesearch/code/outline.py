"""The outline of a file: functions, classes and their bases, variables, imports, and the names that each function calls.

Functions are those of :mod:`fusesearch.code.functions`. For Python that does not parse and for languages parsed with tree-sitter,
only functions and the classes in their names are known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from fusesearch.code.functions import FunctionNode, definitions, first_line, function_spans, parse, renumbered, spans_in_tree
from fusesearch.code.spans import FunctionSpan, is_python

MAX_CALLS = 400
MAX_IMPORTS = 1000
MAX_BASES = 16
SUPER = "super()"

Chain = tuple[str, ...]
"""A dotted name in parts: ``("self", "run")``, ``("os", "path", "join")``, ``("super()", "run")``."""


@dataclass(frozen=True, order=True)
class ClassSpan:
    """Lines ``start`` to ``end`` (1-based, inclusive, with decorators) of the class ``name``, and its bases."""

    start: int
    end: int
    name: str
    bases: tuple[Chain, ...] = ()


@dataclass(frozen=True)
class Import:
    """One name bound by an import: ``alias`` is ``name`` of ``module``, or the module itself if ``name`` is empty.

    ``level`` counts the leading dots. ``name`` is ``*`` for a star import.
    """

    module: str
    name: str
    alias: str
    level: int = 0


@dataclass(frozen=True)
class Outline:
    """The contents of a file in order of first lines. ``calls`` has an entry per function if Python can parse the file."""

    path: str
    lines: tuple[str, ...]
    functions: tuple[FunctionSpan, ...]
    classes: tuple[ClassSpan, ...]
    variables: tuple[FunctionSpan, ...] = ()
    imports: tuple[Import, ...] = ()
    calls: dict[str, tuple[Chain, ...]] = field(default_factory=dict)

    def function(self, name: str) -> FunctionSpan | None:
        """The first function called ``name``."""
        return next((span for span in self.functions if span.name == name), None)

    def class_(self, name: str) -> ClassSpan | None:
        """The first class called ``name``."""
        return next((span for span in self.classes if span.name == name), None)

    def members(self, class_name: str) -> list[FunctionSpan]:
        """Functions directly in a class."""
        return [span for span in self.functions if span.name.rpartition(".")[0] == class_name]

    def text(self, start: int, end: int) -> str:
        """Lines ``start`` to ``end``, 1-based and inclusive."""
        return "\n".join(self.lines[start - 1 : end])


def outline(path: str, source: str) -> Outline:
    """The outline of a file with the text ``source``. Never raises. Lines end at line feeds alone, as in git."""
    lines = tuple(line.removesuffix("\r") for line in source.split("\n"))
    tree = parse(source) if is_python(path) else None
    if tree is None:
        spans = function_spans(source, path)
        return Outline(path, lines, tuple(spans), tuple(_classes_of_names(spans)))
    variables = sorted(renumbered(_variables(tree), source))
    return Outline(
        path,
        lines,
        tuple(spans_in_tree(tree, source)),
        tuple(_classes(tree, source)),
        tuple(variables),
        tuple(islice(_imports(tree), MAX_IMPORTS)),
        _calls(tree),
    )


def chain_of(node: ast.expr) -> Chain | None:
    """The dotted name of an expression, or None if it is something else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        return (node.id, *reversed(parts))
    if parts and isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
        return (SUPER, *reversed(parts))
    return None


def _classes(tree: ast.Module, source: str) -> list[ClassSpan]:
    found = [(node, f"{prefix}{node.name}") for node, prefix in definitions(tree) if isinstance(node, ast.ClassDef)]
    spans = renumbered((FunctionSpan(first_line(node), node.end_lineno or node.lineno, name) for node, name in found), source)
    return sorted(ClassSpan(span.start, span.end, span.name, _bases(node)) for span, (node, _) in zip(spans, found, strict=True))


def _bases(node: ast.ClassDef) -> tuple[Chain, ...]:
    expressions = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases[:MAX_BASES])
    return tuple(chain for chain in map(chain_of, expressions) if chain)


def _classes_of_names(spans: list[FunctionSpan]) -> list[ClassSpan]:
    """Classes according to the dotted names of functions, from their first to their last known line."""
    found: dict[str, ClassSpan] = {}
    for span in spans:
        parts = span.name.split(".")[:-1]
        for count in range(1, len(parts) + 1):
            name = ".".join(parts[:count])
            old = found.get(name, ClassSpan(span.start, span.end, name))
            found[name] = ClassSpan(min(old.start, span.start), max(old.end, span.end), name)
    return sorted(found.values())


def _variables(tree: ast.Module) -> Iterator[FunctionSpan]:
    """Names assigned outside classes and functions."""
    for node, prefix in definitions(tree):
        if prefix or not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            for name in [target, *getattr(target, "elts", [])]:
                if isinstance(name, ast.Name):
                    yield FunctionSpan(node.lineno, node.end_lineno or node.lineno, name.id)


def _imports(tree: ast.Module) -> Iterator[Import]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                alias = name.asname or name.name.partition(".")[0]
                yield Import(name.name if name.asname else alias, "", alias)
                if not name.asname and name.name != alias:
                    yield Import(name.name, "", name.name)
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                yield Import(node.module or "", name.name, name.asname or name.name, node.level)


def _calls(tree: ast.Module) -> dict[str, tuple[Chain, ...]]:
    """Distinct dotted names that each function calls, in order. Functions of one name are merged.

    A method of a variable gets the class that the variable was created from or annotated with: ``x = Shape()`` and ``x.area()``
    give ``Shape.area``.
    """
    found: dict[str, tuple[Chain, ...]] = {}
    everywhere = _types(node for node, prefix in definitions(tree) if not prefix)
    nodes = [(node, f"{prefix}{node.name}") for node, prefix in definitions(tree) if isinstance(node, FunctionNode)]
    for node, name in sorted(nodes, key=lambda pair: pair[0].lineno):
        types = {**everywhere, **_types(ast.walk(node))}
        calls = [call for call in ast.walk(node) if isinstance(call, ast.Call)]
        calls.sort(key=lambda call: (call.lineno, call.col_offset))
        chains = (chain for call in calls if (chain := chain_of(call.func)) and chain != ("super",))
        typed = ((*types[chain[0]], *chain[1:]) if len(chain) == 2 and chain[0] in types else chain for chain in chains)
        found[name] = tuple(islice(dict.fromkeys([*found.get(name, ()), *typed]), MAX_CALLS))
    return found


def _types(nodes: Iterable[ast.AST]) -> dict[str, Chain]:
    """The class that each variable or parameter is created from or annotated with, the first if there are several.

    It may turn out to be a function when the name is followed.
    """
    found: dict[str, Chain] = {}
    for node in nodes:
        target: ast.AST | None = None
        kind: Chain | None = None
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            target, kind = node.targets[0], chain_of(node.value.func)
        elif isinstance(node, ast.withitem) and isinstance(node.context_expr, ast.Call):
            target, kind = node.optional_vars, chain_of(node.context_expr.func)
        elif isinstance(node, ast.AnnAssign):
            target, kind = node.target, _annotated(node.annotation)
        elif isinstance(node, ast.arg) and node.annotation:
            found.setdefault(node.arg, _annotated(node.annotation) or ("",))
        if kind and isinstance(target, ast.Name):
            found.setdefault(target.id, kind)
    return {name: kind for name, kind in found.items() if kind[0] not in ("", "self", "cls", SUPER)}


def _annotated(node: ast.expr) -> Chain | None:
    """The class in an annotation: the first in ``A | None``, the quoted name in a string."""
    while isinstance(node, ast.BinOp):
        node = node.left
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        parts = node.value.split(".")
        return tuple(parts) if all(part.isidentifier() for part in parts) else None
    return chain_of(node)
