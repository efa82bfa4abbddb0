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
from dataclasses import dataclass
from typing import Any

from tasks.agents.models.base import Message

WORD = re.compile(r"(?<![A-Za-z\\])[A-Za-z]{3,}|(?<=\\[bnt])[A-Za-z]{3,}")

FORMAT = """grep glob read_file read file name arguments pattern output_mode output mode content path start line end repo
tool call response Locations Modify Related Context Error matches for lines narrow the Traceback most recent File self expected
Expected returns should but not Example With instead got gives"""

KEPT = frozenset([*keyword.kwlist, *WORD.findall(" ".join(dir(builtins))), *WORD.findall(FORMAT)])


@dataclass(frozen=True)
class Names:
    """What new names are made of: whole words, and pieces of the tokenizer's vocabulary."""

    words: list[str]
    pieces: list[str]

    @classmethod
    def of(cls, texts: Iterable[str], tokenizer: Any) -> Names:
        """All lower-case words of the texts that may be replaced, and all letters-only entries of the vocabulary."""
        words = {word.lower() for text in texts for word in WORD.findall(text)} - KEPT
        pieces = {token for token in tokenizer.get_vocab() if token.isascii() and token.isalpha()}
        return cls(sorted(words), sorted(pieces))

    def draw(self, draw: random.Random) -> str:
        """A word, or, as often, one to three random pieces put together.

        The pieces see to it that every entry of the vocabulary is copied now and then: a small model copies no token
        that it never had to say, and the names of unseen repositories are full of those.
        """
        made = "".join(draw.choices(self.pieces, k=draw.randint(1, 3))) if draw.random() < 0.5 else ""
        return made if len(made) > 2 and made not in KEPT else draw.choice(self.words)


def renamed(messages: list[Message], draw: random.Random, pool: Names) -> list[Message]:
    """The conversation with every replaceable word exchanged, the same way everywhere; the system prompt stays."""
    names: dict[str, str] = {}

    def replace(match: re.Match[str]) -> str:
        word = match[0]
        if word in KEPT:
            return word
        new = names.setdefault(word.lower(), pool.draw(draw))
        return new.upper() if word.isupper() else new[0].upper() + new[1:] if word[0].isupper() else new

    return [
        message if message.role == "system" else message.model_copy(update={"content": WORD.sub(replace, message.content)})
        for message in messages
    ]
