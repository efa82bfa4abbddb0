"""One order of files and functions, and the length of a ranking made without a model."""

from __future__ import annotations

from collections.abc import Iterable

FILES, FUNCTIONS = 5, 10
"""As deep as the protocols look (Recall@5 and nDCG@5; Acc@10 of functions)."""


def in_order(files: Iterable[str], functions: Iterable[str]) -> list[str]:
    """Entities that preserve the order of both ``files`` and ``functions`` (entities).

    A function takes the place of its file's entry. If a function of another file ranks higher, the file keeps an entry of its
    own and the function comes later.
    """
    remaining = list(files)
    found: list[str] = []
    for entity in functions:
        path = entity.partition("::")[0]
        while path in remaining and remaining[0] != path:
            found.append(remaining.pop(0))
        if path in remaining:
            remaining.remove(path)
        found.append(entity)
    return [*found, *remaining]
