"""Analyses many sources with a process per core.

The processes are started as programs, not forked or spawned by :mod:`multiprocessing`: the caller may be a server with threads,
or a script without a main guard. They get contents and return facts, and open no file. A source that ends its process has no
facts but its path's.
"""

from __future__ import annotations

import gc
import os
import queue
import threading
from collections.abc import Generator, Iterator
from contextlib import suppress
from itertools import count

from fusesearch.core.cores import cores
from fusesearch.core.stopping import check
from fusesearch.core.text import decoded
from fusesearch.localizers.ranker.facts import analyse

SMALL_BYTES = 1_000_000
"""Less is analysed here, which takes no longer than to start a process."""

MAX_PROCESSES = 8
CPU_SECONDS = 20.0  # for one file
MEMORY = 2 << 30

_COLLECTED_EVERY = 200
_PATIENCE = 0.2  # seconds until it is asked again whether anybody waits

Source = tuple[bytes, str, bytes | None]
"""Digest, path and content; None where the facts are known."""


def analysed(sources: Iterator[Source], size: int) -> Generator[tuple[bytes, bytes]]:
    """Digest and facts of each source, in any order; ``size`` is the bytes of all. Ends its processes when it is closed early.

    A source without content has empty facts.
    """
    if size < SMALL_BYTES:
        for digest, path, data in sources:
            check()
            yield digest, b"" if data is None else analyse(path, decoded(data))
        return
    from fusesearch.core.answering import Answerer  # an answer from an index starts no process

    results: queue.Queue[tuple[bytes, bytes] | None] = queue.Queue(maxsize=1000)
    lock, stopped = threading.Lock(), threading.Event()
    workers = [Answerer(__name__) for _ in range(min(MAX_PROCESSES, cores()))]

    def feed(worker: Answerer) -> None:
        try:
            while not stopped.is_set():
                with lock:
                    source = next(sources, None)
                if source is None:
                    return
                digest, path, data = source
                facts = b"" if data is None else worker.ask(path, data)
                if stopped.is_set():
                    return
                results.put((digest, analyse(path, "") if facts is None else facts))
        finally:
            worker.end()
            results.put(None)

    threads = [threading.Thread(target=feed, args=(worker,), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        running = len(threads)
        while running:
            check()
            with suppress(queue.Empty):
                result = results.get(timeout=_PATIENCE)
                if result is None:
                    running -= 1
                else:
                    yield result
    finally:
        stopped.set()
        for worker in workers:
            worker.kill()
        with suppress(queue.Empty):
            while True:  # a thread may wait for room
                results.get_nowait()


def serve() -> None:
    """The worker: answer paths and contents with the facts of each."""
    from fusesearch.core.answering import answer_all

    with suppress(AttributeError):  # on Windows
        os.nice(5)  # who answers meanwhile goes first
    gc.disable()  # it walks every syntax tree as it grows: four times the time of a parse
    numbers = count(1)

    def facts(path: str, data: bytes) -> bytes:
        if next(numbers) % _COLLECTED_EVERY == 0:
            gc.collect()
        return analyse(path, decoded(data))

    answer_all(facts, CPU_SECONDS, MEMORY)
