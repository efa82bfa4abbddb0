"""The agent's tools over one repository: ``grep``, ``glob`` and ``read_file`` (FuseSearch, section 2.1; DESIGN.md, section 4).

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
from typing import Any
from weakref import WeakKeyDictionary

from tasks.core.config import Tools
from tasks.core.errors import RepositoryError, ToolError
from tasks.search import searches
from tasks.search.arguments import Glob, Grep, ReadFile, Request, parse_request, schemas
from tasks.search.reading import read_file
from tasks.search.repository import Repository
from tasks.search.results import Outcome, shorten
from tasks.search.ripgrep import Search, Unfinished

__all__ = ["ToolResult", "Toolbox", "run_tool", "schemas"]

MEMORY_BYTES = 16 * 2**20
_ERROR = "Error: "


@dataclass(frozen=True)
class ToolResult:
    """One observation: what the model sees, its entities, the error line if it failed, and the wall seconds it took."""

    output: str
    entities: list[str] = field(default_factory=list)
    error: str | None = None
    seconds: float = 0.0


class Toolbox:
    """The three tools over ``repository``, for any number of episodes, threads and event loops.

    ``limits.concurrency`` searches run at once per process. ``memory_bytes`` bounds what is remembered of earlier calls,
    0 remembers nothing. Toolboxes over one :class:`Repository` object with equal limits share their memory, which lasts
    as long as that object.
    """

    def __init__(self, repository: Repository, limits: Tools | None = None, memory_bytes: int = MEMORY_BYTES) -> None:
        self.repository = repository
        self.limits = limits or Tools()
        self._memory = _memory_of(repository, self.limits, memory_bytes)

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Run one call. Raises only :class:`InfrastructureError`, when ripgrep is missing or cannot be started."""
        started = time.perf_counter()
        try:
            request = parse_request(name, arguments)
            outcome = self._memory.get(request)
            if outcome is None:
                # Reading a file takes less time than handing it to a thread.
                direct = isinstance(request, ReadFile)
                outcome = self._answer(request, Search()) if direct else await self._search(request)
        except ToolError as error:
            outcome = self._failed(str(error))
        return _result(outcome, started)

    def call_now(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """As :meth:`call`, for code without an event loop."""
        started = time.perf_counter()
        try:
            request = parse_request(name, arguments)
            outcome = self._memory.get(request) or self._answer(request, Search())
        except ToolError as error:
            outcome = self._failed(str(error))
        return _result(outcome, started)

    async def _search(self, request: Request) -> Outcome:
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

    def _fly(self, request: Request, flight: _Flight) -> None:
        try:
            outcome = self._answer(request, flight.search)
        except BaseException as error:
            self._memory.land(request, flight)
            flight.future.set_exception(error)
        else:
            self._memory.land(request, flight)
            flight.future.set_result(outcome)

    def _answer(self, request: Request, search: Search) -> Outcome:
        """Answer and remember, failures too. Raises :class:`Unfinished`, which must not be remembered."""
        try:
            outcome = self._dispatch(request, search)
        except Unfinished:
            raise
        except (ToolError, RepositoryError) as error:
            outcome = self._failed(str(error))
        except OSError as error:
            raise Unfinished(f"reading failed: {error.strerror or type(error).__name__}") from None
        self._memory.put(request, outcome)
        return outcome

    def _dispatch(self, request: Request, search: Search) -> Outcome:
        match request:
            case Grep():
                return searches.grep(request, self.repository, self.limits, search)
            case Glob():
                return searches.glob(request, self.repository, self.limits, search)
            case ReadFile():
                return read_file(request, self.repository, self.limits)

    def _failed(self, reason: str) -> Outcome:
        reason = shorten(reason, self.limits.output_chars - len(_ERROR))
        return Outcome(_ERROR + reason, (), reason)


def run_tool(repository: Repository, name: str, arguments: dict[str, Any], limits: Tools | None = None) -> ToolResult:
    """Run one call and wait for it: for the command line."""
    return Toolbox(repository, limits).call_now(name, arguments)


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
        self._outcomes: OrderedDict[Request, Outcome] = OrderedDict()
        self.flights: dict[Request, _Flight] = {}
        self.lock = threading.RLock()

    def get(self, request: Request) -> Outcome | None:
        with self.lock:
            if request in self._outcomes:
                self._outcomes.move_to_end(request)
            return self._outcomes.get(request)

    def put(self, request: Request, outcome: Outcome) -> None:
        size = _size(outcome)
        with self.lock:
            if request in self._outcomes or size > self._limit:
                return
            self._outcomes[request] = outcome
            self._bytes += size
            while self._bytes > self._limit:
                self._bytes -= _size(self._outcomes.popitem(last=False)[1])

    def land(self, request: Request, flight: _Flight) -> None:
        """A search has ended: the next one to ask finds its outcome remembered, or begins anew."""
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


def _result(outcome: Outcome, started: float) -> ToolResult:
    return ToolResult(outcome.output, list(outcome.entities), outcome.error, time.perf_counter() - started)
