"""When issues and patches count as the same, by digests, or as similar, by MinHash.

Near-duplicates are found by bands of MinHash signatures (Broder 1997; Leskovec et al., chapter 3).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datasketch import LeanMinHash

PERMUTATIONS = 128
MIN_SHINGLES = 4
"""Texts with fewer shingles are not compared, since chance makes them similar."""


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

    ``shingles`` gives those of a text. Estimated from 128 hash functions, with a standard error of 0.03 at 0.85.
    """

    def __init__(self, threshold: float, shingles: Callable[[str], Iterable[str]]) -> None:
        from datasketch import MinHash, MinHashLSH

        self.threshold, self._shingles = threshold, shingles
        self.signature = lru_cache(maxsize=1)(self._signature)  # `add` follows `holds`
        rows = _rows_per_band(threshold)
        self._bands = MinHashLSH(num_perm=PERMUTATIONS, params=(PERMUTATIONS // rows, rows), hashfunc=partial(_hash, size=8))
        self._signatures: list[LeanMinHash] = []
        self._empty = MinHash(PERMUTATIONS, seed=1, hashfunc=lambda data: int.from_bytes(_hash(data, 4), "big"))

    def _signature(self, text: str) -> LeanMinHash | None:
        """The signature of a text; ``None`` if it is too short to be compared."""
        from datasketch import LeanMinHash

        distinct = sorted(set(self._shingles(text)))
        if len(distinct) < MIN_SHINGLES:
            return None
        sketch = self._empty.copy()
        sketch.update_batch([shingle.encode("utf-8", "surrogatepass") for shingle in distinct])
        return LeanMinHash(sketch)

    def holds(self, text: str) -> bool:
        """Whether an added text reaches the threshold."""
        signature = self.signature(text)
        return signature is not None and any(
            signature.jaccard(self._signatures[number]) >= self.threshold for number in self._bands.query(signature)
        )

    def add(self, text: str) -> None:
        """Add a text, unless it is too short to be compared."""
        if (signature := self.signature(text)) is not None:
            self._bands.insert(len(self._signatures), signature, check_duplication=False)
            self._signatures.append(signature)


def _rows_per_band(threshold: float) -> int:
    """The longest bands that still find texts 0.1 below the threshold, so that those at the threshold are almost never missed."""
    fits = [rows for rows in range(1, PERMUTATIONS + 1) if (rows / PERMUTATIONS) ** (1 / rows) <= threshold - 0.1]
    return max(fits, default=1)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _digest(text: str) -> bytes:
    return _hash(text.encode("utf-8", "surrogatepass"), 16)


def _hash(data: bytes, size: int) -> bytes:
    return hashlib.blake2b(data, digest_size=size).digest()
