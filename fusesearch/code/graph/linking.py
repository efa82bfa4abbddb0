"""Builds the graph from the facts of all files, resolving names by LocAgent's rule.

A name used in a function or class refers to everything with that last name that is visible there: definitions in the scopes
around it and in its file (members of classes included), imports of the file and their members, and the contents and imports of
the ``__init__.py`` of imported packages. If nothing is visible, the name refers to every definition of that name anywhere.
Modules are resolved from the root of the snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import networkx as nx

from fusesearch.code.graph.code_graph import (
    CONTAINS,
    DIRECTORY,
    FILE,
    IMPORTS,
    INHERITS,
    INVOKES,
    ROOT,
    CodeGraph,
    last_name,
)  # fmt: skip
from fusesearch.code.graph.facts import CLASS, FUNCTION, INIT, FileFacts, Import

Names = dict[str, set[str]]

_NONE: frozenset[str] = frozenset()

MAX_TARGETS = 500
"""Most definitions that one use of a name resolves to."""
MAX_EDGES = 1_000_000
"""Most edges of a graph. Above either limit, a name refers to every definition of that name anywhere."""


def link(files: Iterable[FileFacts]) -> CodeGraph:
    """The graph of a snapshot whose Python files are ``files``."""
    return _Linker(files).linked()


class _Linker:
    def __init__(self, files: Iterable[FileFacts]) -> None:
        self.files = {facts.path: facts for facts in files}
        self.graph = nx.MultiDiGraph()
        self.elsewhere: dict[str, list[tuple[str, str]]] = {}
        self.imported: dict[str, list[tuple[str, str]]] = {}
        self.stored = 0
        self._known_members: dict[str, Names] = {}

    def linked(self) -> CodeGraph:
        self.graph.add_node(ROOT, type=DIRECTORY)
        for facts in self.files.values():
            self._add_file(facts)
        graph = CodeGraph(self.graph, self.elsewhere)
        for facts in self.files.values():
            self.imported[facts.path] = list(self._add_imports(facts.path, facts.imports))
        for facts in self.files.values():
            self._add_uses(facts, set(graph.named))
        return graph

    def _add_file(self, facts: FileFacts) -> None:
        self._add_folders(facts.path)
        self.graph.add_node(facts.path, type=FILE, start=1, header=1, end=facts.lines)
        for found in facts.definitions:
            node, holder = f"{facts.path}::{found.name}", found.name.rpartition(".")[0]
            self.graph.add_node(node, type=found.kind, start=found.start, header=found.header, end=found.end)
            self.graph.add_edge(f"{facts.path}::{holder}" if holder else facts.path, node, CONTAINS)

    def _add_folders(self, path: str) -> None:
        inner = path
        while inner != ROOT:
            outer = inner.rpartition("/")[0] or ROOT
            known = outer in self.graph
            if not known:
                self.graph.add_node(outer, type=DIRECTORY)
            self.graph.add_edge(outer, inner, CONTAINS)
            if known:
                return
            inner = outer

    def _add_imports(self, node: str, imports: Iterable[Import]) -> Iterator[tuple[str, str]]:
        """Add the edges. Yields the imported nodes, each with its alias, if any."""
        for item in imports:
            target = self._target(item)
            if target is not None:
                self.graph.add_edge(node, target, IMPORTS)
                yield target, item.alias

    def _target(self, item: Import) -> str | None:
        """The file, class or function that is imported: a submodule, else a definition in the module, else the module."""
        if item.name in ("", "*"):
            return self._module(item.module)
        submodule = self._module(f"{item.module}.{item.name}")
        if submodule is not None:
            return submodule
        module = self._module(item.module)
        entity = f"{module}::{item.name}"
        return entity if entity in self.graph else module

    def _module(self, dotted: str) -> str | None:
        path = dotted.replace(".", "/").lstrip("/")
        return next((file for file in (f"{path}.py", f"{path}/__init__.py") if file in self.files), None)

    def _add_uses(self, facts: FileFacts, defined: set[str]) -> None:
        if not facts.definitions:
            return
        seen = list(self._seen_through_imports(facts.path))
        for found in facts.definitions:
            node = f"{facts.path}::{found.name}"
            for _ in self._add_imports(node, found.imports):
                pass
            parts = found.name.split(".")
            # a.py::A.b, a.py::A, a.py
            scopes = [*(f"{facts.path}::{'.'.join(parts[:count])}" for count in range(len(parts), 0, -1)), facts.path]
            uses = [*((INVOKES, name) for name in found.calls), *((INHERITS, name) for name in found.bases)]
            for kind, name in uses:
                targets = self._targets_of(name, scopes, seen) if self.stored < MAX_EDGES else set()
                for target in sorted(targets):
                    self.graph.add_edge(node, target, kind)
                self.stored += len(targets)
                if not targets and name in defined:
                    self.elsewhere.setdefault(node, []).append((kind, name))

    def _targets_of(self, name: str, scopes: list[str], seen: list[Names]) -> set[str]:
        """Nodes that a name in ``scopes`` (the definition, its parents, the file) refers to; empty if there are too many."""
        around = [self._members(scope).get(name, _NONE) for scope in scopes]
        through = [names[name] for names in seen if name in names]
        if max(map(len, (*around, *through))) > MAX_TARGETS:
            return set()
        found: set[str] = set().union(*around).difference(scopes).union(*through)
        return found if len(found) <= MAX_TARGETS else set()

    def _seen_through_imports(self, path: str) -> Iterator[Names]:
        for file in self._packages(path):
            if file != path:
                yield self._members(file)
            for target, alias in self.imported[file]:
                direct = {alias: {target}} if alias else {}
                if self.graph.nodes[target]["type"] != FILE:
                    direct.setdefault(last_name(target), set()).add(target)
                yield direct
                if self.graph.nodes[target]["type"] != FUNCTION:
                    yield self._members(target)

    def _packages(self, path: str) -> list[str]:
        """The file, and the ``__init__.py`` files that it reaches through imports of such files."""
        reached, pending = [path], [path]
        while pending:
            for target, _ in self.imported[pending.pop()]:
                if target.endswith("__init__.py") and target not in reached:
                    reached.append(target)
                    pending.append(target)
        return reached

    def _members(self, holder: str) -> Names:
        """Members of a node by last name, and members of its classes; constructors are left out."""
        known = self._known_members.get(holder)
        if known is not None:
            return known
        names: Names = {}
        for _, node, kind in self.graph.out_edges(holder, keys=True):
            if kind != CONTAINS:
                continue
            if last_name(node) != INIT or self.graph.nodes[holder]["type"] != CLASS:
                names.setdefault(last_name(node), set()).add(node)
            if self.graph.nodes[node]["type"] == CLASS:
                for name, nodes in self._members(node).items():
                    names.setdefault(name, set()).update(nodes)
        self._known_members[holder] = names
        return names
