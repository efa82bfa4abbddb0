"""What the statements of one Python module bind, and where: at its top, in the bodies of its classes, in its functions."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from fusesearch.code.functions import BLOCKS, FunctionNode, first_line
from fusesearch.code.outline import Import, chain_of

Scope = FunctionNode | ast.Lambda | ast.ClassDef
_DEFINED = FunctionNode | ast.ClassDef


@dataclass(frozen=True)
class Bound:
    """A statement that binds a name, with the blocks around it (``if``, ``try``, ...) and the names of the classes around it."""

    node: ast.stmt
    alias: Import | None = None
    branches: tuple[tuple[int, str], ...] = ()
    late: bool = False


class Module:
    """A parsed file: its tree, what its top binds, and the modules that it imports everything from."""

    def __init__(self, path: str, text: str, tree: ast.Module) -> None:
        self.path, self.text, self.tree = path, text, tree
        self.bound, self.stars = bindings(tree.body)
        self._classes: dict[int, dict[str, list[Bound]]] = {}

    def of_class(self, node: ast.ClassDef) -> dict[str, list[Bound]]:
        """What the body of a class binds."""
        if id(node) not in self._classes:
            self._classes[id(node)] = bindings(node.body, running=True)[0]
        return self._classes[id(node)]

    @cached_property
    def scopes(self) -> list[tuple[FunctionNode | ast.ClassDef, tuple[Scope, ...]]]:
        """All definitions of functions and classes, but those for type checkers, with what they stand in, outermost first."""
        found: list[tuple[FunctionNode | ast.ClassDef, tuple[Scope, ...]]] = []
        pending: list[tuple[ast.AST, tuple[Scope, ...]]] = [(self.tree, ())]
        while pending:
            node, around = pending.pop()
            if isinstance(node, _DEFINED):
                found.append((node, around))
                around = (*around, node)
            if isinstance(node, ast.If) and is_for_type_checkers(node):
                pending += [(child, around) for child in reversed(node.orelse)]
                continue
            for block in reversed(BLOCKS):
                children = getattr(node, block, None)
                if isinstance(children, list):
                    pending += [(child, around) for child in reversed(children)]
        return found

    def near(self, words: Collection[str]) -> Iterator[tuple[ast.AST, tuple[Scope, ...]]]:
        """As :func:`walk`, without what has no line with one of the words."""
        pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(words)))})\b")
        lines = [number for number, line in enumerate(self.text.split("\n"), 1) if pattern.search(line)]
        return walk(self.tree, lines)

    @cached_property
    def set_globally(self) -> set[str]:
        """Names that a function of the module assigns with ``global``."""
        return {name for node in ast.walk(self.tree) if isinstance(node, ast.Global) for name in node.names}


def effective(bindings: list[Bound]) -> list[Bound]:
    """The bindings of a name that may be in force at the end: of those that run one after the other the last.

    Overloads, setters of a property, and ``name = None`` where an import failed do not count.
    """
    kept: list[Bound] = []
    for bound in bindings:
        if isinstance(bound.node, FunctionNode) and is_added(bound.node):
            continue
        if kept and _is_none(bound.node) and bound.branches:
            continue
        if isinstance(bound.node, ast.AnnAssign) and bound.node.value is None and bindings[1:]:
            continue
        # it runs whenever an earlier one does whose blocks begin with its own
        kept = [one for one in kept if bound.branches != one.branches[: len(bound.branches)]]
        kept = [one for one in kept if not (_is_none(one.node) and one.branches)]
        kept.append(bound)
    return kept or bindings[-1:]


def is_added(node: FunctionNode) -> bool:
    """Whether a decorator adds the function to an earlier one: ``@name.setter``, ``@name.register``, ``@overload``."""
    called = (decorator.func if isinstance(decorator, ast.Call) else decorator for decorator in node.decorator_list)
    chains = (chain_of(one) or ("",) for one in called)
    return any(chain[-1] == "overload" or (len(chain) == 2 and chain[0] == node.name) for chain in chains)


def _is_none(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant) and node.value.value is None


def listed_names(module: Module) -> set[str] | None:
    """The strings of ``__all__``; None without one, or if it is computed."""
    found: set[str] = set()
    for bound in module.bound.get("__all__", []):
        value = getattr(bound.node, "value", None)
        if not isinstance(value, ast.List | ast.Tuple):
            return None
        found |= {item.value for item in value.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)}
    return found or None


def is_for_type_checkers(node: ast.AST) -> bool:
    """Whether the body of a statement never runs."""
    return isinstance(node, ast.If) and (chain_of(node.test) or ("",))[-1] == "TYPE_CHECKING"


def walk(tree: ast.Module, lines: list[int] | None = None) -> Iterator[tuple[ast.AST, tuple[Scope, ...]]]:
    """All nodes in order with the functions and classes around them; decorators, defaults and bases stand outside.

    With ``lines``, sorted, only what spans one of them.
    """
    pending: list[tuple[ast.AST, tuple[Scope, ...]]] = [(tree, ())]
    while pending:
        node, around = pending.pop()
        if lines is not None and (end := getattr(node, "end_lineno", None)) is not None:
            start = first_line(node) if isinstance(node, _DEFINED) else node.lineno  # type: ignore[attr-defined]
            position = bisect_left(lines, start)
            if position == len(lines) or lines[position] > end:
                continue
        if node is not tree:
            yield node, around
        if isinstance(node, _DEFINED):
            body = {id(child) for child in node.body}
            inner = (*around, node)
            pending += reversed([(child, inner if id(child) in body else around) for child in ast.iter_child_nodes(node)])
        elif isinstance(node, ast.Lambda):
            pending += [(node.body, (*around, node)), (node.args, around)]
        else:
            pending += reversed([(child, around) for child in ast.iter_child_nodes(node)])


def local_bindings(scope: Scope) -> dict[str, list[Bound]]:
    """What a function binds: parameters, assignments, imports and definitions in it."""
    found: dict[str, list[Bound]] = {}
    arguments = scope.args  # type: ignore[union-attr]
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    for argument in filter(None, parameters):
        found.setdefault(argument.arg, []).append(Bound(ast.Pass()))
    if not isinstance(scope, FunctionNode):
        return found
    pending: list[ast.AST] = list(scope.body)
    outside: set[str] = set()
    while pending:
        node = pending.pop()
        if isinstance(node, FunctionNode | ast.ClassDef):
            found.setdefault(node.name, []).append(Bound(node, branches=((id(node), ""),)))
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name, alias in _imports(node):
                found.setdefault(name, []).append(Bound(node, alias, ((id(node), ""),)))
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.setdefault(node.id, []).append(Bound(ast.Pass(), branches=((id(node), ""),)))
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.setdefault(node.name, []).append(Bound(ast.Pass()))
        elif isinstance(node, ast.Global | ast.Nonlocal):
            outside.update(node.names)
        pending += ast.iter_child_nodes(node)
    return {name: bindings for name, bindings in found.items() if name not in outside}


def stored(node: ast.AST) -> set[str]:
    """Names that a statement assigns or deletes, without those of comprehensions in it."""
    found: set[str] = set()
    pending = [node]
    while pending:
        inner = pending.pop()
        if isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load):
            found.add(inner.id)
        if not isinstance(inner, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda):
            pending += ast.iter_child_nodes(inner)
    return found


def names_of(around: Iterable[Scope]) -> list[str]:
    """The names of scopes, without lambdas."""
    return [scope.name for scope in around if not isinstance(scope, ast.Lambda)]


def bindings(body: list[ast.stmt], running: bool = False) -> tuple[dict[str, list[Bound]], list[Import]]:
    """What statements bind; ``running`` leaves out what is for type checkers."""
    bound: dict[str, list[Bound]] = {}
    stars: list[Import] = []
    for node, branches in statements(body, running):
        if isinstance(node, FunctionNode | ast.ClassDef):
            bound.setdefault(node.name, []).append(Bound(node, branches=branches))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for name, alias in _imports(node):
                if name == "*":
                    stars.append(alias)
                else:
                    bound.setdefault(name, []).append(Bound(node, alias, branches))
        else:
            for name in stored(node):
                bound.setdefault(name, []).append(Bound(node, branches=branches))
    return bound, stars


def _imports(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Import]]:
    for one in node.names:
        if isinstance(node, ast.ImportFrom):
            name = one.asname or one.name
            yield name, Import(node.module or "", one.name, name, node.level)
        elif one.asname:
            yield one.asname, Import(one.name, "", one.asname)
        else:
            first = one.name.partition(".")[0]
            yield first, Import(first, "", first)


def statements(body: list[ast.stmt], running: bool = False) -> Iterator[tuple[ast.stmt, tuple[tuple[int, str], ...]]]:
    """Statements outside functions in order, with the blocks of which only one, or not each, runs."""
    pending: list[tuple[ast.AST, tuple[tuple[int, str], ...]]] = [(node, ()) for node in reversed(body)]
    while pending:
        node, branches = pending.pop()
        if isinstance(node, ast.ExceptHandler | ast.match_case):
            pending += [(child, branches) for child in reversed(node.body)]
            continue
        if not isinstance(node, ast.If | ast.Try | ast.TryStar | ast.With | ast.For | ast.While | ast.Match):
            if isinstance(node, ast.stmt):
                yield node, branches
            continue
        inner: list[tuple[ast.AST, tuple[tuple[int, str], ...]]] = []
        for part in BLOCKS:
            if running and part == "body" and is_for_type_checkers(node):
                continue
            for number, child in enumerate(getattr(node, part, [])):
                own = f"{part}{number}" if part in ("handlers", "cases") else part
                certain = isinstance(node, ast.With) or part == "finalbody"
                inner.append((child, branches if certain else (*branches, (id(node), own))))
        pending += reversed(inner)
