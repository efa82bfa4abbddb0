"""A listwise reranker over windows of a list, from its end to its top (SweRank section 4.2; Sun et al., 2023)."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
