"""Text of bytes, and text made safe to print, to be written, or to be a name."""

from __future__ import annotations

import codecs

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def marked(data: bytes) -> str | None:
    """The text of a file that begins with a byte-order mark, without it and with errors replaced; None without one."""
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), None)
    return data.decode(encoding, "replace").removeprefix("\ufeff") if encoding else None


def decoded(data: bytes) -> str:
    """The text of a file, as its byte-order mark says, else as UTF-8, with errors replaced."""
    text = marked(data) if data[:1] in b"\xef\xff\xfe\0" else None
    return data.decode("utf-8", "replace") if text is None else text


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


def duration(seconds: float) -> str:
    """``2 h 05 min``."""
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min" if minutes else f"{seconds:.0f} s"
