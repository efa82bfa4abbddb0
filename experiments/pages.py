"""Parts of the pages of studies: paragraphs from ``text.md``, and cells of figures as ``results.json`` has them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fusesearch.core.storage import read_text
from fusesearch.reporting.table import ABSENT


def texts_of(folder: Path) -> dict[str, list[str]]:
    """The paragraphs below each heading of ``text.md`` in the folder of a study."""
    found: dict[str, list[str]] = {}
    for part in read_text(folder / "text.md").split("## ")[1:]:
        title, _, body = part.partition("\n")
        found[title.strip()] = [
            " ".join(paragraph.split("\n")) if paragraph[0] != "-" else paragraph for paragraph in body.strip().split("\n\n")
        ]
    return found


def difference_cell(row: Mapping[str, Any] | None) -> str:
    """``+1.2 [-0.3, +2.7] p=0.120``, in points; a dash for a difference without an interval."""
    if row is None or row["low"] is None:
        return ABSENT
    p = "" if row["p_holm"] is None else f" p={row['p_holm']:.3f}" if row["p_holm"] >= 0.001 else " p<0.001"
    return f"{100 * row['estimate']:+.1f} [{100 * row['low']:+.1f}, {100 * row['high']:+.1f}]{p}"


def interval_cell(found: Mapping[str, Any] | None) -> str:
    """``51.2 [48.0, 54.4]``, in percent; a dash for ``None``."""
    if found is None:
        return ABSENT
    text = percent(found["estimate"])
    return text if found["low"] is None else f"{text} [{percent(found['low'])}, {percent(found['high'])}]"


def percent(value: float) -> str:
    """``51.2``, of a share."""
    return f"{100 * value:.1f}"
