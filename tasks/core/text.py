"""Text that is not trusted, made safe to print; names of repositories as names of files."""

from __future__ import annotations


def printable(text: str) -> str:
    """``text`` without characters that could steer a terminal: names of files and words of a model are not trusted."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def flat_name(repo: str) -> str:
    """``owner/name`` as the name of a file, ``owner__name``."""
    return repo.replace("/", "__")
