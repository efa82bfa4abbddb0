"""LocAgent: an agent that walks a graph of the code (Chen et al., 2025; FuseSearch appendix C, ToolTrain appendix D)."""

from __future__ import annotations

import re
from functools import partial

from fusesearch.agents.loop import Episode, run_episode
from fusesearch.agents.parsing import BULLET, MAX_ENTRIES, MAX_LINE_CHARS, parse_answer, visible
from fusesearch.agents.prompts import render, render_issue
from fusesearch.agents.recording import Instructions
from fusesearch.code.names import Namer, distinct
from fusesearch.code.naming import read_name, unwrapped
from fusesearch.code.spans import is_python
from fusesearch.core.schema import Answer, Instance, Location, Trajectory
from fusesearch.localizers.base import BaseLocalizer
from fusesearch.localizers.locagent.arguments import GRAPH_TOOLS
from fusesearch.localizers.locagent.tools import GraphTools
from fusesearch.search.repository import Repository
from fusesearch.search.tools import schemas


class LocAgentLocalizer(BaseLocalizer):
    """An agent with three tools over a graph of the code."""

    name = "locagent"

    async def localize(self, instance: Instance, repository: Repository, seed: int | None = None) -> Trajectory:
        """One episode; see :func:`fusesearch.agents.loop.run_episode` for failures."""
        issue = render_issue(self.agent, instance.problem_statement)
        system = render(__package__, "system", turns=self.agent.max_turns)
        read = partial(read_answer, namer=Namer(repository))
        episode = Episode(
            instance=instance,
            runner=GraphTools(repository, self.tools),
            model=self.model,
            agent=self.agent,
            sampling=self.sampling.seeded(seed),
            instructions=Instructions(system, issue, schemas(GRAPH_TOOLS), read),
            localizer=self.name,
            on_event=self.on_event,
        )
        return await run_episode(episode)


MAX_CHARS = 200_000
MAX_LINES_NAMED = 50

_FENCE = re.compile(r"^[ \t]*`{3}", re.MULTILINE)
_KEY = re.compile(r"(class|function|method|lines?)s?\s*:\s*(.*)", re.IGNORECASE)
_NUMBERS = re.compile(r"([0-9]{1,7})(?:\s*-\s*([0-9]{1,7}))?")
_NUMBER = re.compile(r"[0-9]{1,7}")
_PATH = re.compile(r"(?:[\w./+@$-]|\[[\w.@$-]*\]|\([\w.@$-]*\))*\w\.\w{1,8}(?=$|::?|\s|`|,)")


def read_answer(text: str, namer: Namer) -> Answer:
    """The locations in the last fenced block that has any, or else in the whole text.

    The text has blocks with a path and, below it, classes, functions and lines of that file. As in the published code, names that
    the snapshot lacks are ignored, a method may follow its class, and a line stands for the function around it;
    ``path::Qualified.name`` works too. Functions keep their order.
    A file has an entry of its own only if no function of it is named.
    """
    text = visible(text)[-MAX_CHARS:]
    blocks = _FENCE.split(text)
    for block in reversed(blocks[1::2]):
        if found := _locations(block, namer):
            return Answer(modify=found)
    found = _locations(text, namer)
    return Answer(modify=found) if found else parse_answer(text)


def _locations(block: str, namer: Namer) -> list[Location]:
    found: list[Location] = []
    path, holder = "", ""
    for raw in block.split("\n"):
        if len(found) >= MAX_ENTRIES:
            break
        written = raw[:MAX_LINE_CHARS].strip()
        line = BULLET.sub("", written, count=1).strip("`* ")
        written = written[bullet.end() :] if (bullet := BULLET.match(written)) else written
        key = _KEY.match(line)
        if key and path:
            value = key[2] if is_python(path) else unwrapped(written).partition(":")[2].removeprefix("**")
            holder, locations = _entry(key[1].lower(), value, path, holder, namer)
            found += locations
        elif not key and (start := namer.path_at_start(written)):
            (path, rest), holder = start, ""
            found += _named(path, rest, namer)
        elif not key and (match := _PATH.search(line)):
            path, holder = namer.file(match[0]) or "", ""
            found += _named(path, line[match.end() :], namer) if path else []
    return distinct(found)


def _entry(key: str, value: str, path: str, holder: str, namer: Namer) -> tuple[str, list[Location]]:
    """The class that the following lines refer to, and the locations on this line."""
    python = is_python(path)
    value = value.strip().strip("`") if python else unwrapped(value)
    name = (value.split() or [""])[0].rstrip(",;") if python else value
    if key.startswith("line"):
        lines = [int(first) for first, _ in _NUMBERS.findall(value)[:MAX_LINES_NAMED]]
        return holder, [location for line in lines if (location := namer.at(path, line))]
    if key == "class":
        whole = None if python else read_name(name, path)
        method = namer.function(path, name) if "." in (whole[0] if whole else name) else None
        return (holder, [method]) if method else (whole[0] if whole else name, [])
    location = namer.function(path, name, holder)
    return holder, [location] if location else []


def _named(path: str, rest: str, namer: Namer) -> list[Location]:
    """The function after ``::`` or a colon, or else the file."""
    name = rest.lstrip(":") if rest.startswith(":") else ""
    if is_python(path) or _NUMBER.match(name):
        name = (name.split() or [""])[0].strip("`,")
    elif name.endswith("`") and name.count("`") % 2:  # the path and the name stand in backticks
        name = name[:-1]
    found = namer.at(path, int(name)) if _NUMBER.fullmatch(name) else namer.function(path, name)
    return [found or Location(path=path)]
