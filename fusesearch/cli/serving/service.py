"""The MCP server, independent of the transport: runs the localizer and the tools for requests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
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
)

from fusesearch.cli.report import Report, answer_json, answer_text, raise_on_failure
from fusesearch.cli.serving import definitions
from fusesearch.cli.serving.progress import forward, listening
from fusesearch.cli.serving.roots import Roots
from fusesearch.core.config import Tools
from fusesearch.core.errors import FusesearchError, ToolError
from fusesearch.core.installation import DISTRIBUTION, installed
from fusesearch.core.schema import Instance, Trajectory
from fusesearch.localizers.registry import WITHOUT_MODEL
from fusesearch.localizers.searcher import Searcher, instance_of
from fusesearch.search.repository import Repository, clipped
from fusesearch.search.tools import Toolbox


@dataclass(frozen=True)
class Service:
    """Answers requests about the roots. Tools keep no state between requests; all searches share the model."""

    roots: Roots
    searcher: Searcher
    _running: set[anyio.CancelScope] = field(default_factory=set, init=False, repr=False)

    def server(self) -> Server[None]:
        """A server of the SDK, for one transport. It closes the model when it ends."""
        return Server(
            "fusesearch",
            version=installed(DISTRIBUTION) or "",
            instructions=definitions.instructions(self.roots.names),
            lifespan=self._lifespan,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )

    def stop(self) -> None:
        """Cancel all running calls; their clients get an error."""
        for scope in self._running:
            scope.cancel()

    async def call(self, name: str, arguments: dict[str, Any], session: ServerSession) -> CallToolResult:
        """Run one call. Errors become an error result of one line."""
        given = {key: value for key, value in arguments.items() if key != "root"}
        try:
            root = self.roots.choose(arguments.get("root"))
            if name == definitions.LOCALIZE:
                return await self._localize(root, given, session)
            if name == definitions.ASK:
                return await self._ask(root, given, session)
            result = await Toolbox(self.roots.repository(root), Tools()).call(name, given)
            return CallToolResult(content=[TextContent(type="text", text=result.output)], is_error=result.error is not None)
        except FusesearchError as error:
            line = f"Error: {clipped(' '.join(str(error).split()), 500)}"
            return CallToolResult(content=[TextContent(type="text", text=line)], is_error=True)

    @property
    def _ranks(self) -> bool:
        return self.searcher.name == WITHOUT_MODEL

    async def _localize(self, root: str, arguments: dict[str, Any], session: ServerSession) -> CallToolResult:
        repository, searcher = self.roots.repository(root), self.searcher
        if self._ranks and (top := arguments.pop("top", None)) is not None:
            if not isinstance(top, int) or isinstance(top, bool) or not 1 <= top <= 100:
                raise ToolError("localize: top must be a number from 1 to 100")
            searcher = replace(searcher, top=top)
        trajectory = await self._search(searcher, instance_of(root, _text(arguments, "localize", "issue")), repository, session)
        raise_on_failure(trajectory)
        found = await anyio.to_thread.run_sync(Report.of, trajectory, repository)
        text = TextContent(type="text", text=found.as_text())
        return CallToolResult(content=[text], structured_content={"root": root, **found.as_json()})

    async def _ask(self, root: str, arguments: dict[str, Any], session: ServerSession) -> CallToolResult:
        instance = instance_of(root, _text(arguments, "ask", "question"), "question")
        trajectory = await self._search(self.searcher.answering(), instance, self.roots.repository(root), session)
        raise_on_failure(trajectory)
        text = TextContent(type="text", text=answer_text(trajectory))
        return CallToolResult(content=[text], structured_content={"root": root, **answer_json(trajectory)})

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
        return ListToolsResult(tools=definitions.tools(self.roots.names, ranks=self._ranks))

    async def _call_tool(self, context: ServerRequestContext[None], params: CallToolRequestParams) -> CallToolResult:
        names = [tool.name for tool in definitions.tools(self.roots.names, ranks=self._ranks)]
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


def _text(arguments: dict[str, Any], tool: str, name: str) -> str:
    """The argument ``name``. Raises :class:`ToolError` if it is missing or there are other arguments."""
    text = arguments.get(name)
    if unknown := [key for key in arguments if key != name]:
        raise ToolError(f"{tool}: unknown argument {clipped(unknown[0], 40)}; use {tool}({name}, root?)")
    if not isinstance(text, str):
        problem = "is missing" if text is None else "must be a string"
        raise ToolError(f"{tool}: {name} {problem}; use {tool}({name}, root?)")
    return text.encode("utf-8", "replace").decode()
