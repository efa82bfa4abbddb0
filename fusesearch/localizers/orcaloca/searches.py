"""OrcaLoca's six searches over the graph of a snapshot.

A name with one meaning shows its code, or an outline for files over 200 lines and classes over 100. An ambiguous name shows
where its meanings are. Tests are left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fusesearch.code.graph.building import index_of
from fusesearch.code.graph.code_graph import (
    CLASS,
    DIRECTORY,
    FILE,
    FUNCTION,
    ROOT,
    CodeGraph,
    last_name,
    name_of,
    path_of,
)
from fusesearch.code.graph.listing import Listing, Page, node_named, shown_node
from fusesearch.code.kinds import is_test
from fusesearch.core.config import Tools
from fusesearch.localizers.orcaloca.actions import ARGUMENTS, Action
from fusesearch.search.repository import Repository, clipped
from fusesearch.search.results import Outcome

FILE_LINES, CLASS_LINES = 200, 100
MAX_LISTED = 30
MAX_TREE_DEPTH = 10


class Searches:
    """The searches over one snapshot with its graph. Keeps no state of an episode."""

    def __init__(self, repository: Repository, graph: CodeGraph, limits: Tools) -> None:
        self.graph = graph
        self.limits = limits
        self.listing = Listing(repository, graph)
        self._meanings: dict[str, Callable[[Action], list[str]]] = {
            "search_file_contents": self._files,
            "search_source_code": self._containing_source,
            "search_class": self._classes,
            "search_method_in_class": self._methods,
            "search_callable": self._callables,
            "search_file_tree": self._folders,
        }

    def meaning(self, action: Action) -> list[str]:
        """The nodes that an action's names refer to: several if they are ambiguous."""
        return [node for node in self._meanings[action.name](action) if not is_test(path_of(node))]

    def page(self, action: Action) -> Page:
        """What an action shows."""
        page = Page(self.limits)
        nodes = self.meaning(action)
        if action.name == "search_file_tree" and nodes:
            depth = int(action.get("max_depth")) if action.get("max_depth").isdecimal() else 2
            self._add_tree(page, nodes[0], min(depth, MAX_TREE_DEPTH))
        elif len(nodes) == 1:
            self._add_node(page, nodes[0])
        elif nodes:
            page.add(f"{len(nodes)} are meant by this; search for one of them with its file:")
            self.listing.add_ids(page, nodes, MAX_LISTED)
        return page

    def outlined(self, node: str) -> bool:
        """Whether a node is too long to show whole."""
        most = {FILE: FILE_LINES, CLASS: CLASS_LINES}.get(self.graph.type_of(node))
        return most is not None and self.listing.size(node) > most

    def is_answer(self, node: str) -> bool:
        """Whether a node can be an answer: a class or function that is shown whole."""
        return self.graph.type_of(node) in (CLASS, FUNCTION) and not self.outlined(node)

    def _files(self, action: Action) -> list[str]:
        folder, _, name = action.get("file_name").strip("/").rpartition("/")
        folder = (action.get("directory_path") or folder).removeprefix("/repo").strip("/")
        exact = node_named(f"{folder}/{name}", self.graph)
        if exact is not None:
            return [exact] if self.graph.type_of(exact) == FILE else []
        same = [node for node in self.graph.nodes(FILE) if node.rpartition("/")[2] == name]
        return [node for node in same if not folder or f"/{node}".endswith(f"/{folder}/{name}")]

    def _classes(self, action: Action) -> list[str]:
        return self._defined(action.get("class_name"), action.get("file_path"), CLASS)

    def _callables(self, action: Action) -> list[str]:
        return self._defined(action.get("query_name"), action.get("file_path"), CLASS, FUNCTION)

    def _methods(self, action: Action) -> list[str]:
        holders = self._classes(action)
        names = [f"{holder}.{action.get('method_name')}" for holder in holders]
        return [name for name in names if name in self.graph and self.graph.type_of(name) == FUNCTION]

    def _defined(self, name: str, path: str, *types: str) -> list[str]:
        """Definitions of a name, qualified or not, in a file or anywhere."""
        name = name.removesuffix("()").replace("::", ".")
        last = name.rpartition(".")[2]
        file = node_named(path, self.graph) if path else None
        found = self.graph.named.get(last, []) if last != "__init__" else list(self.graph.nodes(FUNCTION))
        return [
            node for node in found
            if last_name(node) == last and self.graph.type_of(node) in types and (not path or path_of(node) == file)
            and (name == last or f".{name_of(node)}".endswith(f".{name}"))
        ]  # fmt: skip

    def _containing_source(self, action: Action) -> list[str]:
        """The first function of a file that contains a piece of code, ignoring whitespace."""
        wanted = " ".join(action.get("source_code").split())
        file = node_named(action.get("file_path"), self.graph)
        if file is None or self.graph.type_of(file) != FILE:
            return []
        inside = (node for node in self.graph.nodes(FUNCTION) if path_of(node) == file)
        return [node for node in inside if wanted in " ".join("\n".join(self.listing.code(node)).split())][:1]

    def _folders(self, action: Action) -> list[str]:
        node = node_named(action.get("name") or ROOT, self.graph)
        return [node] if node is not None and self.graph.type_of(node) == DIRECTORY else []

    def _add_node(self, page: Page, node: str) -> None:
        start, end = self.graph.lines(node)
        outlined = self.outlined(node)
        page.add(f"{self.graph.type_of(node)} {shown_node(node)}, lines {start}-{end}{', outline' if outlined else ''}")
        self.listing.add(page, node, outlined)

    def _add_tree(self, page: Page, folder: str, depth: int) -> None:
        pending = [(folder, 0)]
        while pending and not page.full:
            node, level = pending.pop()
            if is_test(path_of(node)):
                continue
            is_folder = self.graph.type_of(node) == DIRECTORY
            name = shown_node(node) if level == 0 else node.rpartition("/")[2] + ("/" if is_folder else "")
            page.add("  " * level + name, "" if is_folder else node)
            if is_folder and level < depth:
                pending += [(member, level + 1) for member in reversed(self.graph.members(node))]


@dataclass
class SearchTools:
    """The searches as tools of the loop, so that their results are counted as for every localizer."""

    repository: Repository
    limits: Tools

    async def searches(self) -> Searches:
        """The searches, once the graph is built. Raises :class:`RepositoryError` if that fails."""
        return Searches(self.repository, (await index_of(self.repository)).graph, self.limits)

    async def call(self, name: str, arguments: dict[str, Any]) -> Outcome:
        """Run one search. If it finds nothing, the result has ``error``."""
        if name not in ARGUMENTS:
            return Outcome.failed(f"there is no search {clipped(name, 40)}; there are {', '.join(ARGUMENTS)}")
        action = Action.of(name, **{key: str(value) for key, value in arguments.items()})
        searches = await self.searches()
        page = await asyncio.to_thread(searches.page, action)
        return Outcome.failed(f"nothing found by {clipped(str(action), 200)}") if page.empty else page.outcome()
