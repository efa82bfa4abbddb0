"""What names mean in the Python modules of a tree: where they are bound, what they lead to, and the methods of classes.

A name leads to every definition that it may stand for. One definition is certain; several, or none, are told apart by who asks.
Imports, re-exports, star imports, aliases (``name = other``), nested classes and inherited members are followed. Nothing is run.
"""

from __future__ import annotations

import ast
import builtins
import collections
import collections.abc
import enum
import re
import threading
import time
import typing
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fusesearch.code.functions import FunctionNode, first_line, parse
from fusesearch.code.modules import Outlines, outlines_of
from fusesearch.code.outline import Import, chain_of
from fusesearch.code.scopes import (
    Bound,
    Module,
    Scope,
    effective,
    is_added,
    listed_names,
    local_bindings,
    names_of,
    statements,
)
from fusesearch.code.spans import is_python
from fusesearch.core.errors import RepositoryError
from fusesearch.search import ripgrep
from fusesearch.search.repository import Repository

MAX_STEPS = 20_000
"""Look-ups for one question. Without a limit, modules that import each other's names in circles would never end."""

MAX_DEPTH = 30
MAX_SOURCE = 60_000_000
"""Characters of source that one question reads at most."""

SEARCH_SECONDS = 30.0
SEARCH_BYTES = 64 * 2**20

_KNOWN: dict[str, Any] = {
    module.__name__: module for module in (builtins, collections, collections.abc, enum, threading, typing)
}  # fmt: skip
"""Modules whose classes are looked into, so that a base from there hides nothing."""


class TooMuchError(Exception):
    """A question needs more reading than :data:`MAX_SOURCE` or :data:`MAX_STEPS` allow."""


@dataclass(frozen=True)
class Definition:
    """What binds a name: its file, qualified name, statement, and the classes around it, outermost first.

    ``node`` is the statement; a module has none. ``inside`` says that it stands in a function.
    """

    path: str
    name: str
    node: ast.stmt | None = field(compare=False, hash=False)
    line: int = 1
    inside: bool = field(default=False, compare=False)

    @property
    def entity(self) -> str:
        """``path::Qualified.name``, or the path of a module."""
        return f"{self.path}::{self.name}" if self.name else self.path

    @property
    def last(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True)
class External:
    """A dotted name that leads out of the tree."""

    name: str


Target = Definition | External


