"""The scripted teacher with RepoSearcher's tools: it looks up what the issue names, and no model.

The innermost frame of a traceback says where to look. Without one, the teacher guesses from the tree in which file a name is
defined, and follows the only function that a short body calls.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Generator, Sequence
from typing import Any

from fusesearch.agents.models.base import Message
from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_answer, format_calls
from fusesearch.core.schema import Answer, Location
from fusesearch.localizers.lexical.callees import code_of
from fusesearch.localizers.lexical.clues import frames_of, modules_of, subwords
from fusesearch.localizers.lexical.compact import WRAPPER_LINES
from fusesearch.localizers.lexical.example import mentions_of, statements_of
from fusesearch.localizers.lexical.localizer import calls_of
from fusesearch.localizers.reposearcher.tools import EXIT, LAST_TURNS, files_of

Call = tuple[str, dict[str, Any]]
Steps = Generator[Call, str, None]

MISSES = 3
"""Files in which a name is looked up."""
_ERROR = "Error: "
_CALLED = re.compile(r"(?<![.\w])([A-Za-z_]\w*)\(")


class RepoSearcherTeacher(ScriptedModel):
    """The policy as a model: each message is a function of the messages before it.

    ``turns`` includes Exit and the answer, which has at most ``answers`` functions.
    """

    def __init__(self, turns: int, answers: int) -> None:
        super().__init__(self.next_text, "lexical")
        self.turns = turns
        self.answers = answers

    def next_text(self, messages: list[Message]) -> str:
        """The next assistant message as text."""
        issue = next((message.content for message in messages if message.role == "user"), "")
        made = list(calls_of(messages))
        found: list[Location] = []
        search = _search(issue, found)
        call = next(search, None)
        for done in made:
            if done.name == EXIT:
                return format_answer(Answer(modify=found[: self.answers]))
            try:
                call = search.send(done.output)
            except StopIteration:
                call = None
        return format_calls([call if call and len(made) < self.turns - LAST_TURNS else (EXIT, {})])


def _search(issue: str, found: list[Location]) -> Steps:
    """Yields calls and is sent their results; fills ``found``, the likeliest first."""
    frames = [frame for frame in reversed(frames_of(issue)) if frame.name and frame.name[0] != "<"]
    for frame in frames[:2]:
        if (yield from _function(frame.path, frame.name or "", found)):
            return
    mentions = mentions_of(statements_of(issue))
    tree = yield "GetRepoStructure", {}
    files = list(files_of(tree))
    used = {part.lstrip("_") for module in modules_of(issue) for part in module.split(".")}
    for mention in mentions[:2]:
        for path in _likely(files, mention.name, used | {(mention.owner or "").lstrip("_")})[:MISSES]:
            body = yield from _function(path, mention.name, found)
            if body:
                yield from _follow(path, mention.name, body, found)
                return


def _likely(files: Sequence[str], name: str, used: set[str]) -> list[str]:
    """The files by what their names have in common with the name and with the modules that the issue uses."""
    words = set(subwords(name))

    def fit(path: str) -> tuple[bool, int]:
        stem = path.removesuffix(".py").rpartition("/")[2]
        return stem.lstrip("_") in used, len(words & set(subwords(path)))

    return sorted((path for path in files if not path.endswith("__init__.py")), key=fit, reverse=True)


def _function(path: str, name: str, found: list[Location]) -> Generator[Call, str, str]:
    """The code of a function, or of the method of that name which the error tells of; empty if the file has neither."""
    output = yield "SearchFunction", {"file": f"/repo/{path}", "function": name}
    if output.startswith(_ERROR):
        methods = re.findall(rf"\b((?:\w+\.)+){re.escape(name)}\b", output.partition("it has ")[2])
        if not methods:
            return ""
        holder = methods[0].rstrip(".")
        output = yield "SearchClassMethod", {"file": f"/repo/{path}", "class": holder, "method": name}
        name = f"{holder}.{name}"
    if output.startswith(_ERROR):
        return ""
    found.append(Location(path=path, function=name))
    return output


def _follow(path: str, name: str, body: str, found: list[Location]) -> Steps:
    """Look up the first function of the file that the code calls; a short body only wraps it, so it is likelier then."""
    code = code_of(list(enumerate(body.split("\n")[1:])))
    called = [called for line in code for called in _CALLED.findall(line)]
    for callee in [callee for callee in dict.fromkeys(called) if callee != name and not hasattr(builtins, callee)][:2]:
        if (yield from _function(path, callee, found)):
            if len(code) <= WRAPPER_LINES:
                found.insert(0, found.pop())
            return
