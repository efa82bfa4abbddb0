"""The MCP server, independent of the transport: runs the localizer and the tools for requests."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp.server.session import ServerSession
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

from fusesearch.agents.recording import OnEvent
from fusesearch.cli.report import Report, answer_json, answer_text, context_text, raise_on_failure
from fusesearch.cli.serving import definitions
from fusesearch.cli.serving.roots import Roots, relative, with_relative_paths
from fusesearch.core.config import Tools
from fusesearch.core.errors import FusesearchError, ToolError
from fusesearch.core.installation import DISTRIBUTION, installed
from fusesearch.core.schema import Instance, Observation, ToolCall, Trajectory, Turn
from fusesearch.core.stopping import in_thread
from fusesearch.core.text import printable
from fusesearch.localizers.ranker.context import LEAST_TOKENS, MOST_TOKENS, TOKENS, context_of
from fusesearch.localizers.registry import WITHOUT_MODEL
from fusesearch.localizers.searcher import Searcher, instance_of
from fusesearch.search.repository import VIRTUAL_ROOT, Repository, clipped
from fusesearch.search.results import shorten
from fusesearch.search.tool import describe, whole_number
from fusesearch.search.tools import TOOLS, Toolbox

_PATHS = ("path", "glob")


@dataclass(frozen=True)
class Service:
    """Answers requests about the roots. Tools keep no state between requests; all searches share the model.

    ``search``: also grep, glob and read_file, which coding agents have themselves.
    """

    roots: Roots
    searcher: Searcher
    search: bool = False
    _running: set[anyio.CancelScope] = field(default_factory=set, init=False, repr=False)

    def server(self) -> Server[None]:
        """A server of the SDK, for one transport. It closes the model when it ends."""
        return Server(
            "fusesearch",
            version=installed(DISTRIBUTION) or "",
            instructions=definitions.instructions(self.roots.folders, asks=self._asks, search=self.search),
            lifespan=self._lifespan,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )

    def stop(self) -> None:
        """Cancel all running calls; their clients get an error."""
        for scope in self._running:
            scope.cancel()

    async def call(self, name: str, arguments: dict[str, Any], session: ServerSession) -> CallToolResult:
        """Run one call. Errors become an error result of one line.

        An empty string does not count as a value for what may be left out, since some clients send every argument.
        """
        required = TOOLS[name].required() if name in TOOLS else ("issue", "question")
        given = {key: value for key, value in arguments.items() if key in required or value not in ("", None)}
        try:
            root = self.roots.choose(given.pop("root", None))
            if name == definitions.LOCALIZE:
                return await self._localize(root, given, session)
            if name == definitions.CONTEXT:
                return await self._context(root, given)
            if name == definitions.ASK:
                return await self._ask(root, given, session)
            return await self._tool(root, name, given)
        except FusesearchError as error:
            line = f"Error: {clipped(' '.join(str(error).split()), 500)}"
            return CallToolResult(content=[TextContent(type="text", text=line)], is_error=True)

    @property
    def _ranks(self) -> bool:
        return self.searcher.name == WITHOUT_MODEL

    @property
    def _asks(self) -> bool:
        return self.searcher.model is not None

    @property
    def _tools(self) -> list[Tool]:
        return definitions.tools(self.roots.names, ranks=self._ranks, asks=self._asks, search=self.search)

    async def _localize(self, root: str, arguments: dict[str, Any], session: ServerSession) -> CallToolResult:
        repository, searcher = self.roots.repository(root), self.searcher
        if self._ranks and "top" in arguments:
            searcher = replace(searcher, top=_number(arguments, "localize", "top", 1, definitions.MOST_FILES))
        issue = _text(arguments, "localize", "issue", *(["top"] if self._ranks else []))
        trajectory = await self._search(searcher, instance_of(root, issue), repository, session)
        raise_on_failure(trajectory)
        found = await anyio.to_thread.run_sync(Report.of, trajectory, repository)
        text = TextContent(type="text", text=found.as_text())
        return CallToolResult(content=[text], structured_content={**self._about(root), **found.as_json()})

    async def _context(self, root: str, arguments: dict[str, Any]) -> CallToolResult:
        given = {"tokens": TOKENS, **arguments}
        tokens = _number(given, "context", "tokens", LEAST_TOKENS, MOST_TOKENS)
        issue = _text(given, "context", "issue", "tokens")
        found = await in_thread(context_of, issue, self.roots.repository(root), tokens)
        return CallToolResult(content=[TextContent(type="text", text=context_text(found))])

    async def _ask(self, root: str, arguments: dict[str, Any], session: ServerSession) -> CallToolResult:
        instance = instance_of(root, _text(arguments, "ask", "question"), "question")
        trajectory = await self._search(self.searcher.answering(), instance, self.roots.repository(root), session)
        raise_on_failure(trajectory)
        found = answer_json(trajectory)
        found |= {"text": with_relative_paths(found["text"]), "values": list(map(with_relative_paths, found["values"]))}
        text = TextContent(type="text", text=with_relative_paths(answer_text(trajectory)))
        return CallToolResult(content=[text], structured_content={**self._about(root), **found})

    async def _tool(self, root: str, name: str, arguments: dict[str, Any]) -> CallToolResult:
        folder = self.roots.folders[root]
        paths = [key for key in arguments if key in _PATHS or (name == "glob" and key == "pattern")]
        given = arguments | {key: relative(arguments[key], folder) for key in paths if isinstance(arguments[key], str)}
        result = await Toolbox(self.roots.repository(root), Tools()).call(name, given)
        text = result.output
        if result.error is not None or not result.entities:
            text = with_relative_paths(text)
        elif name != "read_file":  # every line begins with a path; after it stands text of a file
            text = "\n".join(line.removeprefix(f"{VIRTUAL_ROOT}/") for line in text.split("\n"))
        return CallToolResult(content=[TextContent(type="text", text=text)], is_error=result.error is not None)

    def _about(self, root: str) -> dict[str, str]:
        return {"root": root, "folder": self.roots.folders[root]}

    async def _search(self, searcher: Searcher, instance: Instance, repository: Repository, session: ServerSession) -> Trajectory:
        """Run one episode. The client gets all progress, in order, before the result."""
        with listening() as (on_event, steps):
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(forward, steps, session, searcher.agent.max_turns)
                    trajectory = await searcher.search(instance, repository, on_event)
            except ExceptionGroup as group:
                raise group.exceptions[0] from None
            return trajectory

    async def _list_tools(self, _: ServerRequestContext[None], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=self._tools)

    async def _call_tool(self, context: ServerRequestContext[None], params: CallToolRequestParams) -> CallToolResult:
        names = [tool.name for tool in self._tools]
        if params.name not in names:
            raise MCPError(INVALID_PARAMS, f"there is no tool {clipped(params.name, 40)}; the tools are {', '.join(names)}")
        with anyio.CancelScope() as scope:
            self._running.add(scope)
            try:
                return await self.call(params.name, params.arguments or {}, context.session)
            finally:
                self._running.discard(scope)
        raise MCPError(INTERNAL_ERROR, "the server is ending")

    @asynccontextmanager
    async def _lifespan(self, _: Server[None]) -> AsyncIterator[None]:
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await self.searcher.close()


def _text(arguments: dict[str, Any], tool: str, name: str, *others: str) -> str:
    """The argument ``name``. Raises :class:`ToolError` if it is missing or there are arguments but ``others``."""
    usage = f"use {tool}({', '.join([name, *(f'{other}?' for other in others), 'root?'])})"
    text = arguments.get(name)
    if unknown := [key for key in arguments if key not in (name, *others)]:
        raise ToolError(f"{tool}: unknown argument {clipped(unknown[0], 40)}; {usage}")
    if not isinstance(text, str):
        problem = "is missing" if text is None else "must be a string"
        raise ToolError(f"{tool}: {name} {problem}; {usage}")
    return text.encode("utf-8", "replace").decode()


def _number(arguments: dict[str, Any], tool: str, name: str, least: int, most: int) -> int:
    """The argument ``name``, which is taken out. Raises :class:`ToolError` unless it is a number within bounds."""
    number = whole_number(arguments.pop(name))
    if number is None or not least <= number <= most:
        raise ToolError(f"{tool}: {name} must be a number from {least} to {most}")
    return number


Step = tuple[float, str]
"""Turns done so far (may be a fraction), and a line of text."""

_MESSAGE_CHARS = 200


@contextmanager
def listening() -> Iterator[tuple[OnEvent, MemoryObjectReceiveStream[Step]]]:
    """Yield a listener for :func:`fusesearch.agents.loop.run_episode`, and the stream of steps it produces."""
    outgoing, incoming = anyio.create_memory_object_stream[Step](math.inf)

    def on_event(kind: str, payload: dict[str, Any]) -> None:
        for step in steps(kind, payload):
            outgoing.send_nowait(step)
        if kind == "end":
            outgoing.close()

    with outgoing, incoming:
        yield on_event, incoming


async def forward(incoming: MemoryObjectReceiveStream[Step], session: ServerSession, turns: int) -> None:
    """Send every step to the client, with ``turns`` as the total."""
    async for done, message in incoming:
        await session.report_progress(done, turns, message)


def steps(kind: str, payload: dict[str, Any]) -> Iterator[Step]:
    """Steps of one event of the loop. Their numbers increase within a turn and stay below the next turn's."""
    if kind not in ("turn", "observations"):
        return
    number: int = payload["number"]
    turn: Turn = payload["turn"]
    share = 1 / (len(turn.calls) + 2)
    if kind == "turn":
        count = len(turn.calls)
        plan = "the answer" if count == 0 else f"{count} call{'s' if count > 1 else ''}"
        yield number - 1 + share, f"turn {number}: {plan}"
        return
    for index, (call, observation) in enumerate(zip(turn.calls, turn.observations, strict=True), 2):
        yield number - 1 + index * share, shorten(f"turn {number}: {_result(call, observation)}", _MESSAGE_CHARS)


def _result(call: ToolCall, observation: Observation) -> str:
    found = f"{len(observation.entities)} found, gain {observation.gain_turn:.0%}"
    return f"{found if observation.error is None else 'error'}: {shorten(printable(call.name), 20)} {describe(call.arguments)}"
