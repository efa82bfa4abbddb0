"""Text made safe to print, to be written, or to be a name."""

from __future__ import annotations


def printable(text: str) -> str:
    """``text`` without characters that could steer a terminal: names of files and words of a model are not trusted."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def encodable(text: str) -> str:
    """``text`` with a question mark for each lone surrogate, which no file and no request can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def flat_name(repo: str) -> str:
    """``owner/name`` as the name of a file, ``owner__name``."""
    return repo.replace("/", "__")


def safe_name(text: str) -> str:
    """``text`` with only letters, digits, dots, dashes and underscores, as file systems and metric stores ask for."""
    return "".join(character if character.isalnum() or character in "._-" else "_" for character in text)
