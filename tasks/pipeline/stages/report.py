"""Report: the page of tables and figures, and its numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tasks.core.config import Params
from tasks.core.digests import digest
from tasks.core.storage import Progress, read_json
from tasks.pipeline import layout
from tasks.pipeline.record import git
from tasks.reporting.inputs import Sources

PAPER_STAGES = Path("experiments/reference/fusesearch_table2_stages.csv")


def make_pages(params: Params, scratch: Path, progress: Progress) -> dict[str, Any]:
    """Write ``artifacts/report``; returns its flat figures."""
    make_report(params)
    progress(1, 1)
    return read_json(layout.metrics_path("report"))


def make_report(params: Params, root: Path = Path()) -> Path:
    """Write the report of the artifacts below ``root``; returns the path of the Markdown page.

    Raises :class:`ArtifactError` for what is missing or corrupt.
    """
    from tasks.reporting.inputs import read_inputs
    from tasks.reporting.reproduction import write_report

    provenance = [("Git revision", revision(root)), ("Params", digest(params)[:16])]
    return write_report(read_inputs(sources(root)), params, root / layout.REPORT, provenance)


def sources(root: Path) -> Sources:
    """Where the report's artifacts lie."""
    return Sources(
        scores=root / layout.SCORES,
        trajectories=root / layout.TRAJECTORIES,
        paper=root / PAPER_STAGES,
        grpo={arm: root / layout.curve_path(layout.TRAINED_BY[arm]) for arm in ("sft+rl", "rl")},
        sft=root / layout.curve_path("sft"),
        mined=root / layout.MINE_TABLE,
        drops={
            "Filter": root / layout.FILTER_DROPS,
            "Split": root / layout.metrics_path("split"),
            "Select": root / layout.SELECT_DROPS,
        },
        plane=root / layout.SELECT_PLANE,
    )


def revision(root: Path) -> str:
    """The git commit of the project, with ``+changes`` when tracked files differ from it."""
    commit = git("-C", str(root), "rev-parse", "HEAD")
    changes = "+changes" if git("-C", str(root), "status", "--porcelain", "-uno") else ""
    return f"{commit[:12]}{changes}" if commit else "unknown"
