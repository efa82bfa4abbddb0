"""Child processes end with their parent and with all that they started."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from fusesearch.core import child
from tests.fakes.waiting import wait_for

ROOT = Path(__file__).parents[2]
SLEEPS = [sys.executable, "-c", "import subprocess; subprocess.run(['sleep', '600'])"]
STUBBORN = [sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"]


def descendants(pid, count):
    """The processes below one, once there are ``count``."""
    wait_for(lambda: len(psutil.Process(pid).children(recursive=True)) >= count)
    return psutil.Process(pid).children(recursive=True)


def gone(processes):
    return all(not row.is_running() or row.status() == psutil.STATUS_ZOMBIE for row in processes)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_and_its_children_end_with_a_killed_parent(how):
    code = f"from fusesearch.core import child; child.start({SLEEPS!r}).wait()"
    parent = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT)})
    below = descendants(parent.pid, 3)
    parent.send_signal(how)
    parent.wait()
    wait_for(lambda: gone(below))


def test_a_child_keeps_its_exit_status_and_has_no_input():
    done = child.start([sys.executable, "-c", "import sys; print(sys.stdin.read()); sys.exit(7)"], stdout=subprocess.PIPE)
    assert done.stdout.read() == b"\n"
    assert done.wait() == 7
    done.communicate()


@pytest.mark.parametrize("seconds", [0, 0.1])
def test_the_whole_group_ends_even_if_it_ignores_the_first_signal(seconds):
    process = child.start(STUBBORN, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"1\n"
    below = descendants(process.pid, 1)
    child.end(process, seconds)
    assert process.returncode == -signal.SIGKILL
    wait_for(lambda: gone(below))
    process.communicate()


def test_a_child_that_ends_in_order_is_given_the_time():
    code = "import signal, sys, time; signal.signal(2, lambda *_: sys.exit(5)); print(1, flush=True); time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout.readline() == b"1\n"
    child.end(process, 60, signal.SIGINT)
    assert process.returncode == 5
    process.communicate()
    child.end(process)  # it has ended already


def waits():
    child.end_with_parent()
    time.sleep(600)


def starts_one():
    process = multiprocessing.get_context("spawn").Process(target=waits)
    process.start()
    process.join()


def test_a_process_of_multiprocessing_ends_with_its_killed_parent():
    parent = multiprocessing.get_context("spawn").Process(target=starts_one)
    parent.start()
    below = descendants(parent.pid, 1)
    parent.kill()
    parent.join()
    wait_for(lambda: gone(below))
