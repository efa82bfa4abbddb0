"""Text of code and of issues as the words that BM25 counts: identifiers, and their parts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from tasks.localizers.lexical.stopwords import STOPWORDS, word_set

MAX_WORD_CHARS = 80
TITLE = 2

IDENTIFIER = re.compile(r"[^\W\d]\w*")
_PART = re.compile(r"[^\W\d_]+|\d+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SHORT = word_set(
    """
    a an and any are as at but by can cls def do for has he how i if in is it its me my no not of off on or our out s self so t
    the to too was we what when where which while who why will with would yes you your
    """
)


def words_of(text: str) -> Iterator[str]:
    """Words in the order of the text: every identifier in lower case, then its parts where it has several.

    ``HttpResponse_base`` gives ``httpresponse_base``, ``http``, ``response``, ``base``. Numbers that stand alone give none.
    """
    for identifier in IDENTIFIER.findall(text):
        yield from split(identifier)


def query_of(issue: str) -> list[str]:
    """The words of an issue that say something about a place in code, each as often as it weighs.

    A word that comes n times weighs 1 + log2(n), rounded down, and ``TITLE`` more where the first line has it.
    """
    title = Counter(dict.fromkeys(_telling(issue.strip().partition("\n")[0]), TITLE))
    return [word for word, times in Counter(_telling(issue)).items() for _ in range(times.bit_length() + title[word])]


def _telling(text: str) -> Iterator[str]:
    return (word for word in words_of(text) if len(word) > 1 and word not in STOPWORDS and word not in _SHORT)


@lru_cache(maxsize=200_000)
def split(identifier: str) -> tuple[str, ...]:
    """An identifier in lower case and its parts: at underscores, inner capitals and digits."""
    identifier = identifier[:MAX_WORD_CHARS]
    parts = [part.lower() for piece in _PART.findall(identifier) for part in _HUMP.split(piece)]
    whole = identifier.lower().strip("_") or identifier.lower()
    return (whole,) if len(parts) < 2 else (whole, *parts)
