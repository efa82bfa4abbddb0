"""Episodes with other names: the same word replaced by the same random or made-up word in issue, calls, observations and answer.

A small model that sees a dozen repositories again and again learns their names by heart; with names that change from
episode to episode it has to read and copy them, which is what it needs in a repository it has never seen. Texts of
finished episodes are renamed as a whole (SFT); in a rollout the model alone sees the new names (GRPO).
"""

from __future__ import annotations

import builtins
import keyword
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tasks.agents.models.base import Completion, Message, Model, Sampling
from tasks.search.tools import TOOLS

WORD = re.compile(r"(?<![A-Za-z\\])[A-Za-z]{3,}|(?<=\\[bnt])[A-Za-z]{3,}")

FORMAT = """name arguments content repo tool call response Locations Modify Related Context Error matches for lines
narrow the Traceback most recent File self expected
Expected returns should but not Example With instead got gives"""

NOT_KEPT = {"context"}  # of grep; no nano model gives it, and issues and code often say it
TOOL_WORDS = {word for tool in TOOLS.values() for word in WORD.findall(" ".join([tool.name, *tool.properties]))} - NOT_KEPT
KEPT = frozenset([*keyword.kwlist, *WORD.findall(" ".join(dir(builtins))), *WORD.findall(FORMAT), *TOOL_WORDS])


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
        return made if len(made) > 2 and made not in KEPT else draw.choice(self.words or self.pieces)


def renamed(messages: list[Message], draw: random.Random, pool: Names) -> list[Message]:
    """The conversation with every replaceable word exchanged, the same way everywhere; the system prompt stays."""
    return Exchange(draw, pool).messages(messages)


class Exchange:
    """New names for the words of one conversation, drawn as the words appear, and the way back."""

    def __init__(self, draw: random.Random, pool: Names) -> None:
        self._draw, self._pool = draw, pool
        self._names: dict[str, str] = {}  # lower-case word -> its new name
        self._new: dict[str, str] = {}  # word -> new name in the word's case
        self._old: dict[str, str] = {}  # the way back
        self._taken: set[str] = set()

    def messages(self, messages: list[Message]) -> list[Message]:
        """The messages under their new names; system prompts stay."""
        return [
            message if message.role == "system" else message.model_copy(update={"content": self.text(message.content)})
            for message in messages
        ]

    def text(self, text: str) -> str:
        """A text under the new names."""
        return WORD.sub(self._rename, text)

    def back(self, text: str) -> str:
        """A text written under the new names, under the old ones; words without an old name stay."""
        return WORD.sub(lambda match: self._old.get(match[0], match[0]), text)

    def _rename(self, match: re.Match[str]) -> str:
        word = match[0]
        if word not in KEPT and word not in self._new:
            if word.lower() not in self._names:
                self._names[word.lower()] = self._fresh()
            new = _cased(self._names[word.lower()], word)
            new = _cased(self._fresh(), word) if new in self._old else new  # as of fooBar, where there is foobar
            self._new[word], self._old[new] = new, word
        return self._new.get(word, word)

    def _fresh(self) -> str:
        """A name that no other word has, in no case."""
        new = self._pool.draw(self._draw)
        while new.lower() in self._taken or not KEPT.isdisjoint((new, new.upper(), _cased(new, "Xx"))):
            new += self._pool.draw(self._draw)
        self._taken.add(new.lower())
        return new


def _cased(new: str, word: str) -> str:
    """``new`` in capitals, with a capital or as it is, as ``word`` is written."""
    return new.upper() if word.isupper() else new[0].upper() + new[1:] if word[0].isupper() else new


class RenamedModel:
    """A model that sees a repository under exchanged names: its input is renamed, and its output gets the real names back.

    The tools, the answer and the score know the real names alone. The recorded token ids and log-probabilities are those
    of what the model saw and said.
    """

    def __init__(self, model: Model, exchange: Exchange) -> None:
        self.name = model.name
        self._model, self._exchange = model, exchange

    async def complete(self, messages: list[Message], tools: list[dict[str, Any]], sampling: Sampling) -> Completion:
        """One assistant message under the real names."""
        completion = await self._model.complete(self._exchange.messages(messages), tools, sampling)
        return completion.model_copy(update={"text": self._exchange.back(completion.text)})

    async def close(self) -> None:
        """The model behind it belongs to who made it."""
