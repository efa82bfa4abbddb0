"""The call graph of modules, built during a search: opening a module adds its functions and calls.

Nodes are entities ``path::Qualified.name`` of functions, and of classes without an ``__init__`` of their own. An edge leads from
a function to what its body calls, if the name can be followed: functions and classes of the module, imported ones (also through
re-exports), methods of ``self``, ``cls`` and ``super()`` along the bases, members of modules and classes, and methods of
variables created from a class or annotated with it in the same function or at the top of the module. Methods of other objects
are not followed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from fusesearch.code.modules import Outlines
from fusesearch.code.outline import SUPER, Chain, ClassSpan, Import, Outline

MAX_DEPTH = 8
MAX_STEPS = 200
"""Look-ups to follow one call. Without a limit, modules with star imports of each other would never end."""

Found = tuple[str, str]
"""A file and the qualified name of a function or class in it; an empty name is the module itself."""


class CallGraph:
    """Calls of the modules opened so far. One object serves one search, since it depends on what was opened."""

    def __init__(self, outlines: Outlines) -> None:
        self.outlines = outlines
        self._callees: dict[str, dict[str, None]] = {}
        self._callers: dict[str, set[str]] = defaultdict(set)
        self.opened: set[str] = set()
        self._steps = 0

    def open(self, path: str) -> None:
        """Add the functions and calls of a file, unless it is already open or cannot be read."""
        outline = self.outlines.get(path) if path not in self.opened else None
        if outline is None:
            return
        self.opened.add(path)
        for name, chains in outline.calls.items():
            caller = f"{path}::{name}"
            targets = dict.fromkeys(target for chain in chains if (target := self._called(outline, name, chain)))
            targets.pop(caller, None)
            self._callees[caller] = targets
            for target in targets:
                self._callers[target].add(caller)

    def callees(self, entity: str) -> list[str]:
        """What a function calls, in the order of the calls."""
        self.open(entity.partition("::")[0])
        return list(self._callees.get(entity, ()))

    def callers(self, entity: str) -> list[str]:
        """Functions of the opened modules that call this one."""
        return sorted(self._callers.get(entity, ()))

    def _called(self, outline: Outline, function: str, chain: Chain) -> str | None:
        self._steps = MAX_STEPS
        first, rest = chain[0], chain[1:]
        holder = outline.class_(function.rpartition(".")[0])
        if first in ("self", "cls") and holder and len(rest) == 1:
            found = self._member((outline.path, holder.name), rest[0], 0)
        elif first == SUPER and holder and len(rest) == 1:
            found = self._inherited(outline, holder, rest[0], 0)
        else:
            found = self._name(outline.path, chain, 0)
        return self._entity(found) if found and found[1] else None

    def _next_outline(self, path: str, depth: int) -> Outline | None:
        """The outline of the next file to follow a name into; None once a limit is reached."""
        self._steps -= 1
        return self.outlines.get(path) if depth <= MAX_DEPTH and self._steps >= 0 else None

    def _entity(self, found: Found) -> str:
        """The entity of a function or class; a class stands for its ``__init__`` if it has one."""
        path, name = found
        outline = self.outlines.get(path)
        if outline and outline.class_(name) and not outline.function(name):
            path, name = self._member(found, "__init__", 0) or found
        return f"{path}::{name}"

    def _name(self, path: str, chain: Iterable[str], depth: int) -> Found | None:
        """What a dotted name means at the top of a module."""
        first, *rest = chain
        outline = self._next_outline(path, depth)
        if outline is None:
            return None
        if outline.function(first):
            return (path, first) if not rest else None
        if outline.class_(first):
            return self._within((path, first), rest, depth)
        return self._imported(outline, first, rest, depth) or self._starred(outline, [first, *rest], depth)

    def _within(self, found: Found, rest: list[str], depth: int) -> Found | None:
        """What ``rest`` means inside a class or module."""
        path, name = found
        if not rest:
            return found
        if not name:
            return self._name(path, rest, depth + 1)
        return self._member(found, rest[0], depth) if len(rest) == 1 else None

    def _imported(self, outline: Outline, first: str, rest: list[str], depth: int) -> Found | None:
        bound = [item for item in outline.imports if item.alias.partition(".")[0] == first and item.name != "*"]
        for item in sorted(bound, key=lambda item: -item.alias.count(".")):
            extra = item.alias.split(".")[1:]
            if rest[: len(extra)] != extra:
                continue
            found = self._target(outline.path, item, depth)
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

    def _starred(self, outline: Outline, chain: list[str], depth: int) -> Found | None:
        for item in outline.imports:
            if item.name != "*":
                continue
            source = self.outlines.source_module(outline.path, item)
            found = self._name(source, chain, depth + 1) if source and source != outline.path else None
            if found:
                return found
        return None

    def _member(self, found: Found, name: str, depth: int) -> Found | None:
        """A method of a class or of the first of its bases that has it."""
        path, class_name = found
        outline = self._next_outline(path, depth)
        holder = outline.class_(class_name) if outline else None
        if outline is None or holder is None:
            return None
        if outline.function(f"{class_name}.{name}") or outline.class_(f"{class_name}.{name}"):
            return path, f"{class_name}.{name}"
        return self._inherited(outline, holder, name, depth)

    def _inherited(self, outline: Outline, holder: ClassSpan, name: str, depth: int) -> Found | None:
        for base in holder.bases:
            found = self._name(outline.path, base, depth + 1)
            member = self._member(found, name, depth + 1) if found and found != (outline.path, holder.name) else None
            if member:
                return member
        return None
