"""LocAgent's tools over one snapshot: SearchEntity, TraverseGraph and RetrieveEntity.

SearchEntity looks a term up as an id, then as a name, then by its words in ids and in code. As in LocAgent, the fewer matches,
the more it shows: one exact match whole, up to three whole or outlined, more as ids.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from fusesearch.code.graph.building import index_of
from fusesearch.code.graph.code_graph import CLASS, EDGE_TYPES, FILE, NODE_TYPES, path_of
from fusesearch.code.graph.index import EntityIndex
from fusesearch.code.graph.listing import Listing, Page, node_named, shown_node
from fusesearch.code.kinds import is_test
from fusesearch.core.config import Tools
from fusesearch.core.errors import ToolError
from fusesearch.localizers.locagent.arguments import GRAPH_TOOLS, RetrieveEntity, SearchEntity, TraverseGraph
from fusesearch.localizers.locagent.traversal import add_tree
from fusesearch.search.repository import Repository, clipped
from fusesearch.search.results import Outcome, shorten
from fusesearch.search.tool import Tool
from fusesearch.search.tools import parse_call

FEW = 3  # most matches to show with code
MANY = 20  # most ids to list
OUTLINE_LINES = 100  # longer files and classes are shown as outlines
AROUND = 20  # lines to show around a line

_KINDS = ("class ", "function ", "method ", "def ")
_NO_TESTS = "tests are left out: look for what they test"


@dataclass
class GraphTools:
    """The three tools, for any number of concurrent episodes. The first call waits for the graph."""

    repository: Repository
    limits: Tools

    async def call(self, name: str, arguments: dict[str, Any]) -> Outcome:
        """Run one call. A model's fault is a result with ``error``. Raises :class:`RepositoryError` without a graph."""
        try:
            request = parse_call(name, arguments, GRAPH_TOOLS)
            index = await index_of(self.repository)
            return await asyncio.to_thread(self._answer, request, index)
        except ToolError as error:
            return Outcome.failed(shorten(str(error), self.limits.output_chars - 10))

    def _answer(self, request: Tool, index: EntityIndex) -> Outcome:
        writer = _PageWriter(Listing(self.repository, index.graph), index, Page(self.limits))
        match request:
            case SearchEntity(terms=terms, file_pattern=pattern, lines=lines):
                writer.search(terms, pattern, lines)
            case TraverseGraph():
                writer.traverse(request)
            case RetrieveEntity(entities=entities):
                writer.retrieve(entities)
        return writer.page.outcome()


