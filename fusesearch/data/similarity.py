"""When issues and patches count as the same, by digests, or as similar, by MinHash.

Near-duplicates are found by bands of MinHash signatures (Broder 1997; Leskovec et al., chapter 3).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from datasketch import MinHash
    from numpy.typing import NDArray

PERMUTATIONS = 128
MIN_SHINGLES = 4
"""Texts with fewer shingles are not compared, since they are alike by accident."""


def issue_digest(text: str) -> bytes:
    """Digest of an issue, ignoring case, punctuation, markup and white space."""
    words = _words(text)
    return _digest(" ".join(words) if words else text)


def patch_digest(patch: str) -> bytes:
    """Digest of the lines a patch adds and removes, ignoring their place and indentation."""
    lines = changed_lines(patch)
    return _digest("\n".join(lines) if lines else patch)


def issue_shingles(text: str) -> Iterator[str]:
    """All runs of three words of an issue, ignoring case, punctuation and markup."""
    words = _words(text)
    return (" ".join(words[start : start + 3]) for start in range(len(words) - 2))


def changed_lines(patch: str) -> list[str]:
    """The non-blank lines a patch adds and removes, with their mark and with white space collapsed."""
    changed = re.findall(r"^([+-])(?!\+\+ |-- )(.*)$", patch, re.MULTILINE)
    return [f"{mark}{' '.join(text.split())}" for mark, text in changed if text.strip()]


class Similar:
    """Finds out whether a text is similar to an earlier one: Jaccard similarity of their shingles at least ``threshold``.

    The similarity is estimated from 128 hash functions, with a standard error of 0.03 at 0.85. Takes 6 to 8 kB per added text.
    datasketch's ``MinHashLSH`` finds the same in 9,500 texts, with twice the memory in three times the time, and compares a text
    to all others of a band; this class takes the last 50.
    """

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._rows = _rows_per_band(threshold)
        self._bands: list[dict[bytes, int | list[int]]] = [{} for _ in range(PERMUTATIONS // self._rows)]
        self._signatures = bytearray()
        self._count = 0

    @cached_property
    def _empty(self) -> MinHash:
        from datasketch import MinHash

        return MinHash(PERMUTATIONS, seed=1, hashfunc=_hash)

    def signature(self, shingles: Iterable[str]) -> NDArray[np.uint32] | None:
        """The signature of a text; ``None`` if it is too short to be compared."""
        import numpy as np

        distinct = sorted(set(shingles))
        if len(distinct) < MIN_SHINGLES:
            return None
        sketch = self._empty.copy()
        sketch.update_batch([shingle.encode("utf-8", "surrogatepass") for shingle in distinct])
        return (np.asarray(sketch.hashvalues, dtype=np.uint64) & 0xFFFFFFFF).astype(np.uint32)

    def holds(self, signature: NDArray[np.uint32] | None) -> bool:
        """Whether an added text reaches the threshold."""
        if signature is None:
            return False
        return any(self._similarity(signature, number) >= self.threshold for number in self._candidates(signature))

    def add(self, signature: NDArray[np.uint32] | None) -> None:
        """Add a text by its signature; ``None`` is ignored."""
        if signature is None:
            return
        for band, key in zip(self._bands, self._keys(signature), strict=True):
            known = band.get(key)
            if known is None:
                band[key] = self._count
            else:
                band[key] = [*(known if isinstance(known, list) else [known]), self._count][-50:]
        self._signatures += signature.tobytes()
        self._count += 1

    def _candidates(self, signature: NDArray[np.uint32]) -> set[int]:
        found: set[int] = set()
        for band, key in zip(self._bands, self._keys(signature), strict=True):
            known = band.get(key)
            if known is not None:
                found.update(known if isinstance(known, list) else [known])
        return found

    def _keys(self, signature: NDArray[np.uint32]) -> list[bytes]:
        return [
            hashlib.blake2b(signature[start : start + self._rows].tobytes(), digest_size=8).digest()
            for start in range(0, len(self._bands) * self._rows, self._rows)
        ]

    def _similarity(self, signature: NDArray[np.uint32], number: int) -> float:
        import numpy as np

        known = np.frombuffer(self._signatures, dtype=np.uint32, count=PERMUTATIONS, offset=number * PERMUTATIONS * 4)
        return float(np.mean(known == signature))


def _rows_per_band(threshold: float) -> int:
    """The longest bands that still find texts 0.1 below the threshold, so that those at the threshold are almost never missed."""
    fits = [rows for rows in range(1, PERMUTATIONS + 1) if (rows / PERMUTATIONS) ** (1 / rows) <= threshold - 0.1]
    return max(fits, default=1)


def _hash(data: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=4).digest(), "big")


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
