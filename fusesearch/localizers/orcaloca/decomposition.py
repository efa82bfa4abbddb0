"""Breaking a search result into further actions (OrcaLoca: action decomposition with relevance scores).

A class breaks into its methods, a file into its functions, an ambiguous name into its meanings. The model scores the code of
each from 0 to 100, and the best above a threshold are searched next. Every result also leads to its file.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fusesearch.agents.prompts import render
from fusesearch.code.graph.code_graph import CLASS, FILE, FUNCTION, last_name, name_of, path_of
from fusesearch.code.graph.listing import shown_node
from fusesearch.localizers.orcaloca.actions import DECOMPOSED, RELATED_FILE, Action
from fusesearch.localizers.orcaloca.replies import read_scores
from fusesearch.localizers.orcaloca.searches import Searches

THRESHOLD = 75
TOP_METHODS, TOP_FUNCTIONS, TOP_MEANINGS = 3, 2, 3
"""As in the published configuration."""

MAX_PIECES = 40
"""Most pieces of one result to score."""
PIECES_PER_REQUEST = 8
"""The published code asks for each piece by itself."""

Ask = Callable[[str], Awaitable[str]]


@dataclass
class Decomposer:
    """Finds what to search next. ``ask`` sends a prompt of about ``chars`` characters, at most ``requests`` times."""

    searches: Searches
    issue: str
    ask: Ask
    requests: int
    chars: int

    async def further(self, action: Action, nodes: list[str]) -> list[tuple[Action, int]]:
        """Actions that a result leads to, with priorities."""
        if action.name == "search_file_tree" or not nodes:
            return []
        if len(nodes) > 1:
            return [(found, DECOMPOSED) for found in await self._meanings(nodes)]
        inner = [(found, DECOMPOSED) for found in await self._members(nodes[0])]
        return inner if self.searches.graph.type_of(nodes[0]) == FILE else [*inner, (_search(path_of(nodes[0])), RELATED_FILE)]

    async def _members(self, node: str) -> list[Action]:
        kind = self.searches.graph.type_of(node)
        if kind not in (CLASS, FILE):
            return []
        pieces = [member for member in self.searches.graph.members(node) if self.searches.graph.type_of(member) == FUNCTION]
        return [_search(found) for found in (await self._scored(pieces))[: TOP_METHODS if kind == CLASS else TOP_FUNCTIONS]]

    async def _meanings(self, nodes: list[str]) -> list[Action]:
        """All files or classes of a name. Of functions, the best, or the top few if more than that are good."""
        functions = [node for node in nodes if self.searches.graph.type_of(node) == FUNCTION]
        if not functions:
            return [_search(node) for node in nodes[:MAX_PIECES]]
        ranked = await self._scored(functions)
        return [_search(node) for node in ranked[: TOP_MEANINGS if len(ranked) > TOP_MEANINGS else 1]]

    async def _scored(self, nodes: list[str]) -> list[str]:
        """The nodes above the threshold, best first. A single node is scored too."""
        scores: list[tuple[int, str]] = []
        nodes = nodes[:MAX_PIECES]
        for start in range(0, len(nodes), PIECES_PER_REQUEST):
            if self.requests <= 0:
                break
            self.requests -= 1
            some = nodes[start : start + PIECES_PER_REQUEST]
            reply = await self.ask(self._prompt(some))
            scores += zip(read_scores(reply, len(some)), some, strict=True)
        return [node for score, node in sorted(scores, key=lambda row: -row[0]) if score > THRESHOLD]

    def _prompt(self, nodes: list[str]) -> str:
        issue = self.issue[: self.chars // 2]
        chars = max(200, (self.chars - len(issue)) // (len(nodes) + 1))
        codes = ["\n".join(self.searches.listing.code(node))[:chars] for node in nodes]
        pieces = [
            f"Piece {number}: {shown_node(node)}\n{code}" for number, (node, code) in enumerate(zip(nodes, codes, strict=True), 1)
        ]
        return render(__package__, "score", issue=issue, pieces="\n\n".join(pieces), count=len(nodes))


def _search(node: str) -> Action:
    """The action that shows just this node."""
    path, name = path_of(node), name_of(node)
    if not name:
        folder, _, file = path.rpartition("/")
        return Action.of("search_file_contents", file_name=file, directory_path=folder)
    if "." in name:
        holder = name.rpartition(".")[0]
        return Action.of("search_method_in_class", class_name=holder, method_name=last_name(node), file_path=path)
    return Action.of("search_callable", query_name=name, file_path=path)
