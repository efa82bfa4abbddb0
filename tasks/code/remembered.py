"""Function spans remembered by content: snapshots of one repository share nearly all of their files."""

from __future__ import annotations

import hashlib
import threading

from cachetools import LRUCache, cached

from tasks.code.languages import language_of
from tasks.code.spans import FunctionSpan
from tasks.code.structure import function_spans, is_python

FILES = 30_000
"""How many files' spans are held, the least recently used forgotten first: some 100 MB when full."""


def _key(source: str, path: str) -> tuple[str, bytes]:
    language = "python" if is_python(path) else language_of(path, source) or ""
    return language, hashlib.blake2b(source.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@cached(LRUCache(maxsize=FILES), key=_key, lock=threading.Lock())
def spans_of(source: str, path: str) -> tuple[FunctionSpan, ...]:
    """As :func:`~tasks.code.structure.function_spans`, for any number of threads."""
    return tuple(function_spans(source, path))
