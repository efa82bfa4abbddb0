"""Languages other than Python: the one door to their rules, which lie in :mod:`fusesearch.code.other`.

Python is read without them. :func:`reader_of` has the only import of that package in ``fusesearch/code``: from
:mod:`fusesearch.code.functions` all ways to it lead through this file, so the digests of a stage whose data are Python can leave
out ``fusesearch/code/other/``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from fusesearch.code.spans import FunctionSpan, is_python


@dataclass(frozen=True)
class Syntax:
    """Functions of a source in order of their first line, and its lines without comments and trailing blanks.

    ``unread``: first and last line of each part that could not be parsed.
    """

    spans: list[FunctionSpan]
    code: list[str]
    unread: list[tuple[int, int]]


class Reader(Protocol):
    """Reads sources in one language."""

    @property
    def name(self) -> str:
        """The language in one word, such as ``cpp``."""

    @property
    def title(self) -> str:
        """The language as people write it, such as ``C++``."""

    def spans(self, source: str) -> list[FunctionSpan]:
        """The functions alone, in half the time: none where :meth:`syntax` gives ``None``."""

    def syntax(self, source: str) -> Syntax | None:
        """The syntax of a source; ``None`` if it is too long or exceeds a limit of the parser."""


def reader_of(path: str, source: str = "") -> Reader | None:
    """What reads a file that is not Python, by its suffix; None if its language is unknown.

    ``.h`` is C++ if ``source`` has syntax that C lacks.
    """
    from fusesearch.code.other import reader  # this and no other import leads to the rules of other languages

    return reader(path, source)


def language_of(path: str, source: str = "") -> str:
    """The language of a file in one word, ``python`` or a reader's name; empty if it is unknown."""
    reader = None if is_python(path) else reader_of(path, source)
    return "python" if is_python(path) else reader.name if reader else ""
