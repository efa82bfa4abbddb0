"""The tools of the MCP server. The SDK makes their schemas from the functions' types, and calls them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, TypeVarTuple

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BeforeValidator, Field

from fusesearch.cli.localize import ranked
from fusesearch.cli.report import Report, answer_json, answer_text, context_text, raise_on_failure
from fusesearch.core.errors import DataError, FusesearchError, RepositoryError
from fusesearch.core.installation import DISTRIBUTION, installed
from fusesearch.core.schema import Instance, Trajectory
from fusesearch.core.stopping import in_thread
from fusesearch.localizers.ranker.building import Progress
from fusesearch.localizers.ranker.context import LEAST_TOKENS, MOST_TOKENS, TOKENS, context_of
from fusesearch.localizers.ranker.within import within
from fusesearch.localizers.registry import WITHOUT_MODEL
from fusesearch.localizers.searcher import Searcher, instance_of
from fusesearch.search.repository import VIRTUAL_ROOT, Repository, clipped

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
PATIENCE = 20.0
"""Seconds until a call answers from what is indexed by then: clients give up after a minute."""

_TOLD_SECONDS = 0.5
_VIRTUAL = re.compile(rf"(?<![\w/.-]){VIRTUAL_ROOT}(?:/|(?![\w.-]))")
_EMPTY = BeforeValidator(lambda value: None if value == "" else value)  # some clients send every argument

Issue = Annotated[str, Field(description="the whole text of the issue: what happens, what should, errors; or a phrase, a name")]
Top = Annotated[
    Annotated[int, Field(ge=1, le=100)] | None, _EMPTY, Field(description="so many files, however likely; 5 by default")
]
Tokens = Annotated[
    Annotated[int, Field(ge=LEAST_TOKENS, le=MOST_TOKENS)] | None,
    _EMPTY,
    Field(description=f"the most to return, in tokens of four bytes; {TOKENS} by default"),
]
Impact = Annotated[bool | None, _EMPTY, Field(description="of a name: callers of callers, and the tests to run")]
Only = Annotated[str | None, _EMPTY, Field(description="only this folder, file or glob; several by commas")]
Lang = Annotated[str | None, _EMPTY, Field(description="only this language or suffix; several by commas")]
Since = Annotated[str | None, _EMPTY, Field(description="only what commits changed since a date, `3 weeks` or a revision")]
NoTests = Annotated[bool | None, _EMPTY, Field(description="leave tests out")]
Question = Annotated[str, Field(description="the whole question")]


@dataclass(frozen=True)
class Service:
    """Answers requests about ``folder``. No state is kept between requests; all searches share the model of ``searcher``."""

    folder: Path
    searcher: Searcher

    def server(self) -> MCPServer[None]:
        """The SDK's server with the tools. It closes the model when it ends."""

        @asynccontextmanager
        async def closing(_: MCPServer[None]) -> AsyncIterator[None]:
            try:
                yield
            finally:
                with anyio.CancelScope(shield=True):
                    await self.searcher.close()

        instructions = (
            f"Finds the code an issue is about, in the folder {self.folder}, which is only read. Give localize the text of an "
            "issue, and it names the files and functions to modify; context returns what to read for it or a name. Paths are "
            "relative to the folder."
        )
        version = installed(DISTRIBUTION) or ""
        server = MCPServer("fusesearch", instructions=instructions, version=version, lifespan=closing, log_level="ERROR")
        ranks = self.searcher.name == WITHOUT_MODEL
        server.add_tool(self.rank if ranks else self.localize, "localize", "Locate an issue in the code", annotations=READ_ONLY)
        server.add_tool(self.context, title="Read what matters for an issue", annotations=READ_ONLY)
        if self.searcher.model is not None:
            server.add_tool(self.ask, title="Answer a question about the code", annotations=READ_ONLY)
        return server

    async def rank(
        self, issue: Issue, context: Context, top: Top = None,
        path: Only = None, lang: Lang = None, since: Since = None, no_tests: NoTests = None,
    ) -> CallToolResult:  # fmt: skip
        """Find the files and functions an issue is about.

        An index of names, words and history answers in about a second (longer the first time), with how sure it is and why. It
        names at most five files with their best functions, or as many as top says, and says if the first is likely enough to act
        on. A question, a phrase or one word is a search: the best places, without a confidence.
        """
        with _one_line():
            repository = within(self._repository(), path, lang, since, no_tests)
            progress = Progress(patience=PATIENCE, text=issue)
            found = await _telling(context, progress, ranked, issue, repository, top, progress)
        return self._result(found.as_text(), found.as_json())

    async def localize(
        self, issue: Issue, context: Context,
        path: Only = None, lang: Lang = None, since: Since = None, no_tests: NoTests = None,
    ) -> CallToolResult:  # fmt: skip
        """Find the files and functions an issue is about.

        A search agent greps and reads the folder by itself and answers with ranked places to modify, and related ones apart.
        Takes seconds to minutes.
        """
        with _one_line():
            repository = within(self._repository(), path, lang, since, no_tests)
            trajectory = await self._search(self.searcher, instance_of(self.folder.name, issue), repository, context)
            raise_on_failure(trajectory)
            found = await anyio.to_thread.run_sync(Report.of, trajectory, repository)
        return self._result(found.as_text(), found.as_json())

    async def context(
        self, issue: Issue, context: Context, tokens: Tokens = None, impact: Impact = None,
        path: Only = None, lang: Lang = None, since: Since = None, no_tests: NoTests = None,
    ) -> CallToolResult:  # fmt: skip
        """The most useful code to read for an issue or a name, within a budget of tokens.

        For an issue: the best functions in full, heads of what they call, lines that call them, outlines of the likely files. If
        issue is one name, such as shop.cart.Cart.total: its definitions, its callers, what it calls, the tests that name it;
        with impact: its callers, theirs and so on, and the tests to run.
        """
        with _one_line():
            repository = within(self._repository(), path, lang, since, no_tests)
            progress = Progress(patience=PATIENCE, text=issue)
            wanted = (issue, repository, tokens or TOKENS, None, progress, bool(impact))
            found = await _telling(context, progress, context_of, *wanted)
        texts = [context_text(found, repository), *progress.notes()]
        return CallToolResult(content=[TextContent(text=text) for text in texts], _meta=progress.fields())

    async def ask(self, question: Question, context: Context) -> CallToolResult:
        """Answer a question about the code. A search agent greps and reads the folder by itself."""
        with _one_line():
            instance = instance_of(self.folder.name, question, "question")
            trajectory = await self._search(self.searcher.answering(), instance, self._repository(), context)
            raise_on_failure(trajectory)
        found = answer_json(trajectory)
        found |= {"text": _relative(found["text"]), "values": list(map(_relative, found["values"]))}
        return self._result(_relative(answer_text(trajectory)), found)

    async def _search(self, searcher: Searcher, instance: Instance, repository: Repository, context: Context) -> Trajectory:
        """Run one episode; the client is told of every turn."""
        total = searcher.agent.max_turns
        async with anyio.create_task_group() as tasks:

            def on_event(kind: str, payload: dict[str, Any]) -> None:
                if kind == "turn":
                    number, calls = payload["number"], len(payload["turn"].calls)
                    message = f"turn {number}: {f'{calls} calls' if calls else 'the answer'}"
                    tasks.start_soon(context.report_progress, number, total, message)

            trajectory = await searcher.search(instance, repository, on_event)
        return trajectory

    def _repository(self) -> Repository:
        """A fresh :class:`Repository`, since files change while a server runs and a :class:`Repository` caches what it saw."""
        repository = Repository(self.folder)
        if repository.root != self.folder:
            raise RepositoryError(f"{self.folder} is no longer the folder that this server was started with")
        return repository

    def _result(self, text: str, found: dict[str, Any]) -> CallToolResult:
        return CallToolResult(content=[TextContent(text=text)], structured_content={"folder": str(self.folder), **found})


