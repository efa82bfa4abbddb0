"""What would differ from one run to the next, held still: addresses of objects and random numbers."""

from __future__ import annotations

import ctypes
import os
import random
import sys
from typing import Any

_NO_RANDOM_ADDRESSES = 0x0040000
_ASK = 0xFFFFFFFF


def fix_addresses() -> bool:
    """Start this process again with addresses that are always the same (Linux); whether they are so now.

    Sets of classes and functions are ordered by address, so examples may take another course at other addresses. To be called
    before anything was read from stdin. Where the system refuses, the process goes on as it is.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None)
    persona = libc.personality(_ASK)
    if persona == -1 or persona & _NO_RANDOM_ADDRESSES:
        return persona != -1
    if libc.personality(persona | _NO_RANDOM_ADDRESSES) == -1 or not libc.personality(_ASK) & _NO_RANDOM_ADDRESSES:
        return False
    os.execv(sys.executable, sys.orig_argv)  # noqa: S606  this very process


def fix_random_numbers() -> None:
    """Make every source of random numbers give the same ones each time: ``random``, ``secrets``, ``uuid``, ``numpy.random``.

    To be called before packages are imported: many make a generator at import, which Python seeds from the system.
    """
    random.Random.seed = _seed  # type: ignore[method-assign]
    random.seed()
    source = random.Random()
    os.urandom = source.randbytes
    setattr(random, "_urandom", source.randbytes)  # noqa: B010  what SystemRandom and with it secrets read from
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(0)


_SEED = random.Random.seed


def _seed(self: random.Random, a: Any = None, version: int = 2) -> None:
    _SEED(self, 0 if a is None else a, version)