class _PageWriter:
    """Writes the page of one call."""

    def __init__(self, listing: Listing, index: EntityIndex, page: Page) -> None:
        self.listing = listing
        self.graph = listing.graph
        self.index = index
        self.page = page
        self._shown: set[str] = set()

    def search(self, terms: Sequence[str], pattern: str, lines: Sequence[int]) -> None:
        """SearchEntity. With several terms, matches of all their words together come last."""
        if lines:
            self._around(pattern, lines)
            return
        if not terms:
            raise ToolError("search_entity: give terms, or lines and the file_pattern of one file")
        vague = [term for term in terms if not self._looked_up(term, pattern)]
        if len(vague) > 1:
            self.page.add("# all words together")
            self._by_words(" ".join(vague), pattern)

    def traverse(self, walk: TraverseGraph) -> None:
        """TraverseGraph, a tree for each start."""
        if walk.hops < -1:
            raise ToolError("traverse_graph: hops must be -1 or more")
        for key, given, types in (("node_types", walk.node_types, NODE_TYPES), ("edge_types", walk.edge_types, EDGE_TYPES)):
            if wrong := [item for item in given if item not in types]:
                raise ToolError(f"traverse_graph: {key} must be of {', '.join(types)}, not {clipped(wrong[0], 40)}")
        for start in walk.start:
            node = self._node(start)
            if node is not None:
                add_tree(self.page, self.graph, node, walk)

    def retrieve(self, entities: Sequence[str]) -> None:
        """RetrieveEntity: type, lines and code of each entity."""
        for entity in entities:
            node = self._node(entity)
            if node is not None:
                self._whole(node)

    def _node(self, text: str) -> str | None:
        """The node of an id. If there is no such node, add a line with similar ids."""
        node = node_named(text, self.graph)
        if node is not None and not is_test(path_of(node)):
            return node
        if node is not None:
            self.page.add(f"{clipped(text)}: {_NO_TESTS}")
            return None
        close = ", ".join(shown_node(other) for other in self.index.with_words_in_id(text, FEW))
        self.page.add(f"no such id: {clipped(text)}{f'; close: {close}' if close else ''}")
        return None

    def _looked_up(self, term: str, pattern: str) -> bool:
        """Show what a term means. False if it is neither an id nor a name, so that its words were searched."""
        self.page.add(f"# {clipped(term)}")
        node = node_named(term, self.graph)
        if node is not None and is_test(path_of(node)):
            self.page.add(_NO_TESTS)
        elif node is not None:
            self._whole(node)
        elif found := self._within(self._named(term), pattern):
            if len(found) > FEW:
                self._ids(found)
            else:
                for one in found:
                    self._preview(one)
        else:
            self._by_words(term, pattern)
            return False
        return True

    def _named(self, term: str) -> list[str]:
        """Nodes of a name. For ``Class.method`` and ``module.function``, prefer ids that contain the first part too."""
        for kind in _KINDS:
            term = term.removeprefix(kind).strip()
        term = term.removesuffix("()")
        found = self.index.named(term)
        if found or "." not in term:
            return found
        *holders, last = term.replace("::", ".").split(".")
        nodes = self.index.named(last)
        return [node for node in nodes if _holds(node, holders)] or nodes

    def _by_words(self, text: str, pattern: str) -> None:
        """The best matches by id and by code (BM25): classes and functions with code, files as ids."""
        found = self._within(self.index.with_words_in_id(text, MANY), pattern)[:5]
        found += self._within(self.index.with_words_in_code(text, MANY, self.listing.repository), pattern)[:5]
        found = [node for node in dict.fromkeys(found) if node not in self._shown]
        if not found:
            self.page.add("nothing found")
        inner = [node for node in found if "::" in node]
        for node in inner[:FEW]:
            self._preview(node)
        self._ids([node for node in found if node not in inner[:FEW]])

    def _within(self, nodes: list[str], pattern: str) -> list[str]:
        """Nodes in files that match the pattern, or all nodes if none match."""
        if not pattern:
            return nodes
        wanted = _relative(pattern)
        return [node for node in nodes if _matches(path_of(node), wanted)] or nodes

    def _around(self, pattern: str, lines: Sequence[int]) -> None:
        """The class or function around each line of a file, or the surrounding lines if there is none."""
        file = _relative(pattern)
        if file not in self.graph or self.graph.type_of(file) != FILE:
            raise ToolError("search_entity: with lines, file_pattern must be one file, such as /repo/pkg/mod.py")
        for line in lines:
            node = self._containing(file, line)
            if node != file:
                self._preview(node)
            else:
                self.page.add(f"# around line {line} of {shown_node(file)}")
                self.listing.add_lines(self.page, file, max(1, line - AROUND), line + AROUND)

    def _containing(self, node: str, line: int) -> str:
        """The method, function or class that contains a line; nested functions are ignored."""
        for member in self.graph.members(node):
            start, end = self.graph.lines(member)
            if start <= line <= end:
                return self._containing(member, line) if self.graph.type_of(member) == CLASS else member
        return node

    def _whole(self, node: str) -> None:
        if self._add_heading(node):
            self.listing.add(self.page, node)

    def _preview(self, node: str) -> None:
        if self.graph.type_of(node) not in (FILE, CLASS) or self.listing.size(node) <= OUTLINE_LINES:
            self._whole(node)
        elif self._add_heading(node):
            self.page.add("(long: only its outline is shown; retrieve_entity shows all)")
            self.listing.add_outline(self.page, node)

    def _add_heading(self, node: str) -> bool:
        """Add the id, type and lines of a node that is new on this page. Returns whether it is new."""
        if node in self._shown:
            return False
        self._shown.add(node)
        start, end = self.graph.lines(node)
        self.page.add(f"{self.graph.type_of(node)} {shown_node(node)}{f', lines {start}-{end}' if start else ''}")
        return True

    def _ids(self, nodes: list[str]) -> None:
        self.listing.add_ids(self.page, nodes, MANY, ": give more of the name, or a file_pattern")


def _holds(node: str, holders: list[str]) -> bool:
    """Whether a node's id, without its last name, has all these words as parts."""
    parts = node.lower().replace(".py", "").replace("::", "/").replace(".", "/").split("/")[:-1]
    return all(holder.lower() in parts for holder in holders)


def _relative(pattern: str) -> str:
    return pattern.removeprefix("/repo").strip("/")


def _matches(path: str, pattern: str) -> bool:
    """Match the whole path against a glob, where ``**/`` may be empty, or against a folder."""
    return fnmatchcase(path, pattern) or fnmatchcase(path, pattern.replace("**/", "")) or path.startswith(f"{pattern}/")
