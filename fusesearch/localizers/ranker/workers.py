"""Analyses many sources with a process per core.

The processes are started as programs, not forked or spawned by :mod:`multiprocessing`: the caller may be a server with threads,
or a script without a main guard. They get contents and return facts, and open no file. A source that ends its process has no
facts but its path's.
"""

from __future__ import annotations

import gc
import os
import queue
import resource
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from fusesearch.core.stopping import check
from fusesearch.localizers.ranker.facts import analyse

SMALL_BYTES = 1_000_000
"""Less is analysed here, which takes no longer than to start a process."""

MAX_PROCESSES = 8
CPU_SECONDS = 20.0  # for one file
MEMORY = 2 << 30

_LENGTH = struct.Struct(">Q")
_ROOT = Path(__file__).parents[3]
_START = "import sys; sys.path.insert(0, sys.argv[1]); from fusesearch.localizers.ranker.workers import serve; serve()"
_COLLECTED_EVERY = 200
_PATIENCE = 0.2  # seconds until it is asked again whether anybody waits

Source = tuple[bytes, str, bytes]
"""Digest, path and content."""


def analysed(sources: Iterator[Source], size: int) -> Iterator[tuple[bytes, bytes]]:
    """Digest and facts of each source, in any order; ``size`` is the bytes of all. Ends its processes when it is left early."""
    if size < SMALL_BYTES:
        for digest, path, data in sources:
            check()
            yield digest, analyse(path, text_of(data))
        return
    results: queue.Queue[tuple[bytes, bytes] | None] = queue.Queue(maxsize=1000)
    lock, stopped = threading.Lock(), threading.Event()
    processes: dict[int, subprocess.Popen[bytes]] = {}

    def feed(number: int) -> None:
        process = processes[number] = _process()
        try:
            while not stopped.is_set():
                with lock:
                    source = next(sources, None)
                if source is None:
                    return
                digest, path, data = source
                facts = _ask(process, path, data)
                if stopped.is_set():
                    return
                if facts is None:
                    _end(process)
                    process = processes[number] = _process()
                    facts = analyse(path, "")
                results.put((digest, facts))
        finally:
            _end(process)
            results.put(None)

    count = min(MAX_PROCESSES, len(os.sched_getaffinity(0)))
    threads = [threading.Thread(target=feed, args=(number,), daemon=True) for number in range(count)]
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
        for process in list(processes.values()):
            process.kill()
        with suppress(queue.Empty):
            while True:  # a thread may wait for room
                results.get_nowait()


def text_of(data: bytes) -> str:
    """The text of a file."""
    return data.decode("utf-8-sig", "replace")


def serve() -> None:
    """The worker: read paths and contents from stdin and write the facts of each to stdout."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.disable()  # it walks every syntax tree as it grows: four times the time of a parse
    stdin, stdout, done = sys.stdin.buffer, sys.stdout.buffer, 0
    while (path := _receive(stdin)) is not None and (data := _receive(stdin)) is not None:
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        _send(stdout, analyse(path.decode("utf-8"), text_of(data)))
        signal.setitimer(signal.ITIMER_PROF, 0)
        done += 1
        if done % _COLLECTED_EVERY == 0:
            gc.collect()


def _process() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-c", _START, str(_ROOT)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, cwd="/")


def _ask(process: subprocess.Popen[bytes], path: str, data: bytes) -> bytes | None:
    assert process.stdin is not None  # noqa: S101
    assert process.stdout is not None  # noqa: S101
    try:
        _send(process.stdin, path.encode("utf-8"))
        _send(process.stdin, data)
    except BrokenPipeError:
        return None
    return _receive(process.stdout)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def _send(stream: IO[bytes], data: bytes) -> None:
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes | None:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    data = stream.read(_LENGTH.unpack(head)[0])
    return data if len(data) == _LENGTH.unpack(head)[0] else None
