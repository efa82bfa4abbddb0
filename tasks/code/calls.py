"""The call graph of modules, built while it is searched: a module's functions and calls come in when it is opened.

Nodes are entities ``path::Qualified.name`` of functions, and of classes that are made without an ``__init__`` of their own. An
edge leads from a function to what its body calls by a name that can be followed: functions and classes of its module,
imported ones (through the modules that pass them on), methods of ``self``, ``cls`` and ``super()`` along the bases, members
of modules and classes, and methods of variables that were made of a class or annotated with it in the same function or at the
top of the module. Methods of other objects are not followed.
"""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx

from tasks.code.modules import Outlines
from tasks.code.outline import SUPER, Chain, ClassSpan, Import, Outline

MAX_DEPTH = 8
MAX_STEPS = 200
"""Names looked up to follow one call: modules that import all of one another would give no end of ways."""

Found = tuple[str, str]
"""A file and the qualified name of a function or class in it; an empty name is the module itself."""


class CallGraph:
    """Calls of the modules opened so far. One object serves one search: what it knows depends on what was opened."""

    def __init__(self, outlines: Outlines) -> None:
        self.outlines = outlines
        self.graph = nx.DiGraph()
        self.opened: set[str] = set()
        self._steps = 0

    def open(self, path: str) -> None:
        """Bring in the functions and calls of a file; nothing happens when it is there or cannot be read."""
        made = self.outlines.get(path) if path not in self.opened else None
        if made is None:
            return
        self.opened.add(path)
        self.graph.add_nodes_from(f"{path}::{span.name}" for span in made.functions)
        for name, chains in made.calls.items():
            caller = f"{path}::{name}"
            targets = dict.fromkeys(target for chain in chains if (target := self._called(made, name, chain)))
            self.graph.add_edges_from((caller, target) for target in targets if target != caller)

    def callees(self, entity: str) -> list[str]:
        """What a function calls, in the order of the calls."""
        self.open(entity.partition("::")[0])
        return list(self.graph.successors(entity)) if entity in self.graph else []

    def callers(self, entity: str) -> list[str]:
        """Functions of the opened modules that call this one."""
        return sorted(self.graph.predecessors(entity)) if entity in self.graph else []

    def _called(self, made: Outline, function: str, chain: Chain) -> str | None:
        self._steps = MAX_STEPS
        first, rest = chain[0], chain[1:]
        holder = made.class_(function.rpartition(".")[0])
        if first in ("self", "cls") and holder and len(rest) == 1:
            found = self._member((made.path, holder.name), rest[0], 0)
        elif first == SUPER and holder and len(rest) == 1:
            found = self._inherited(made, holder, rest[0], 0)
        else:
            found = self._name(made.path, chain, 0)
        return self._entity(found) if found and found[1] else None

    def _step(self, path: str, depth: int) -> Outline | None:
        """The outline of the next file on the way; None when the way is too long."""
        self._steps -= 1
        return self.outlines.get(path) if depth <= MAX_DEPTH and self._steps >= 0 else None

    def _entity(self, found: Found) -> str:
        """A function, or the ``__init__`` that making a class calls, or the class itself."""
        path, name = found
        made = self.outlines.get(path)
        if made and made.class_(name) and not made.function(name):
            path, name = self._member(found, "__init__", 0) or found
        return f"{path}::{name}"

    def _name(self, path: str, chain: Iterable[str], depth: int) -> Found | None:
        """What a dotted name means at the top of a module."""
        first, *rest = chain
        made = self._step(path, depth)
        if made is None:
            return None
        if made.function(first):
            return (path, first) if not rest else None
        if made.class_(first):
            return self._within((path, first), rest, depth)
        return self._imported(made, first, rest, depth) or self._starred(made, [first, *rest], depth)

    def _within(self, found: Found, rest: list[str], depth: int) -> Found | None:
        """What ``rest`` means inside a class or module."""
        path, name = found
        if not rest:
            return found
        if not name:
            return self._name(path, rest, depth + 1)
        return self._member(found, rest[0], depth) if len(rest) == 1 else None

    def _imported(self, made: Outline, first: str, rest: list[str], depth: int) -> Found | None:
        bound = [item for item in made.imports if item.alias.partition(".")[0] == first and item.name != "*"]
        for item in sorted(bound, key=lambda item: -item.alias.count(".")):
            extra = item.alias.split(".")[1:]
            if rest[: len(extra)] != extra:
                continue
            found = self._target(made.path, item, depth)
            result = self._within(found, rest[len(extra) :], depth + 1) if found else None
            if result:
                return result
        return None

    def _target(self, path: str, item: Import, depth: int) -> Found | None:
        """The module, function or class an import binds."""
        source = self.outlines.source_module(path, item)
        if item.name and source and source != path:
            named = self._name(source, [item.name], depth + 1)
            if named:
                return named
        module = self.outlines.module_of(path, item)
        if module is None or (item.name and module == source):
            return None
        return module, ""

    def _starred(self, made: Outline, chain: list[str], depth: int) -> Found | None:
        for item in made.imports:
            if item.name != "*":
                continue
            source = self.outlines.source_module(made.path, item)
            found = self._name(source, chain, depth + 1) if source and source != made.path else None
            if found:
                return found
        return None

    def _member(self, found: Found, name: str, depth: int) -> Found | None:
        """A method of a class or of the first of its bases that has it."""
        path, class_name = found
        made = self._step(path, depth)
        holder = made.class_(class_name) if made else None
        if made is None or holder is None:
            return None
        if made.function(f"{class_name}.{name}") or made.class_(f"{class_name}.{name}"):
            return path, f"{class_name}.{name}"
        return self._inherited(made, holder, name, depth)

    def _inherited(self, made: Outline, holder: ClassSpan, name: str, depth: int) -> Found | None:
        for base in holder.bases:
            found = self._name(made.path, base, depth + 1)
            member = self._member(found, name, depth + 1) if found and found != (made.path, holder.name) else None
            if member:
                return member
        return None
