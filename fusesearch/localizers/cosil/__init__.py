"""CoSIL: searches files over the tree and their imports, then functions along a call graph built during the search.

After arXiv 2503.22424, section 3, and the behaviour of its public repository.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from fusesearch.agents.models.base import Message
from fusesearch.agents.parsing import visible
from fusesearch.agents.prompts import render
from fusesearch.agents.recording import Instructions
from fusesearch.code.calls import CallGraph
from fusesearch.code.modules import Outlines, outlines_of
from fusesearch.code.names import close_path, placed, ranked
from fusesearch.code.tree import source_files, tree_text
from fusesearch.core.config import Tools
from fusesearch.core.schema import Answer, Instance, Location, Turn
from fusesearch.localizers.cosil.tools import SearchTools, call_text, first_names, import_list, read_call, structure_list
from fusesearch.localizers.fenced import fenced_lines, read_files, read_named, read_paths
from fusesearch.localizers.prompting import AskingLocalizer, Interview, room
from fusesearch.search.repository import Repository

TOP_FILES, TOP_PLACES = 5, 5
"""Files that the search for functions starts with, and most places in the answer. As in its published runs."""
MAX_CALLS = 10
"""Most calls of the search."""
NOT_A_CALL = "No call could be read from that."
_MAX_REPLY_CHARS = 8000
_MIN_CODE_CHARS = 1500
_PATIENCE = 2
"""Consecutive replies without a readable call that end the search."""


class CoSilLocalizer(AskingLocalizer):
    """CoSIL around any model. ``tools.output_chars`` limits one piece of code, ``agent`` the context and the replies."""

    name = "cosil"
    mode = "sequential"

    def instructions(self, issue: str) -> Instructions:
        """The system prompt of the search for functions."""
        return Instructions(render(__package__, "search_system", most=MAX_CALLS), issue, [])

    async def work(self, interview: Interview, instance: Instance, repository: Repository) -> None:
        """At most ``5 + 2 * MAX_CALLS`` requests."""
        files = await asyncio.to_thread(lambda: source_files(repository.files()))
        outlines = outlines_of(repository)
        candidates = await FileSearch(interview, outlines, files).run()
        if not candidates:
            interview.answer(Answer())
            return
        search = FunctionSearch(interview, outlines, files, candidates, self.tools)
        locations = await search.run()
        interview.answer(Answer(modify=ranked(locations, candidates)))


@dataclass
class FileSearch:
    """Asks for files with the tree shown, then for a new ranking with their imports shown."""

    interview: Interview
    outlines: Outlines
    files: list[str]

    async def run(self) -> list[str]:
        """Files, most likely first; empty if the model named no existing file."""
        issue, chars = self.interview.trajectory.issue, room(self.interview.agent)
        tree = await asyncio.to_thread(tree_text, self.files, max(chars - len(issue), 200))
        turn = await self.interview.ask(render(__package__, "files", issue=issue, tree=tree), system="")
        found = await asyncio.to_thread(self._read, turn.text) or await self._corrected(turn.text)
        if not found:
            return found
        # a third of the room is for imports
        tree = await asyncio.to_thread(tree_text, self.files, max(2 * (chars - len(issue)) // 3, 200))
        imports = await asyncio.to_thread(import_list, self.outlines, found, max((chars - len(issue)) // 3, 200))
        prompt = render(__package__, "reflection", issue=issue, tree=tree, files="\n".join(found), imports=imports)
        turn = await self.interview.ask(prompt, system="")
        return await asyncio.to_thread(self._read, turn.text) or found

    async def _corrected(self, reply: str) -> list[str]:
        """Ask for the list once more. If no name matches a file, take the files with the most similar names."""
        turn = await self.interview.ask(render(__package__, "format", reply=reply[:_MAX_REPLY_CHARS]), system="")
        if read := await asyncio.to_thread(self._read, turn.text):
            return read
        names = read_paths(turn.text, TOP_FILES)
        close = [await asyncio.to_thread(close_path, name, self.files) for name in names]
        return list(dict.fromkeys(filter(None, close)))

    def _read(self, text: str) -> list[str]:
        return read_files(text, TOP_FILES, self.files, frozenset(self.files))


class FunctionSearch:
    """One conversation in which the model asks for code, follows the call graph, and finally ranks what it saw."""

    def __init__(self, interview: Interview, outlines: Outlines, files: list[str], candidates: list[str], limits: Tools) -> None:
        self.interview = interview
        self.outlines = outlines
        self.files = files
        self.candidates = candidates
        self.issue = interview.trajectory.issue
        self.chars = room(interview.agent)
        self.messages: list[Message] = []
        # lists of names are sent at the start and at the end, code in between
        self._list_chars = max((self.chars - len(self.issue)) // 5, 500)
        self._code_chars = max(min(limits.output_chars, (self.chars - len(self.issue)) // 4), _MIN_CODE_CHARS)
        self.graph = CallGraph(outlines)
        self.tools = SearchTools(outlines, self.graph, files, self._code_chars)

    async def run(self) -> list[Location]:
        """At most :data:`TOP_PLACES` locations, the most likely first."""
        structure = await asyncio.to_thread(self._structure)
        await self._say(render(__package__, "start", issue=self.issue, structure=structure))
        note = await self._search()
        ranking = render(__package__, "rank", structure=structure)
        turn = await self._say(f"{note}\n\n{ranking}" if note else ranking)
        return await asyncio.to_thread(self._locations, turn.text)

    async def _search(self) -> str:
        """Make calls until the limit, the end of the room or unreadable replies. Returns what the last call found."""
        note, silent = "", 0
        for made in range(MAX_CALLS):
            if self._remaining(note) < _MIN_CODE_CHARS:
                break
            turn = await self._say(render(__package__, "call", note=note, left=MAX_CALLS - made).lstrip())
            call = read_call(turn.text, f"call_{len(self.interview.trajectory.turns)}_0")
            if call is None:
                note, silent = NOT_A_CALL, silent + 1
            elif call.name == "exit":
                return ""
            else:
                turn.calls, silent = [call], 0
                note = await self._result(turn)
            if silent == _PATIENCE:
                break
        return note

    async def _result(self, turn: Turn) -> str:
        """Run the call. Returns the code with its neighbours in the call graph, or a note that it was pruned, or the error."""
        self.tools.chars = min(self._code_chars, max(self._remaining(), _MIN_CODE_CHARS))
        await self.interview.observe(turn, self.tools)
        observation = turn.observations[0]
        if observation.error is not None:
            return observation.output
        if not await self._related(call_text(turn.calls[0]), observation.output):
            return render(__package__, "pruned")
        callees, callers = await asyncio.to_thread(self.tools.neighbours)
        around = render(
            __package__, "neighbours", callees=first_names(callees, "nothing"), callers=first_names(callers, "nothing")
        )
        return f"{observation.output}\n\n{around}"

    async def _related(self, call: str, code: str) -> bool:
        """Ask the model whether code relates to the issue. Only a clear no counts as no."""
        turn = await self.interview.ask(render(__package__, "prune", issue=self.issue, call=call, code=code), system="")
        words = " ".join(fenced_lines(turn.text)).lower()
        return "true" in words or "false" not in words

    async def _say(self, prompt: str) -> Turn:
        """Send the next message of the conversation and keep the reply."""
        turn = await self.interview.ask(prompt, self.messages)
        reply = visible(turn.text).strip()[:_MAX_REPLY_CHARS] or "(nothing)"
        self.messages += [Message(role="user", content=prompt), Message(role="assistant", content=reply)]
        return turn

    def _remaining(self, note: str = "") -> int:
        """Characters left for code once ``note`` and the last question with its list are sent."""
        used = len(self.interview.trajectory.system) + sum(len(message.content) for message in self.messages)
        return self.chars - used - len(note) - self._list_chars

    def _structure(self) -> str:
        for path in self.candidates:
            self.graph.open(path)
        return structure_list(self.outlines, self.candidates, self._list_chars)

    def _locations(self, text: str) -> list[Location]:
        known = frozenset(self.files)
        found = placed(read_named(text, 8 * TOP_PLACES, known), self.files, known, self.outlines)
        return ranked(location for _, location in found)[:TOP_PLACES]
