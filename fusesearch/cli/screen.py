"""Text for a terminal of any width, with colour or without."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

LEAST_WIDTH = 40
SIGNATURE_CHARS = 110
"""Of a signature where no screen limits it."""


@dataclass(frozen=True)
class Screen:
    """Where text is shown: ``width`` in columns, None for a file or pipe, whose lines are as long as they are."""

    width: int | None = None
    colour: bool = False

    def styled(self, text: str, **style: bool) -> str:
        """``text`` in a style (``bold``, ``dim``), if the screen has any."""
        if not self.colour:
            return text
        import typer

        return typer.style(text, **style)


PLAIN = Screen()


def screen() -> Screen:
    """That of stdout. No colour unless it is a terminal, nor if ``NO_COLOR`` (no-color.org) or ``TERM=dumb`` is set."""
    if not sys.stdout.isatty():
        return PLAIN
    import shutil

    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Screen(max(LEAST_WIDTH, shutil.get_terminal_size().columns), colour)


def wrapped(text: str, screen: Screen, indent: str = "") -> list[str]:
    """The lines of ``text``, none if it is empty: as wide as the screen, but that no word is cut."""
    if screen.width is None or not text:
        return [indent + text] if text else []
    import textwrap

    return textwrap.wrap(
        text, screen.width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def shortened(text: str, screen: Screen, indent: str = "") -> str:
    """``text`` on one line: what does not fit is left out from a blank on, and ``…`` says so."""
    room = (screen.width - len(indent)) if screen.width else SIGNATURE_CHARS
    if len(text) <= room:
        return text
    kept = text[: room - 1].rpartition(" ")[0] or text[: room - 1]
    return f"{kept.rstrip()}…"
