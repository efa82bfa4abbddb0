"""Episodes with other names: each word is replaced by one random or made-up word in issue, calls, observations and answer.

A small model that keeps seeing the same dozen repositories memorizes their names. With names that change from episode to episode
it has to read and copy them, as in a repository that it has never seen. Texts of finished episodes are renamed completely (SFT);
in a rollout only the model sees the new names (GRPO).
"""

from __future__ import annotations

import builtins
import keyword
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fusesearch.agents.models.base import Completion, Message, Model, Sampling
from fusesearch.evaluation.environments import ENVIRONMENTS, Environment

WORD = re.compile(r"(?<![A-Za-z\\])[A-Za-z]{3,}|(?<=\\[bnt])[A-Za-z]{3,}")

FORMAT = """name arguments content repo tool call response Locations Modify Related Context Error matches for lines
narrow the Traceback most recent File self expected
Expected returns should but not Example With instead got gives"""

NOT_KEPT = {"context"}  # an argument of grep that nano models do not use, but a frequent word in issues and code


def kept_words(environment: Environment) -> frozenset[str]:
    """The words that no episode of ``environment`` exchanges: Python's, those of the format, and the tools' own names."""
    functions = [tool["function"] for tool in environment.spec.schemas()]
    names = " ".join(name for function in functions for name in [function["name"], *function["parameters"]["properties"]])
    of_tools = set(WORD.findall(names)) - NOT_KEPT
    asked = ["python", "Answer"] if environment.questions else []
    return frozenset([*keyword.kwlist, *WORD.findall(" ".join(dir(builtins))), *WORD.findall(FORMAT), *of_tools, *asked])


KEPT = kept_words(ENVIRONMENTS["fusesearch"])


@dataclass(frozen=True)
class Names:
    """Material for new names: whole words, and pieces of the tokenizer's vocabulary; and the words that stay."""

    words: list[str]
    pieces: list[str]
    kept: frozenset[str] = KEPT

    @classmethod
    def of(cls, texts: Iterable[str], tokenizer: Any, kept: frozenset[str] = KEPT) -> Names:
        """All replaceable words of the texts in lower case, and all entries of the vocabulary that have only letters."""
        words = {word.lower() for text in texts for word in WORD.findall(text)} - kept
        pieces = {token for token in tokenizer.get_vocab() if token.isascii() and token.isalpha()}
        return cls(sorted(words), sorted(pieces), kept)

    def draw(self, draw: random.Random) -> str:
        """A word or, equally often, one to three random pieces joined together.

        With the pieces, every entry of the vocabulary gets copied now and then. A small model cannot copy a token that it never
        had to write, and names in unseen repositories are full of such tokens.
        """
        made = "".join(draw.choices(self.pieces, k=draw.randint(1, 3))) if draw.random() < 0.5 else ""
        return made if len(made) > 2 and made not in self.kept else draw.choice(self.words or self.pieces)


def renamed(messages: list[Message], draw: random.Random, pool: Names) -> list[Message]:
    """The conversation with every replaceable word exchanged consistently, except in the system prompt."""
    return Exchange(draw, pool).messages(messages)


class Exchange:
    """New names for the words of one conversation, drawn as the words appear, and their reverse mapping."""

    def __init__(self, draw: random.Random, pool: Names) -> None:
        self._draw, self._pool, self._kept = draw, pool, pool.kept
        self._names: dict[str, str] = {}  # lower-case word -> its new name
        self._new: dict[str, str] = {}  # word -> new name in the word's case
        self._old: dict[str, str] = {}  # the reverse mapping
        self._taken: set[str] = set()

    def messages(self, messages: list[Message]) -> list[Message]:
        """The messages with new names; system prompts stay the same."""
        return [
            message if message.role == "system" else message.model_copy(update={"content": self.text(message.content)})
            for message in messages
        ]

    def text(self, text: str) -> str:
        """A text with new names."""
        return WORD.sub(self._rename, text)

    def back(self, text: str) -> str:
        """A text with new names changed back to the old ones; other words stay the same."""
        return WORD.sub(lambda match: self._old.get(match[0], match[0]), text)

    def _rename(self, match: re.Match[str]) -> str:
        word = match[0]
        if word not in self._kept and word not in self._new:
            if word.lower() not in self._names:
                self._names[word.lower()] = self._fresh()
            new = _cased(self._names[word.lower()], word)
            new = _cased(self._fresh(), word) if new in self._old else new  # such as fooBar when foobar exists
            self._new[word], self._old[new] = new, word
        return self._new.get(word, word)

    def _fresh(self) -> str:
        """A name that no other word has, ignoring case."""
        new = self._pool.draw(self._draw)
        while new.lower() in self._taken or not self._kept.isdisjoint((new, new.upper(), _cased(new, "Xx"))):
            new += self._pool.draw(self._draw)
        self._taken.add(new.lower())
        return new


def _cased(new: str, word: str) -> str:
    """``new`` in the case of ``word``: upper case, capitalized or unchanged."""
    return new.upper() if word.isupper() else new[0].upper() + new[1:] if word[0].isupper() else new


class RenamedModel:
    """A model that sees a repository with exchanged names: its input is renamed and its output changed back.

    Tools, answer and score only see the real names. The recorded token ids and log-probabilities are those of the text that the
    model saw and wrote.
    """

    def __init__(self, model: Model, exchange: Exchange) -> None:
        self.name = model.name
        self._model, self._exchange = model, exchange

    async def complete(self, messages: list[Message], tools: list[dict[str, Any]], sampling: Sampling) -> Completion:
        """One assistant message with the real names."""
        completion = await self._model.complete(self._exchange.messages(messages), tools, sampling)
        return completion.model_copy(update={"text": self._exchange.back(completion.text)})

    async def close(self) -> None:
        """Does nothing: the wrapped model belongs to its creator."""
