"""What a page is made of. Texts are plain text, never markup: whoever shows them escapes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tasks.core.errors import FusesearchError
from tasks.reporting.episodes.page import Tile
from tasks.reporting.table import Table

if TYPE_CHECKING:
    from dashboards.charts import Chart


@dataclass(frozen=True)
class Heading:
    """Begins a part of a page; ``level`` 2 or 3."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Notice:
    """Something is not there, and what to do about it (``missing``), or a caution (``note``)."""

    text: str
    kind: Literal["missing", "note"] = "missing"


@dataclass(frozen=True)
class Tiles:
    """Figures side by side."""

    tiles: Sequence[Tile]


@dataclass(frozen=True)
class Printed:
    """A table that is read as it stands, such as figures with intervals beside the paper's rows."""

    table: Table


@dataclass(frozen=True)
class Records:
    """A long table that is sorted and searched; a dict per row, numbers as numbers."""

    caption: str
    rows: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Plot:
    """A chart; ``alt`` says in a sentence what is seen, for those who do not see it."""

    chart: Chart
    caption: str
    alt: str


@dataclass(frozen=True)
class Picture:
    """A figure that lies on disk as SVG of our own making."""

    svg: str
    caption: str


@dataclass(frozen=True)
class Quote:
    """Text of somebody else as it is: an issue, a patch, an answer."""

    heading: str
    text: str


@dataclass(frozen=True)
class Details:
    """Blocks that are opened when wanted."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Columns:
    """Blocks side by side."""

    parts: Sequence[Sequence[Block]]


@dataclass(frozen=True)
class Frame:
    """A document of its own inside the page; ``link`` is its file in an export, "" where it has none."""

    html: str
    title: str
    link: str = ""


@dataclass(frozen=True)
class Links:
    """Other pages of an export, as (name, address)."""

    caption: str
    links: Sequence[tuple[str, str]]


Block = Heading | Text | Notice | Tiles | Printed | Records | Plot | Picture | Quote | Details | Columns | Frame | Links


def attempt(build: Callable[[], Sequence[Block]]) -> list[Block]:
    """The blocks that ``build`` makes, or one notice of what it lacks: a part that cannot be shown hides no other."""
    try:
        return list(build())
    except FusesearchError as error:
        return [Notice(str(error))]
