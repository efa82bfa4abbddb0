"""Waiting for what other processes and threads do."""

import asyncio
import time


def wait_for(reached, seconds=60, words="it never came"):
    """Return once ``reached`` holds."""
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end, words
        time.sleep(0.05)


async def until(reached):
    """:func:`wait_for` beside an event loop."""
    await asyncio.to_thread(wait_for, reached)
