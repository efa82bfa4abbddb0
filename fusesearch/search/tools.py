"""The agent's tools over one repository (FuseSearch, section 2.1).

A call never raises for a model's fault: any error in it becomes a one-line observation. A snapshot does not change, so a
repeated call is answered from memory.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from cachetools import LRUCache

from fusesearch.core.cores import cores
from fusesearch.core.errors import RepositoryError, ToolError
from fusesearch.search.glob import Glob
from fusesearch.search.grep import Grep
from fusesearch.search.read_file import ReadFile
from fusesearch.search.repository import Repository, clipped
from fusesearch.search.results import Outcome, shorten
from fusesearch.search.ripgrep import RipgrepRun, Unfinished
from fusesearch.search.tool import Tool

if TYPE_CHECKING:
    from fusesearch.core.config import Tools

TOOLS: dict[str, type[Tool]] = {tool.name: tool for tool in (Grep, Glob, ReadFile)}
"""All tools, in the order in which models see them."""

MEMORY_BYTES = 16 * 2**20


def schemas(tools: Mapping[str, type[Tool]] = TOOLS) -> list[dict[str, Any]]:
    """The tools as a model's API takes them."""
    return [tool.schema() for tool in tools.values()]


def parse_call(name: str, arguments: object, tools: Mapping[str, type[Tool]] = TOOLS) -> Tool:
    """The validated call. Raises :class:`ToolError` with the names of the tools, or with the arguments of this one."""
    if not isinstance(name, str) or name not in tools:
        raise ToolError(f"there is no tool {clipped(str(name), 40)}; the tools are {', '.join(tools)}")
    return tools[name].parse(arguments)


class Toolbox:
    """``tools`` over ``repository``, for any number of episodes, threads and event loops.

    Each process runs two searches at once for each core. ``memory_bytes`` limits the memory of earlier calls; 0 turns it
    off. Toolboxes over one :class:`Repository` object with equal limits share their memory, which lives as long as that
    object.
    """

    def __init__(
        self,
        repository: Repository,
        limits: Tools | None = None,
        memory_bytes: int = MEMORY_BYTES,
        tools: Mapping[str, type[Tool]] = TOOLS,
    ) -> None:
        if limits is None:
            # imported here, so that `fusesearch --help`, which lists the tools, does not import pydantic
            from fusesearch.core.config import Tools

            limits = Tools()
        self.repository = repository
        self.limits = limits
        self.tools = tools
        with _MEMORIES_LOCK:
            memories = _MEMORIES.setdefault(repository, {})
            self._memory = memories.setdefault((self.limits, memory_bytes), _Memory(memory_bytes))

    async def call(self, name: str, arguments: dict[str, Any]) -> Outcome:
        """Run one call. Raises only :class:`InfrastructureError`, if ripgrep is missing, cannot be started or hangs."""
        try:
            request = parse_call(name, arguments, self.tools)
            outcome = self._memory.get(request)
            if outcome is None:
                outcome = self._answer(request, RipgrepRun()) if request.quick else await self._search(request)
        except ToolError as error:
            outcome = self._failed(str(error))
        return replace(outcome, entities=[*outcome.entities])  # the memory and other callers have the same object

    async def _search(self, request: Tool) -> Outcome:
        """Search in a thread, and stop when the caller is cancelled. One that waited behind an equal call is in the memory."""
        search = RipgrepRun()

        def answer() -> Outcome:
            return self._memory.get(request) or self._answer(request, search)

        try:
            return await asyncio.wrap_future(_pool(os.getpid(), 2 * cores()).submit(answer))
        except asyncio.CancelledError:
            search.stop()
            raise

    def _answer(self, request: Tool, search: RipgrepRun) -> Outcome:
        """Answer and remember the outcome, also of failures. Raises :class:`Unfinished`, which must not be remembered."""
        try:
            outcome = request.run(self.repository, self.limits, search)
        except Unfinished:
            raise
        except (ToolError, RepositoryError) as error:
            outcome = self._failed(str(error))
        except OSError as error:
            raise Unfinished(f"reading failed: {error.strerror or type(error).__name__}") from None
        self._memory.put(request, outcome)
        return outcome

    def _failed(self, reason: str) -> Outcome:
        return Outcome.failed(shorten(reason, self.limits.output_chars - len("Error: ")))


class _Memory:
    """Outcomes of earlier requests, dropped least recently used first."""

    def __init__(self, limit: int) -> None:
        self._outcomes: LRUCache[Tool, Outcome] = LRUCache(limit, getsizeof=_size)
        self.lock = threading.Lock()

    def get(self, request: Tool) -> Outcome | None:
        with self.lock:
            return self._outcomes.get(request)

    def put(self, request: Tool, outcome: Outcome) -> None:
        with self.lock, suppress(ValueError):  # larger than the whole memory
            self._outcomes[request] = outcome


_MEMORIES: WeakKeyDictionary[Repository, dict[tuple[Tools, int], _Memory]] = WeakKeyDictionary()
_MEMORIES_LOCK = threading.Lock()


def _size(outcome: Outcome) -> int:
    """Approximate bytes of an outcome."""
    return 500 + 2 * len(outcome.output) + sum(60 + len(entity) for entity in outcome.entities)


@lru_cache(maxsize=8)
def _pool(process: int, concurrency: int) -> ThreadPoolExecutor:
    """Threads that wait for ripgrep; one pool per process, because threads do not survive a fork."""
    return ThreadPoolExecutor(max_workers=concurrency, thread_name_prefix="search")
