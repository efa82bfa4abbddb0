"""Quality against cost as SVG, on a logarithmic scale, in colours that both a light and a dark page can stand behind."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10
from typing import NamedTuple

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 410, 60, 150, 56, 52
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#444}.grid{stroke:#8886;stroke-width:1}.bar{stroke:#0969da;stroke-width:2}"
    ".dot{fill:#0969da}.free .bar{stroke:#1a7f37}.free .dot{fill:#1a7f37}.title{font-weight:600}"
    "@media(prefers-color-scheme:dark){text{fill:#ccc}.bar{stroke:#58a6ff}.dot{fill:#58a6ff}"
    ".free .bar{stroke:#3fb950}.free .dot{fill:#3fb950}}"
)


class Point(NamedTuple):
    """A system: seconds an issue, its figure with interval in percent, a note below its name, and whether it asks a model."""

    name: str
    seconds: float
    mean: float
    low: float
    high: float
    note: str = ""
    model: bool = True


def quality_cost(points: Sequence[Point], title: str, figure: str) -> str:
    """The chart; a label stands to the right of its point, where the margin has room for the last."""
    first = floor(log10(min(point.seconds for point in points)))
    last = ceil(log10(max(point.seconds for point in points)))
    bottom, top = 10 * floor(min(point.low for point in points) / 10), 10 * ceil(max(point.high for point in points) / 10)

    def x(seconds: float) -> float:
        return LEFT + (log10(seconds) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (value - bottom) / (top - bottom) * (HEIGHT - TOP - BOTTOM)

    parts = [_text(LEFT, 22, title, "start", "title"), _text(WIDTH / 2, HEIGHT - 10, "seconds an issue", "middle")]
    for power in range(first, last + 1):
        parts += [_line(x(10**power), TOP, x(10**power), HEIGHT - BOTTOM, "grid")]
        parts += [_text(x(10**power), HEIGHT - BOTTOM + 18, f"{10**power:g}", "middle")]
    for value in range(bottom, top + 1, 10):
        parts += [_line(LEFT, y(value), WIDTH - RIGHT, y(value), "grid"), _text(LEFT - 8, y(value) + 4, str(value), "end")]
    parts += [_text(LEFT - 8, TOP - 12, figure, "start")]
    for point in points:
        across, up = x(point.seconds), y(point.mean)
        parts += [
            f'<g class="{"" if point.model else "free"}">',
            _line(across, y(point.low), across, y(point.high), "bar"),
            f'<circle class="dot" cx="{across:.1f}" cy="{up:.1f}" r="5"/></g>',
            _text(across + 9, up - 4, point.name, "start", "title"),
            _text(across + 9, up + 12, point.note, "start"),
        ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"><title>{escape(title)}</title>'
    return "\n".join([head, f"<style>{_STYLE}</style>", *parts, "</svg>"]) + "\n"


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
