"""Languages other than Python, read with tree-sitter. :mod:`fusesearch.code.reader` is the way in.

A new language is a row of the table in :mod:`fusesearch.code.other.languages`, its grammar in ``pyproject.toml``, and what
:mod:`fusesearch.code.kinds` and :mod:`fusesearch.code.naming` say of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from fusesearch.code.other.languages import LANGUAGES, language_of
from fusesearch.code.reader import Syntax
from fusesearch.code.spans import FunctionSpan


@dataclass(frozen=True)
class Grammar:
    """A :class:`~fusesearch.code.reader.Reader` by the row ``name`` of the table."""

    name: str

    @property
    def title(self) -> str:
        """The language as people write it."""
        return LANGUAGES[self.name].title

    def spans(self, source: str) -> list[FunctionSpan]:
        """The functions alone."""
        from fusesearch.code.other import parsing

        return parsing.read_spans(source, self.name)

    def syntax(self, source: str) -> Syntax | None:
        """Functions, lines without comments, and what could not be parsed."""
        from fusesearch.code.other import parsing

        return parsing.read_syntax(source, self.name)


def reader(path: str, source: str = "") -> Grammar | None:
    """See :func:`fusesearch.code.reader.reader_of`."""
    language = language_of(path, source)
    return Grammar(language) if language else None
