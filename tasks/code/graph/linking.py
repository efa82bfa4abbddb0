"""From the facts of all files to the graph: which definition a name means, by LocAgent's rule.

A name used in a function or class means everything of that last name which can be seen there: what the definitions
around it and its file define (members of classes included), what the file imports with their members, and, through packages
it imports, what their ``__init__.py`` hold and import in turn. Where nothing can be seen, it means whatever has that name
anywhere. Modules are looked for from the root of the snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import networkx as nx

from tasks.code.graph.code_graph import (
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
from tasks.code.graph.facts import CLASS, FUNCTION, INIT, Definition, FileFacts, Import

Names = dict[str, set[str]]

_NONE: frozenset[str] = frozenset()

MAX_TARGETS = 500
MAX_EDGES = 1_000_000
"""Definitions one name may mean where it is used, and edges of a graph: beyond, a name means all that have it, anywhere."""


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
        self._held: dict[str, Names] = {}

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
            node, holder = f"{facts.path}::{found.name}", _holder(facts.path, found.name)
            self.graph.add_node(node, type=found.kind, start=found.start, header=found.header, end=found.end)
            self.graph.add_edge(holder, node, CONTAINS)

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
        """Adds the edges; gives the nodes that are imported, each with the alias it is given, if any."""
        for item in imports:
            target = self._target(item)
            if target is not None:
                self.graph.add_edge(node, target, IMPORTS)
                yield target, item.alias

    def _target(self, item: Import) -> str | None:
        """The file, class or function an import means: a submodule, else what the module defines, else the module."""
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
            scopes = _scopes(facts.path, found.name)
            for kind, name in _uses(found):
                targets = self._meant(name, scopes, seen) if self.stored < MAX_EDGES else set()
                for target in targets:
                    self.graph.add_edge(node, target, kind)
                self.stored += len(targets)
                if not targets and name in defined:
                    self.elsewhere.setdefault(node, []).append((kind, name))

    def _meant(self, name: str, scopes: list[str], seen: list[Names]) -> set[str]:
        """Nodes a name means where ``scopes`` (the definition itself, what holds it, ..., the file) surround it; none if many."""
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
        """The file, and the ``__init__.py`` it reaches through imports of such files alone."""
        reached, pending = [path], [path]
        while pending:
            for target, _ in self.imported[pending.pop()]:
                if target.endswith("__init__.py") and target not in reached:
                    reached.append(target)
                    pending.append(target)
        return reached

    def _members(self, holder: str) -> Names:
        """What a node contains by last name, and what classes among that contain; constructors are left out."""
        known = self._held.get(holder)
        if known is not None:
            return known
        names: Names = {}
        for _, node, kind in self.graph.out_edges(holder, keys=True):
            if kind != CONTAINS:
                continue
            is_class = self.graph.nodes[node]["type"] == CLASS
            if last_name(node) != INIT or self.graph.nodes[holder]["type"] != CLASS:
                names.setdefault(last_name(node), set()).add(node)
            _merge(names, self._members(node) if is_class else {})
        self._held[holder] = names
        return names


def _merge(names: Names, more: Mapping[str, set[str]]) -> None:
    for name, nodes in more.items():
        names.setdefault(name, set()).update(nodes)


def _uses(found: Definition) -> Iterator[tuple[str, str]]:
    yield from ((INVOKES, name) for name in found.calls)
    yield from ((INHERITS, name) for name in found.bases)


def _holder(path: str, name: str) -> str:
    outer = name.rpartition(".")[0]
    return f"{path}::{outer}" if outer else path


def _scopes(path: str, name: str) -> list[str]:
    """``a.py::A.b``, ``a.py::A``, ``a.py``."""
    parts = name.split(".")
    return [*(f"{path}::{'.'.join(parts[:count])}" for count in range(len(parts), 0, -1)), path]