class Definitions:
    """The definitions of a tree, read when asked for. One object serves one question."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._outlines: Outlines = outlines_of(repository)
        self.files = [path for path in repository.files() if is_python(path)]
        self._visible = frozenset(self.files)
        self._modules: dict[str, Module | None] = {}
        self._mros: dict[str, list[Target] | None] = {}
        self.unread: set[str] = set()
        self._left, self._steps = MAX_SOURCE, MAX_STEPS

    def module(self, path: str) -> Module | None:
        """A file's module; None if it cannot be read or parsed, which ``unread`` notes."""
        if path not in self._modules:
            self._modules[path] = self._read(path)
            if self._modules[path] is None:
                self.unread.add(path)
        return self._modules[path]

    def mentioning(self, words: Iterable[str]) -> list[str]:
        """Python files that have one of the words, in path order."""
        return self.matching(rf"\b(?:{'|'.join(map(re.escape, sorted(set(words))))})\b")

    def matching(self, pattern: str, fold: bool = False) -> list[str]:
        """Python files with a line that has the pattern (ripgrep's), in path order; ``fold`` ignores case."""
        arguments = ["--files-with-matches", "--null", *(["--ignore-case"] if fold else []), "--glob=*.{py,pyi,pyw}"]
        output = ripgrep.RipgrepRun().run(
            [*arguments, ripgrep.NO_HIDDEN, *self._repository.search_flags(), f"--regexp={pattern}", "--", "./"],
            self._repository.root, time.monotonic() + SEARCH_SECONDS, SEARCH_BYTES,
        )  # fmt: skip
        if not output.complete:
            raise TooMuchError
        names = {name.removeprefix(b"./").decode("utf-8", "replace") for name in output.stdout.split(b"\0")}
        return [path for path in self.files if path in names]

    def dotted(self, definition: Definition) -> str:
        """The name with its module before it."""
        return ".".join(filter(None, [self._outlines.dotted(definition.path), definition.name]))

    def public(self, name: str) -> list[Target]:
        """What a dotted name leads to that begins with a module; empty if none does, or the path is not known."""
        path, _, inner = name.partition("::")
        if inner:
            return self._members([Definition(path, "", None)], inner.split(".")) if path in self._visible else []
        parts = name.split(".")
        for count in range(len(parts) - 1, 0, -1):
            found = self._outlines.module(".".join(parts[:count]))
            if found is not None and (targets := self._members([Definition(found, "", None)], parts[count:])):
                return targets
        whole = self._outlines.module(name) if len(parts) > 1 else None
        return [Definition(whole, "", None)] if whole else []

    def ending(self, name: str, fold: bool = False) -> list[Definition]:
        """All definitions whose dotted name ends with ``name``, also in functions; ``fold`` ignores case."""
        last = name.rpartition(".")[2]
        found: list[Definition] = []
        for path in self.matching(rf"(?:\b(?:def|class)\s+|^\s*(?:\w+\s*[,=]\s*)*){re.escape(last)}\b", fold):
            module = self.module(path)
            for definition in every_definition(module, last) if module else ():
                given, wanted = self.dotted(definition), name
                if fold:
                    given, wanted = given.casefold(), wanted.casefold()
                if f".{given}".endswith(f".{wanted}"):
                    found.append(definition)
        return found

    def follow(self, path: str, name: str, depth: int = 0) -> list[Target]:
        """What ``name`` stands for at the top of a module: in order of preference, each once."""
        self._count()
        module = self.module(path)
        if module is None or depth > MAX_DEPTH:
            return []
        found: list[Target] = []
        for bound in effective(module.bound.get(name, [])):
            found += self._bound(path, bound, name, "", depth)
        if not found:
            offers = [self._star(path, star, name, depth) for star in module.stars]
            found = next((offer for offer in reversed(offers) if offer), [])
        inner = self._outlines.module(f"{self._outlines.dotted(path)}.{name}") if path.endswith("__init__.py") else None
        if not found and inner and inner != path:
            found = [Definition(inner, "", None)]
        return list(dict.fromkeys(found))

    def resolve(self, path: str, chain: Iterable[str]) -> list[Target]:
        """What a dotted expression stands for at the top of a module; a name that nothing binds is a builtin or unknown."""
        first, *rest = chain
        found = self.follow(path, first)
        if not found and hasattr(builtins, first):
            found = [External(f"builtins.{first}")]
        module = self.module(path)
        if module is not None and not found and rest:  # import a.b binds a
            found = self._imported_modules(module, first)
        return self._members(found, rest) if found else []

    def resolve_in(self, module: Module, around: tuple[Scope, ...], chain: tuple[str, ...]) -> list[Target]:
        """The same inside functions and classes; empty for a local variable or parameter that leads nowhere certain."""
        first, rest = chain[0], list(chain[1:])
        for position in range(len(around) - 1, -1, -1):
            scope = around[position]
            if isinstance(scope, ast.ClassDef):
                if position == len(around) - 1 and first in module.of_class(scope):
                    holder = self._definition(module.path, scope, ".".join(names_of(around[:position])))
                    return self._members(self.own(holder, first), rest)
                continue
            local = local_bindings(scope)
            if first in local:
                found: list[Target] = []
                for bound in effective(local[first]):
                    if bound.alias is not None:
                        found += self._bound(module.path, bound, first, "", 0)
                    elif isinstance(bound.node, FunctionNode | ast.ClassDef):
                        prefix = ".".join(names_of(around[: position + 1]))
                        found.append(self._definition(module.path, bound.node, prefix, inside=True))
                    else:
                        return []
                return self._members(list(dict.fromkeys(found)), rest)
        return self.resolve(module.path, chain)

    def own(self, holder: Definition, name: str) -> list[Target]:
        """What the body of a class binds ``name`` to."""
        module = self.module(holder.path)
        if module is None or not isinstance(holder.node, ast.ClassDef):
            return []
        found: list[Target] = []
        for bound in effective(module.of_class(holder.node).get(name, [])):
            if isinstance(bound.node, FunctionNode | ast.ClassDef) or bound.alias is not None:
                found += self._bound(holder.path, bound, name, holder.name, 0)
            else:
                found.append(self._definition(holder.path, bound.node, holder.name, name))
        return list(dict.fromkeys(found))

    def member(self, holder: Definition, name: str) -> tuple[list[Target], bool]:
        """The member of a class or of the first class of its order of look-up that has it, and whether that is certain."""
        order, certain = self.order(holder)
        for one in order:
            if isinstance(one, External):
                owner = known_class(one)
                if owner is None:
                    certain = False
                elif name in vars(owner) and owner is not object:
                    return [External(f"{one.name}.{name}")], certain
                continue
            if found := self.own(one, name):
                return found, certain and len(found) == 1
        return [], certain

    def order(self, holder: Definition) -> tuple[list[Target], bool]:
        """Python's order of look-up of a class, and whether all bases are known by name and fit together."""
        linear = self._linear(holder, 0)
        if linear is not None:
            return linear, not any(isinstance(one, External) and one.name.startswith("?") for one in linear)
        seen: list[Target] = [holder]  # a base is not certain: all classes that may be there, nearest first
        for one in seen:
            if isinstance(one, Definition):
                seen += [base for bases in self.bases(one) for base in bases if base not in seen]
        return seen, False

    def bases(self, holder: Definition) -> list[list[Target]]:
        """For each base what it may be; ``?`` and the source for one that cannot be followed."""
        module = self.module(holder.path)
        if module is None or not isinstance(holder.node, ast.ClassDef):
            return []
        around = next((around for node, around in module.scopes if node is holder.node), ())
        found: list[list[Target]] = []
        for base in holder.node.bases:
            expression = base.value if isinstance(base, ast.Subscript) else base
            chain = chain_of(expression)
            targets = self.resolve_in(module, around, chain) if chain else []
            targets = [one for one in targets if isinstance(one, External) or isinstance(one.node, ast.ClassDef)]
            found.append(targets or [External(f"?{' '.join([ast.unparse(base), *_assigned(module, base)])[:1000]}")])
        return found

    def definition_of(self, module: Module, node: ast.stmt, around: tuple[Scope, ...]) -> Definition:
        """The definition of a statement that :attr:`Module.scopes` has."""
        inside = any(not isinstance(scope, ast.ClassDef) for scope in around)
        return self._definition(module.path, node, ".".join(names_of(around)), inside=inside)

    def class_of(self, definition: Definition) -> Definition | None:
        """The class that a method or another member stands in."""
        module = self.module(definition.path)
        if module is None or definition.node is None:
            return None
        for node, around in module.scopes:
            if isinstance(node, ast.ClassDef) and any(one is definition.node for one, _ in statements(node.body)):
                return self.definition_of(module, node, around)
        return None

    def _linear(self, holder: Definition, depth: int) -> list[Target] | None:
        """C3; None if a base is not certain, bases form a circle, or do not fit together."""
        self._count()
        key = f"{holder.entity}:{holder.line}"
        if key in self._mros:
            return self._mros[key]
        self._mros[key] = None  # while it is being made
        if depth > MAX_DEPTH:
            return None
        lines: list[list[Target]] = []
        direct: list[Target] = []
        for targets in self.bases(holder):
            if len(targets) != 1:
                return None
            (base,) = targets
            line = self._linear(base, depth + 1) if isinstance(base, Definition) else [base]
            if line is None:
                return None
            lines.append(list(line))
            direct.append(base)
        merged = _merged([*lines, direct])
        self._mros[key] = [holder, *merged] if merged is not None else None
        return self._mros[key]

    def _members(self, targets: list[Target], rest: list[str]) -> list[Target]:
        for name in rest:
            following: list[Target] = []
            for one in targets:
                if isinstance(one, External):
                    following.append(External(f"{one.name}.{name}"))
                elif one.node is None:
                    following += self.follow(one.path, name) or self._submodule(one.path, name)
                elif isinstance(one.node, ast.ClassDef):
                    following += self.member(one, name)[0]
            targets = list(dict.fromkeys(following))
        return targets

    def _submodule(self, path: str, name: str) -> list[Target]:
        found = self._outlines.module(f"{self._outlines.dotted(path)}.{name}".strip("."))
        return [Definition(found, "", None)] if found and found != path else []

    def _bound(self, path: str, bound: Bound, name: str, prefix: str, depth: int) -> list[Target]:
        if bound.alias is not None:
            return self._import(path, bound.alias, depth)
        if isinstance(bound.node, FunctionNode | ast.ClassDef):
            return [self._definition(path, bound.node, prefix)]
        value = getattr(bound.node, "value", None)
        chain = chain_of(value) if isinstance(value, ast.Name | ast.Attribute) else None
        if chain and chain[0] != name and isinstance(bound.node, ast.Assign) and (found := self._alias(path, chain, depth)):
            return found
        return [self._definition(path, bound.node, prefix, name)]

    def _alias(self, path: str, chain: tuple[str, ...], depth: int) -> list[Target]:
        """What an assigned name stands for, if that is a function or class of this tree."""
        found = self.follow(path, chain[0], depth + 1)
        module = self.module(path)
        if not found and module is not None and len(chain) > 1:
            found = self._imported_modules(module, chain[0])
        found = self._members(found, list(chain[1:]))
        return (
            found
            if all(isinstance(one, Definition) and isinstance(one.node, FunctionNode | ast.ClassDef) for one in found)
            else []
        )

    def _import(self, path: str, item: Import, depth: int) -> list[Target]:
        source = self._outlines.source_module(path, item)
        if not item.name:
            return [Definition(source, "", None)] if source else [External(item.module)]
        if source is not None and source != path and (found := self.follow(source, item.name, depth + 1)):
            return found
        inner = self._outlines.module_of(path, item)
        if inner is not None and inner != source:
            return [Definition(inner, "", None)]
        if source is not None:
            module = self.module(source)  # a module that makes its names itself, or a star of a module from elsewhere
            outside = [star for star in module.stars if self._outlines.source_module(source, star) is None] if module else []
            return [External(f"{outside[0].module}.{item.name}")] if len(outside) == 1 else []
        return [External(f"{'.' * item.level}{item.module}.{item.name}")]

    def _star(self, path: str, star: Import, name: str, depth: int) -> list[Target]:
        source = self._outlines.source_module(path, star)
        module = self.module(source) if source and source != path else None
        if module is None or source is None:
            return []
        listed = listed_names(module)
        if (name not in listed) if listed is not None else name.startswith("_"):
            return []
        return self.follow(source, name, depth + 1)

    def _imported_modules(self, module: Module, first: str) -> list[Target]:
        names = {
            bound.alias.module for binding in module.bound.values() for bound in binding if bound.alias and not bound.alias.name
        }
        found = self._outlines.module(first) if any(name.partition(".")[0] == first for name in names) else None
        return [Definition(found, "", None)] if found else []

    def _definition(self, path: str, node: ast.stmt, prefix: str, name: str = "", inside: bool = False) -> Definition:
        own = name or getattr(node, "name", "")
        line = first_line(node) if isinstance(node, FunctionNode | ast.ClassDef) else node.lineno
        return Definition(path, f"{prefix}.{own}".strip("."), node, line, inside)

    def _read(self, path: str) -> Module | None:
        if path not in self._visible:
            return None
        try:
            text = self._repository.read_text(path)
        except RepositoryError:
            text = ""
        self._left -= len(text)
        if self._left < 0:
            raise TooMuchError
        tree = parse(text)
        try:
            return Module(path, text, tree) if tree is not None else None
        except RecursionError:
            return None

    def _count(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise TooMuchError


def known_class(external: External) -> type | None:
    """The class of a standard module that a name leads to."""
    module, _, name = external.name.rpartition(".")
    found = getattr(_KNOWN.get({"abc": "builtins"}.get(module, module)), name, None)
    if external.name in ("abc.ABC", "typing.Generic", "typing.Protocol", "typing_extensions.Protocol"):
        return object
    return found if isinstance(found, type) else None


def every_definition(module: Module, last: str) -> Iterator[Definition]:
    """Functions and classes of a module that are called ``last`` in any case, and what module and classes assign to that name."""
    wanted = last.casefold()
    for node, around in module.scopes:
        if node.name.casefold() == wanted and not (isinstance(node, FunctionNode) and is_added(node)):
            inside = any(not isinstance(scope, ast.ClassDef) for scope in around)
            yield Definition(module.path, ".".join([*names_of(around), node.name]), node, first_line(node), inside)
    classes = [(node, around) for node, around in module.scopes if isinstance(node, ast.ClassDef)]
    bodies = [
        (module.bound, ""),
        *((module.of_class(node), ".".join([*names_of(around), node.name])) for node, around in classes),
    ]
    for bound, prefix in bodies:
        for name in bound if wanted not in bound else [wanted]:
            if name.casefold() == wanted:
                for one in bound[name]:
                    if isinstance(one.node, ast.Assign | ast.AnnAssign):
                        yield Definition(module.path, f"{prefix}.{name}".strip("."), one.node, one.node.lineno)


def _assigned(module: Module, expression: ast.expr) -> Iterator[str]:
    """What the module assigns to the names of an expression."""
    for node in ast.walk(expression):
        for bound in module.bound.get(node.id, []) if isinstance(node, ast.Name) else []:
            if isinstance(bound.node, ast.Assign | ast.AnnAssign) and bound.node.value is not None:
                yield ast.unparse(bound.node.value)


def _merged(lines: list[list[Target]]) -> list[Target] | None:
    """C3's merge; None if the lines contradict each other."""
    merged: list[Target] = []
    lines = [list(line) for line in lines if line]
    while lines:
        for line in lines:
            head = line[0]
            if not any(head in other[1:] for other in lines):
                break
        else:
            return None
        merged.append(head)
        lines = [rest for line in lines if (rest := [one for one in line if one != head])]
    return merged
