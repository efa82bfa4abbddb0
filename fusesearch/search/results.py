"""Formats results: rows cut to the limits, and a last line in parentheses that says what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

_NOTICE_CHARS = 80
_CONTROLS = {code: "\ufffd" for code in (*range(9), *range(10, 32), *range(127, 160), 0x2028, 0x2029)}


@dataclass(frozen=True)
class Outcome:
    """What one call gives: the text that the model sees, the entities it shows (``path`` or ``path:line``), or an error."""

    output: str
    entities: list[str] = field(default_factory=list)
    error: str | None = None

    @classmethod
    def failed(cls, reason: str) -> Outcome:
        """A call that failed, for the model to act on."""
        return cls(f"Error: {reason}", [], reason)


@dataclass(frozen=True)
class Hit:
    """One line of a result and its entity. With ``apart`` a line ``--`` precedes it, unless it is the first."""

    text: str
    entity: str
    apart: bool = False


def listing(rows: Sequence[Hit], most: int, chars: int, hint: str, complete: bool, notice: str = "") -> Outcome:
    """As many leading rows as fit into ``most`` rows and ``chars``. ``hint`` names the rows and says how to get fewer.

    ``complete`` is False if there were more rows than ``rows`` has. ``notice`` is a last line about all of them.
    """
    chars -= len(notice) + 1 if notice else 0
    kept = rows[: min(fitting(rows, chars), most)]
    lines = list(_lines(kept, chars))
    if len(kept) < len(rows) or not complete:
        lines.append(f"({len(kept)} of {'' if complete else 'over '}{len(rows)} {hint})")
    lines += [notice] * bool(notice)
    return Outcome("\n".join(lines), [row.entity for row in kept])


def fitting(rows: Sequence[Hit], chars: int) -> int:
    """How many leading rows fit into ``chars`` with room for a notice; at least one."""
    remaining = chars - _NOTICE_CHARS
    for count, row in enumerate(rows):
        remaining -= len(row.text) + 1 + 3 * row.apart
        if remaining < 0:
            return max(count, 1)
    return len(rows)


def excerpt(path: str, heading: str, lines: Sequence[tuple[int, str]], chars: int, more: str) -> Outcome:
    """Numbered lines of a file below a heading, as many as fit and at least one; ``more`` says how many others there are."""
    shown: list[str] = []
    remaining = chars - len(heading) - 80
    for _, line in lines:
        remaining -= len(line) + 1
        if remaining < 0 and shown:
            break
        shown.append(line)
    notice = [more.format(len(lines) - len(shown))] if len(shown) < len(lines) else []
    return Outcome("\n".join([heading, *shown, *notice]), [f"{path}:{number}" for number, _ in lines[: len(shown)]])


def cut(line: str, chars: int) -> str:
    """A line of a file, without control characters and trailing blanks, cut to ``chars`` with a mark."""
    line = line[: 8 * chars].rstrip() if len(line) > 8 * chars else line.rstrip()
    if not line.isprintable():
        line = line.translate(_CONTROLS)
    return line if len(line) <= chars else line[: chars - 1] + "…"


def shorten(text: str, chars: int) -> str:
    """``text`` cut to ``chars`` with a mark."""
    return text if len(text) <= chars else text[: chars - 1] + "…"


def _lines(rows: Sequence[Hit], chars: int) -> Iterator[str]:
    yield from (shorten(row.text, chars - _NOTICE_CHARS) for row in islice(rows, 1))
    for row in islice(rows, 1, None):
        if row.apart:
            yield "--"
        yield row.text
