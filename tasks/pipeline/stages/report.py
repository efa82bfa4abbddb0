"""Report: the page of tables and figures, and its numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tasks.core.config import Params
from tasks.core.storage import Progress, read_json
from tasks.pipeline import layout


def make_pages(params: Params, scratch: Path, progress: Progress) -> dict[str, Any]:
    """Write ``artifacts/report``; returns its flat figures."""
    from tasks.reporting.report import make_report

    make_report(params)
    progress(1, 1)
    return read_json(layout.metrics_path("report"))
