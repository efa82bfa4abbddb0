"""Where a name of a module is defined, followed strictly: a name with two bindings, or one from outside, leads nowhere.

``fusesearch/code/graph`` and ``fusesearch/code/calls.py`` follow names generously, which finds candidates. Truth needs certainty.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from fusesearch.data.sources.synthetic.edits import FunctionNode, Source

MAX_CHAIN = 8
BLOCKS = ast.If | ast.Try | ast.With


@dataclass(frozen=True)
class Binding:
    """What binds a name at the top of a module: a definition or assignment (``node``), or an import.

    An import has the absolute ``module`` and the ``name`` in it, which is empty for a module as such.
    """

    node: ast.stmt
    module: str = ""
    name: str = ""


@dataclass(frozen=True)
class Definition:
    """Where a name leads: its module, file and statement there, and the modules passed on the way."""

    path: str
    name: str
    node: ast.stmt
    chain: tuple[str, ...]

    @property
    def entity(self) -> str:
        """``path::name``."""
        return f"{self.path}::{self.name}"


class Program:
    """The modules of a package: ``sources`` by path, and the dotted names that ``modules`` gives to paths."""

    def __init__(self, sources: Mapping[str, Source], modules: Mapping[str, str]) -> None:
        self.sources = sources
        self.modules = dict(modules)
        self.paths = {module: path for path, module in modules.items()}
        self.bindings = cache(self._bindings)

    def follow(self, module: str, name: str) -> Definition | None:
        """The definition of ``name`` in ``module``; None if it is not certain or not in this package."""
        chain: list[str] = []
        while module in self.paths and module not in chain and len(chain) < MAX_CHAIN:
            chain.append(module)
            bound, stars = self.bindings(module)
            found = bound.get(name, [])
            if len(found) == 1 and not found[0].module:
                return Definition(self.paths[module], name, found[0].node, tuple(chain))
            if len(found) == 1 and found[0].name:
                module, name = found[0].module, found[0].name
                continue
            offering = [star for star in stars if star not in self.paths or self._offers(star, name)]
            if found or len(offering) != 1:
                return None
            module = offering[0]
        return None

    def _offers(self, module: str, name: str) -> bool:
        """Whether ``from module import *`` binds the name."""
        bound, stars = self.bindings(module)
        listed = exported_names(self.sources[self.paths[module]].tree)
        if listed is not None:
            return name in listed
        return not name.startswith("_") and (name in bound or any(s not in self.paths or self._offers(s, name) for s in stars))

    def _bindings(self, module: str) -> tuple[dict[str, list[Binding]], list[str]]:
        """Names bound at the top of a module, also inside ``if``, ``try`` and ``with``, and its star imports."""
        bound: dict[str, list[Binding]] = {}
        stars: list[str] = []
        for node in statements(self.sources[self.paths[module]].tree.body):
            if isinstance(node, FunctionNode | ast.ClassDef):
                bound.setdefault(node.name, []).append(Binding(node))
            elif isinstance(node, ast.ImportFrom):
                base = self._base(module, node)
                for alias in node.names:
                    if alias.name == "*":
                        stars.append(base)
                    else:
                        bound.setdefault(alias.asname or alias.name, []).append(Binding(node, base, alias.name))
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    name, target = (alias.asname, alias.name) if alias.asname else (alias.name.partition(".")[0],) * 2
                    bound.setdefault(name, []).append(Binding(node, target))
            else:
                for name in stored_names(node):
                    bound.setdefault(name, []).append(Binding(node))
        return bound, stars

    def _base(self, module: str, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = module.split(".")
        up = node.level - self.paths[module].endswith("__init__.py")
        return ".".join([*parts[: len(parts) - up], *([node.module] if node.module else [])])


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a block and of the ``if``, ``try`` and ``with`` in it."""
    for node in body:
        if isinstance(node, BLOCKS):
            for part in ("body", "orelse", "finalbody"):
                yield from statements(getattr(node, part, []))
            for handler in getattr(node, "handlers", []):
                yield from statements(handler.body)
        else:
            yield node


def stored_names(node: ast.AST) -> set[str]:
    """Names that a statement assigns or deletes."""
    names = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load)}
    return names | {name for inner in ast.walk(node) if isinstance(inner, ast.Global) for name in inner.names}


def exported_names(tree: ast.Module) -> set[str] | None:
    """The strings of ``__all__``; None without one, or if it is computed."""
    found: set[str] = set()
    seen = False
    for node in statements(tree.body):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            value = getattr(node, "value", None)
            if not isinstance(value, ast.List | ast.Tuple):
                return None
            seen = True
            found |= {item.value for item in value.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)}
    return found if seen else None
