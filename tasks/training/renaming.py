"""Episodes with other names: the same word replaced by the same random or made-up word in issue, calls, observations and answer.

A small model that sees a dozen repositories again and again learns their names by heart; with names that change from
episode to episode it has to read and copy them, which is what it needs in a repository it has never seen.
"""

from __future__ import annotations

import builtins
import keyword
import random
import re
from collections.abc import Iterable

from tasks.agents.models.base import Message

WORD = re.compile(r"(?<![A-Za-z\\])[A-Za-z]{3,}|(?<=\\[bnt])[A-Za-z]{3,}")

FORMAT = """grep glob read_file read file name arguments pattern output_mode output mode content path start line end repo
tool call response Locations Modify Related Context Error matches for lines narrow the Traceback most recent File self expected
Expected returns should but not Example With instead got gives"""

KEPT = frozenset([*keyword.kwlist, *WORD.findall(" ".join(dir(builtins))), *WORD.findall(FORMAT)])


def word_pool(texts: Iterable[str]) -> list[str]:
    """All lower-case words of the texts that may be replaced, sorted: what :func:`renamed` draws from."""
    return sorted({word.lower() for text in texts for word in WORD.findall(text)} - KEPT)


def renamed(messages: list[Message], draw: random.Random, pool: list[str]) -> list[Message]:
    """The conversation with every replaceable word exchanged, the same way everywhere; the system prompt stays."""
    names: dict[str, str] = {}

    def replace(match: re.Match[str]) -> str:
        word = match[0]
        if word in KEPT or not pool:
            return word
        new = names.setdefault(word.lower(), new_word(draw, pool))
        return new.upper() if word.isupper() else new.capitalize() if word[0].isupper() else new

    return [
        message if message.role == "system" else message.model_copy(update={"content": WORD.sub(replace, message.content)})
        for message in messages
    ]


def new_word(draw: random.Random, pool: list[str]) -> str:
    """A word of the pool, or, as often, the head of one and the tail of another: a word whose end cannot be guessed."""
    word = draw.choice(pool)
    if draw.random() < 0.5:
        return word
    other = draw.choice(pool)
    made = word[: draw.randint(2, 6)] + other[-draw.randint(2, 6) :]
    return word if made in KEPT else made
