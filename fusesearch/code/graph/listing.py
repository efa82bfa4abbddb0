"""Nodes as a model sees them: ids below ``/repo``, numbered code, outlines, and pages of limited length."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fusesearch.code.graph.code_graph import DIRECTORY, ROOT, CodeGraph, path_of
from fusesearch.core.config import Tools
from fusesearch.core.errors import RepositoryError
from fusesearch.search.repository import VIRTUAL_ROOT, Repository, virtual_path
from fusesearch.search.results import Outcome, cut

_NOTICE = "(cut at {} characters: ask for less at a time)"
_NOTICE_CHARS = 60
_SINGLE_COLON = re.compile(r"(?<!:):(?=[A-Za-z_])")


def shown_node(node: str) -> str:
    """``/repo/a.py::Class.method``; the root is ``/repo``."""
    path, colons, name = node.partition("::")
    return virtual_path("" if path == ROOT else path) + colons + name


def node_named(text: str, graph: CodeGraph) -> str | None:
    """The node of an id as models write it: with or without ``/repo``, with one or two colons, with or without ``()``."""
    text = text.strip().strip("`'\"").removesuffix("()")
    if text == VIRTUAL_ROOT or text.startswith((f"{VIRTUAL_ROOT}/", f"{VIRTUAL_ROOT}:")):
        text = text[len(VIRTUAL_ROOT) :]
    text = text.strip("/").removeprefix("./")
    node = ROOT if text in ("", ".") else text if "::" in text else _SINGLE_COLON.sub("::", text, count=1)
    return node if node in graph else None


class Page:
    """Builds an observation: lines and the entities they show, up to ``limits.output_chars`` characters."""

    def __init__(self, limits: Tools) -> None:
        self.limits = limits
        self.full = False
        self._lines: list[str] = []
        self._entities: dict[str, None] = {}
        self._remaining = limits.output_chars - _NOTICE_CHARS

    def add(self, line: str, entity: str = "") -> None:
        """Add a line and the entity it shows, unless the page is full."""
        line = cut(line, self.limits.line_chars)
        self._remaining -= len(line) + 1
        if self.full or self._remaining < 0:
            self.full = True
            return
        self._lines.append(line)
        if entity:
            self._entities[entity] = None

    @property
    def empty(self) -> bool:
        """Whether nothing was added."""
        return not self._lines

    def outcome(self) -> Outcome:
        """What a call gives: all lines with their entities (``path`` or ``path:line``), and a notice if some did not fit."""
        notice = [_NOTICE.format(self.limits.output_chars)] if self.full else []
        return Outcome("\n".join([*self._lines, *notice]), list(self._entities))


@dataclass
class Listing:
    """Shows nodes of one snapshot."""

    repository: Repository
    graph: CodeGraph

    def code(self, node: str) -> list[str]:
        """Lines of a file, class or function; empty if the file cannot be read."""
        start, end = self.graph.lines(node)
        return lines_of(self.repository, path_of(node))[start - 1 : end] if start else []

    def add(self, page: Page, node: str, outlined: bool = False) -> None:
        """Add the code of a node with line numbers; of a folder, and of what is to be ``outlined``, the outline."""
        if outlined or self.graph.type_of(node) == DIRECTORY:
            self.add_outline(page, node)
        else:
            self.add_lines(page, path_of(node), *self.graph.lines(node))

    def add_lines(self, page: Page, path: str, start: int, end: int) -> None:
        """Add lines of a file with their numbers."""
        for number, line in enumerate(lines_of(self.repository, path)[start - 1 : end], start):
            page.add(f"{number}\t{line}", f"{path}:{number}")
            if page.full:
                return

    def add_outline(self, page: Page, node: str) -> None:
        """Add the first line of each definition in a file or class, or the contents of a folder."""
        if self.graph.type_of(node) == DIRECTORY:
            for member in self.graph.members(node):
                page.add(shown_node(member), "" if self.graph.type_of(member) == DIRECTORY else member)
            return
        source = lines_of(self.repository, path_of(node))
        for inner in self._inside(node):
            number = self.graph.header(inner)
            if 0 < number <= len(source):
                page.add(f"{number}\t{source[number - 1]}", f"{path_of(node)}:{number}")

    def add_ids(self, page: Page, nodes: Sequence[str], most: int, hint: str = "") -> None:
        """Add type and id of the first ``most`` nodes, and how many there are with a ``hint`` if these are not all."""
        for node in nodes[:most]:
            page.add(f"{self.graph.type_of(node)} {shown_node(node)}", path_of(node))
        if len(nodes) > most:
            page.add(f"({most} of {len(nodes)}{hint})")

    def size(self, node: str) -> int:
        """Number of lines of a node."""
        start, end = self.graph.lines(node)
        return end - start + 1 if start else 0

    def _inside(self, node: str) -> Iterator[str]:
        """The classes and functions of a file or class, and a class itself, without nested functions."""
        if "::" in node:
            yield node
        for member in self.graph.members(node):
            if self.graph.type_of(member) == "class":
                yield from self._inside(member)
            else:
                yield member


def lines_of(repository: Repository, path: str) -> list[str]:
    """Lines of a file; none if it cannot be read."""
    try:
        return repository.read_text(path).split("\n")
    except RepositoryError:
        return []
