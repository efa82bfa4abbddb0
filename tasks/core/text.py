"""Text that is not trusted, made safe to print."""

from __future__ import annotations


def printable(text: str) -> str:
    """``text`` without characters that could steer a terminal: names of files and words of a model are not trusted."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)