async def _telling(context: Context, progress: Progress, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """The result of work in a thread, while the client hears how far the index is."""

    async def tell() -> None:
        told = 0
        while True:
            await anyio.sleep(_TOLD_SECONDS)
            if progress.done > told:
                told = progress.done
                await context.report_progress(told, progress.total, f"indexing: {told:,} of {progress.total:,} files")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tell)
        try:
            found = await in_thread(work, *arguments)
        except DataError as error:  # such as a name that nothing has, so far
            raise DataError(" ".join([f"{error}.", *progress.notes()]) if progress.missing else str(error)) from None
        tasks.cancel_scope.cancel()
    return found


@contextmanager
def _one_line() -> Iterator[None]:
    """Errors meant for people become an error of one line for the client's model; of any other it learns nothing."""
    try:
        yield
    except FusesearchError as error:
        raise ToolError(clipped(" ".join(str(error).split()), 500)) from None
    except ExceptionGroup as group:  # of the task group around a search
        known = group.subgroup(FusesearchError)
        if known is None:
            raise
        raise ToolError(clipped(" ".join(str(known.exceptions[0]).split()), 500)) from None


def _relative(text: str) -> str:
    """``text`` with paths relative to the folder instead of virtual ones, in which answers name files."""
    return _VIRTUAL.sub(lambda match: "" if match[0].endswith("/") else "the folder", text)
