"""Converts chat text to token ids, in one place for generation and training.

A conversation only grows: ids of earlier requests and of sampled tokens stay as they were, and only the text after them
(observations, role markers) is tokenized. So training sees exactly what was generated. This needs a
prefix-preserving chat template: the text of the first n messages is a prefix of the text of n + 1, whatever the assistant wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fusesearch.agents.models.base import Completion, Message
from fusesearch.core.errors import ArtifactError, DataError
from fusesearch.core.schema import Tokens, Usage

PLACEHOLDER = "x"


def render(
    tokenizer: Any, messages: Sequence[Message], tools: Sequence[dict[str, Any]], *, prompt: bool, thinks: bool = True
) -> str:
    """Chat text of ``messages``; with ``prompt`` it ends where the assistant's message starts.

    ``thinks`` is for models that may think first (Qwen3): False makes the message start after an empty thought.
    """
    rows = [{"role": message.role, "content": message.content} for message in messages]
    off = {} if thinks else {"enable_thinking": False}
    return tokenizer.apply_chat_template(rows, tools=list(tools) or None, tokenize=False, add_generation_prompt=prompt, **off)


def encode(tokenizer: Any, text: str) -> list[int]:
    """Token ids of ``text``, without added special tokens."""
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def prompt_ids(tokenizer: Any, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> list[int]:
    """Ids of the request that asks for the next assistant message.

    Starts from the recorded tokens of the last assistant message that has any, and tokenizes only what follows. Raises
    :class:`ArtifactError` for a chat template that leaves the tools out: the model would never hear of them.
    """
    last = max((i for i, message in enumerate(messages) if message.tokens is not None), default=None)
    if last is None:
        text = render(tokenizer, messages, tools, prompt=True, thinks=False)
        if tools and text == render(tokenizer, messages, [], prompt=True, thinks=False):
            raise ArtifactError(
                f"the chat template of {tokenizer.name_or_path} shows no tools: give it one that does, or describe the tools in "
                "the system prompt (agent.prompt: nano)"
            )
        return encode(tokenizer, text)
    recorded = messages[last].tokens
    assert recorded is not None  # noqa: S101 - narrowed above
    ids = recorded.prompt_ids + recorded.completion_ids
    if ids[-1] != tokenizer.eos_token_id:
        ids = [*ids, tokenizer.eos_token_id]
    shown = [*_held(messages[: last + 1]), *messages[last + 1 :]]
    return ids + encode(tokenizer, _since(tokenizer, shown, last, tools))


def sampled(tokenizer: Any, tokens: Tokens, ended: bool, seconds: float = 0.0) -> Completion:
    """The message that a model sampled as ``tokens``, whose last id ends it if it has ``ended``; else it was cut."""
    ids = tokens.completion_ids
    return Completion(
        text=tokenizer.decode(ids[: -1 if ended else None], skip_special_tokens=False),
        usage=Usage(prompt_tokens=len(tokens.prompt_ids), completion_tokens=len(ids), seconds=seconds),
        tokens=tokens,
        finish_reason="stop" if ended else "length",
    )


def training_ids(tokenizer: Any, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> tuple[list[int], list[int]]:
    """Ids of a whole conversation and its mask: 1 for assistant tokens with their end-of-turn, else 0."""
    ids: list[int] = []
    mask: list[int] = []
    shown = _held(messages)
    last: int | None = None
    for i, message in enumerate(messages):
        if message.role != "assistant":
            continue
        given = encode(tokenizer, _since(tokenizer, shown[:i], last, tools))
        sampled = [*encode(tokenizer, message.content), tokenizer.eos_token_id]
        ids += given + sampled
        mask += [0] * len(given) + [1] * len(sampled)
        last = i
    return ids, mask


def _held(messages: Sequence[Message]) -> list[Message]:
    """The messages with a placeholder for what the assistant wrote: templates rewrite thinking, and its own tokens are known."""
    return [row.model_copy(update={"content": PLACEHOLDER}) if row.role == "assistant" else row for row in messages]


def _since(tokenizer: Any, shown: Sequence[Message], last: int | None, tools: Sequence[dict[str, Any]]) -> str:
    """The text of a request after the end-of-turn token of message ``last``, the assistant's; all of it if there is none.

    Of earlier messages some templates show the empty thought and others do not.
    """
    text = render(tokenizer, shown, tools, prompt=True, thinks=False)
    if last is None:
        return text
    for thinks in (True, False):
        seen = render(tokenizer, shown[:last], tools, prompt=True, thinks=thinks) + PLACEHOLDER + tokenizer.eos_token
        if text.startswith(seen):
            return text[len(seen) :]
    raise DataError("the chat template is not prefix-preserving: it rewrites earlier messages")
