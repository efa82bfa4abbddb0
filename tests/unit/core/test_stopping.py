"""Work in a thread ends soon after its caller is cancelled, and not before."""

import asyncio
import threading

import pytest

from fusesearch.core.stopping import Stopped, check, checked, in_thread


async def test_work_that_is_waited_for_is_done_and_its_errors_are_raised():
    assert await in_thread(lambda a, b: sum(checked([a, b])), 1, 2) == 3
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda: 1 // 0)


async def test_a_cancelled_caller_ends_the_work_at_its_next_check():
    begun, left, ended = threading.Event(), threading.Event(), threading.Event()

    def work():
        begun.set()
        left.wait()
        try:
            check()
        except Stopped:
            ended.set()
            raise

    asking = asyncio.create_task(in_thread(work))
    await asyncio.to_thread(begun.wait)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    left.set()
    assert await asyncio.to_thread(ended.wait, 60)
