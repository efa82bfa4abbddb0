"""Waiting for what other processes and threads do."""

import time


def wait_for(reached, seconds=60, words="it never came"):
    """Return once ``reached`` holds."""
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end, words
        time.sleep(0.05)
