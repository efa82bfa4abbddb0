"""Children are limited in time and memory and cannot touch the outside."""

import mmap
import os
import platform
import random
import secrets
import socket
import subprocess
import sys
import time
import uuid

import numpy
import pytest
from numpy.lib.stride_tricks import as_strided

from fusesearch.data.sources.synthetic.sandbox import Sandbox, violations


@pytest.fixture
def sandbox():
    return Sandbox(cpu_budget=1e9, wall_seconds=5, memory_mb=300)


def test_what_takes_too_long_is_ended_and_counted_and_what_crashes_gives_nothing():
    box = Sandbox(1e9, 0.5, 300)
    assert box.run(lambda: time.sleep(30), 1) is None
    assert box.run(lambda: any(number < 0 for number in iter(int, 1)), 0.1) is None
    assert box.late == 2
    for crash in (
        lambda: os._exit(3),
        lambda: sys.exit(3),
        lambda: 1 / 0,
        lambda: lambda: 1,
        lambda: len(bytearray(2_000_000_000)),
    ):
        assert box.run(crash, 2) is None
    assert box.run(os.getpid, 1) not in (None, os.getpid())
    assert box.late == 2


def test_memory_that_the_parent_freed_is_not_available_to_a_child():
    with mmap.mmap(-1, 3_000_000_000):
        sandbox = Sandbox(cpu_budget=1e9, wall_seconds=5, memory_mb=300)
    assert sandbox.run(lambda: len(bytearray(2_000_000_000)), 2) is None


def test_files_processes_and_sockets_are_refused_and_noted(sandbox, tmp_path):
    target = tmp_path / "x"
    target.write_text("kept")

    def refused(action):
        def run():
            try:
                action()
            except OSError:
                return list(violations)
            return []

        return sandbox.run(run, 1)

    assert refused(lambda: open(tmp_path / "new", "w"))  # noqa: SIM115
    assert refused(lambda: target.unlink())
    assert refused(lambda: subprocess.run(["true"], check=False))
    assert refused(lambda: socket.create_connection(("127.0.0.1", 9)))
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert target.read_text() == "kept"


def test_the_budget_counts_processor_time_of_children(sandbox):
    before = sandbox.used()

    def work():
        started = time.process_time()
        while time.process_time() - started < 0.2:
            pass
        return 1

    assert sandbox.run(work, 2) == 1
    assert sandbox.used() - before >= 0.15


def test_random_numbers_are_the_same_in_every_child(sandbox):
    def draw():
        return random.random(), secrets.token_hex(4), str(uuid.uuid4()), os.urandom(3)

    assert sandbox.run(draw, 1) == sandbox.run(draw, 1)


def test_empty_arrays_hold_nothing_of_earlier_ones(sandbox):
    def left_over():
        numpy.full(5, 7.0)
        return numpy.empty(5).tolist(), numpy.empty_like(numpy.arange(3)).tolist(), numpy.empty(1, dtype=object).tolist()

    assert sandbox.run(left_over, 1) == ([0.0] * 5, [0] * 3, [None])


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc fills memory")
@pytest.mark.parametrize("count", [4, 40, 400])
def test_what_lies_behind_an_array_differs_in_other_memory_and_what_lies_in_it_does_not(sandbox, count):
    def behind():
        array = numpy.arange(float(count))
        return as_strided(array, (2 * count,), (8,)).tobytes()

    first, second = sandbox.run(behind, 1), sandbox.run(behind, 1, other_memory=True)
    assert first[: 8 * count] == second[: 8 * count]
    assert first != second
