"""Digests by which texts and patches are recognized as the same thing told twice."""

from __future__ import annotations

import hashlib
import re


def issue_digest(text: str) -> bytes:
    """Digest of an issue that case, punctuation, markup and white space do not change."""
    words = re.findall(r"\w+", text.casefold())
    return _digest(" ".join(words) if words else text)


def patch_digest(patch: str) -> bytes:
    """Digest of the lines a patch adds and removes, wherever they stand and however they are indented."""
    changed = re.findall(r"^([+-])(?!\+\+ |-- )(.*)$", patch, re.MULTILINE)
    lines = [f"{mark}{' '.join(text.split())}" for mark, text in changed if text.strip()]
    return _digest("\n".join(lines) if lines else patch)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
