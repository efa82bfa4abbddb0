"""Vectors of texts, kept on disk under the digest of each text: one SQLite file for each encoder.

So another commit embeds only the functions that changed. The file is a cache: a damaged one is replaced, a vector of another
length is made again, and where the file cannot be written, nothing is kept. Any number of processes may use it at once.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fusesearch.core.stopping import checked
from fusesearch.localizers.swerank.encoder import Encoder

T = TypeVar("T")

LIMIT_BYTES = 4 << 30
"""Above it, the older half goes."""
_AT_ONCE = 500  # parameters of a query, texts between two writes
_WAIT_SECONDS = 30.0
_LOOKUP = "SELECT digest, vector FROM vectors WHERE digest IN ({})"
_SCHEMA = "CREATE TABLE IF NOT EXISTS vectors (number INTEGER PRIMARY KEY, digest BLOB UNIQUE, vector BLOB NOT NULL)"


def vectors_of(
    texts: Sequence[str], encoder: Encoder, folder: Path, on_progress: Callable[[int, int], None] = lambda done, total: None
) -> NDArray[np.float32]:
    """The encoder's vectors (texts, dimensions), each embedded unless ``folder`` has it.

    ``on_progress`` gets the number of texts embedded so far and of those to embed. Raises as :meth:`Encoder.embed`.
    """
    path = folder / f"{encoder.digest}.sqlite"
    keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
    known = _read(path, keys, 4 * encoder.dimensions)
    missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
    new = sorted(missing, key=lambda key: len(missing[key]))  # texts of one length share a batch
    for number, part in enumerate(checked(_parts(new))):
        on_progress(number * _AT_ONCE, len(new))
        vectors = encoder.embed([missing[key] for key in part])
        made = {key: vector.tobytes() for key, vector in zip(part, vectors, strict=True)}
        _write(path, made)
        known |= made
    return np.frombuffer(b"".join(known[key] for key in keys), dtype=np.float32).reshape(len(texts), encoder.dimensions)


def _read(path: Path, keys: Sequence[bytes], size: int) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    with suppress(OSError, sqlite3.OperationalError):
        try:
            with closing(_open(path)) as connection:
                for part in _parts(keys):
                    found.update(connection.execute(_LOOKUP.format(",".join("?" * len(part))), part))
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):  # a lock, a full disk, a folder to be read only
                raise
            path.unlink(missing_ok=True)
    return {key: vector for key, vector in found.items() if isinstance(vector, bytes) and len(vector) == size}


def _write(path: Path, vectors: dict[bytes, bytes]) -> None:
    with suppress(OSError, sqlite3.Error), closing(_open(path)) as connection, connection:
        connection.executemany("INSERT OR REPLACE INTO vectors (digest, vector) VALUES (?, ?)", vectors.items())
        pages, free, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
        if (pages - free) * size > LIMIT_BYTES:
            connection.execute("DELETE FROM vectors WHERE number <= (SELECT (min(number) + max(number)) / 2 FROM vectors)")


def _open(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=_WAIT_SECONDS)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(_SCHEMA)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + _AT_ONCE] for start in range(0, len(items), _AT_ONCE))


_CHAIN = re.compile(r"\[[0-9]+\](?:\s*>\s*\[[0-9]+\])+")
_NUMBER = re.compile(r"[0-9]+")
_MAX_DIGITS = 4


def windows(count: int, size: int, step: int) -> Iterator[tuple[int, int]]:
    """First place and end of each window over ``count`` places: the last ``size``, then ``step`` higher each time, up to the top.

    What a window puts first is thus in the next one, if ``step`` is smaller than ``size``.
    """
    end = count
    while end > 0:
        start = max(end - size, 0)
        yield start, end
        end = end - step if start else 0


def read_order(reply: str, count: int) -> list[int]:
    """The order of ``count`` candidates, numbered from 0, that a reply such as ``[3] > [1] > [2]`` gives; empty if it gives none.

    The first such chain counts, else all numbers of the reply. Repeated ones and others than candidates are left out, and
    candidates that it does not name follow in their order.
    """
    chain = _CHAIN.search(reply)
    said = (int(number) - 1 for number in _NUMBER.findall(chain[0] if chain else reply) if len(number) <= _MAX_DIGITS)
    named = list(dict.fromkeys(number for number in said if 0 <= number < count))
    return [*named, *(number for number in range(count) if number not in named)] if named else []
