"""The agent's tools over one repository (FuseSearch, section 2.1).

A call never raises for a model's fault: whatever is wrong with it becomes an observation of one line. A snapshot does
not change, so equal calls are answered from memory, and equal calls at the same time are one search.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from tasks.core.errors import RepositoryError, ToolError
from tasks.search.glob import Glob
from tasks.search.grep import Grep
from tasks.search.read_file import ReadFile
from tasks.search.repository import Repository, shown
from tasks.search.results import Outcome, shorten
from tasks.search.ripgrep import Search, Unfinished
from tasks.search.tool import Tool

if TYPE_CHECKING:
    from tasks.core.config import Tools

TOOLS: dict[str, type[Tool]] = {tool.name: tool for tool in (Grep, Glob, ReadFile)}
"""Every tool, in the order in which a model is shown them."""

MEMORY_BYTES = 16 * 2**20
_ERROR = "Error: "


def schemas() -> list[dict[str, Any]]:
    """The tools as a model's API takes them."""
    return [tool.schema() for tool in TOOLS.values()]


def parse_call(name: str, arguments: object) -> Tool:
    """The checked call. Raises :class:`ToolError` that names the tools, or the arguments of this one."""
    if not isinstance(name, str) or name not in TOOLS:
        raise ToolError(f"there is no tool {shown(str(name), 40)}; the tools are {', '.join(TOOLS)}")
    return TOOLS[name].parse(arguments)


@dataclass(frozen=True)
class ToolResult:
    """One observation: what the model sees, its entities, the error line if it failed, and the wall seconds it took."""

    output: str
    entities: list[str] = field(default_factory=list)
    error: str | None = None
    seconds: float = 0.0


class Toolbox:
    """The tools over ``repository``, for any number of episodes, threads and event loops.

    ``limits.concurrency`` searches run at once per process. ``memory_bytes`` bounds what is remembered of earlier calls,
    0 remembers nothing. Toolboxes over one :class:`Repository` object with equal limits share their memory, which lasts
    as long as that object.
    """

    def __init__(self, repository: Repository, limits: Tools | None = None, memory_bytes: int = MEMORY_BYTES) -> None:
        if limits is None:
            from tasks.core.config import Tools  # here, since `fusesearch --help` lists the tools and waits for no pydantic

            limits = Tools()
        self.repository = repository
        self.limits = limits
        self._memory = _memory_of(repository, self.limits, memory_bytes)

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Run one call. Raises only :class:`InfrastructureError`, when ripgrep is missing or cannot be started."""
        started = time.perf_counter()
        try:
            request = parse_call(name, arguments)
            outcome = self._memory.get(request)
            if outcome is None:
                outcome = self._answer(request, Search()) if request.quick else await self._search(request)
        except ToolError as error:
            outcome = self._failed(str(error))
        return ToolResult(outcome.output, list(outcome.entities), outcome.error, time.perf_counter() - started)

    async def _search(self, request: Tool) -> Outcome:
        """Share one search among all that ask for it now; end it when the last of them was cancelled."""
        memory = self._memory
        with memory.lock:
            flight = memory.flights.get(request)
            if flight is None:
                flight = memory.flights[request] = _Flight()
                _pool(os.getpid(), self.limits.concurrency).submit(self._fly, request, flight)
            flight.waiting += 1
        try:
            return await asyncio.wrap_future(flight.future)
        finally:
            with memory.lock:
                flight.waiting -= 1
                if flight.waiting == 0 and not flight.future.done():
                    memory.land(request, flight)
                    flight.search.stop()

    def _fly(self, request: Tool, flight: _Flight) -> None:
        try:
            outcome = self._answer(request, flight.search)
        except BaseException as error:
            self._memory.land(request, flight)
            flight.future.set_exception(error)
        else:
            self._memory.land(request, flight)
            flight.future.set_result(outcome)

    def _answer(self, request: Tool, search: Search) -> Outcome:
        """Answer and remember, failures too. Raises :class:`Unfinished`, which must not be remembered."""
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
        reason = shorten(reason, self.limits.output_chars - len(_ERROR))
        return Outcome(_ERROR + reason, (), reason)


class _Flight:
    """One search under way. Its future counts as running from the start, so that one waiter cannot cancel it for all."""

    def __init__(self) -> None:
        self.search = Search()
        self.future: Future[Outcome] = Future()
        self.future.set_running_or_notify_cancel()
        self.waiting = 0


class _Memory:
    """Outcomes of earlier requests, the least recently used forgotten first; and searches under way."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._bytes = 0
        self._outcomes: OrderedDict[Tool, Outcome] = OrderedDict()
        self.flights: dict[Tool, _Flight] = {}
        self.lock = threading.RLock()

    def get(self, request: Tool) -> Outcome | None:
        with self.lock:
            if request in self._outcomes:
                self._outcomes.move_to_end(request)
            return self._outcomes.get(request)

    def put(self, request: Tool, outcome: Outcome) -> None:
        size = _size(outcome)
        with self.lock:
            if request in self._outcomes or size > self._limit:
                return
            self._outcomes[request] = outcome
            self._bytes += size
            while self._bytes > self._limit:
                self._bytes -= _size(self._outcomes.popitem(last=False)[1])

    def land(self, request: Tool, flight: _Flight) -> None:
        """A search has ended: the next one to ask finds its outcome in memory, or starts again."""
        with self.lock:
            if self.flights.get(request) is flight:
                del self.flights[request]


_MEMORIES: WeakKeyDictionary[Repository, dict[tuple[Tools, int], _Memory]] = WeakKeyDictionary()
_MEMORIES_LOCK = threading.Lock()


def _memory_of(repository: Repository, limits: Tools, size: int) -> _Memory:
    with _MEMORIES_LOCK:
        return _MEMORIES.setdefault(repository, {}).setdefault((limits, size), _Memory(size))


def _size(outcome: Outcome) -> int:
    """Bytes an outcome takes, roughly."""
    return 500 + 2 * len(outcome.output) + sum(60 + len(entity) for entity in outcome.entities)


@lru_cache(maxsize=8)
def _pool(process: int, concurrency: int) -> ThreadPoolExecutor:
    """Threads that wait for ripgrep; one pool per process, as threads do not survive a fork."""
    return ThreadPoolExecutor(max_workers=concurrency, thread_name_prefix="search")
