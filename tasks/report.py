"""Report: the page of tables and figures, and its numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fusesearch.core.config import Params
from fusesearch.core.digests import digest
from fusesearch.core.storage import read_json
from fusesearch.reporting.inputs import Sources
from tasks.running.node import Job
from tasks.running.places import Places
from tasks.running.record import git

PAPER_STAGES = Path("experiments/reference/fusesearch_table2_stages.csv")


def make_pages(job: Job) -> dict[str, Any]:
    """Write the report; returns its flat figures."""
    make_report(job.params, job.places)
    job.progress(1, 1)
    return dict(read_json(job.output("metrics")))


def make_report(params: Params, places: Places) -> Path:
    """Write the report of these artifacts; returns the path of the Markdown page.

    Raises :class:`ArtifactError` for what is missing or corrupt.
    """
    from fusesearch.reporting.inputs import read_inputs
    from fusesearch.reporting.reproduction import write_report

    provenance = [("Git revision", revision(places.root)), ("Params", digest(params)[:16])]
    return write_report(read_inputs(sources(places)), params, places["report.markdown"].parent, provenance)


def sources(places: Places) -> Sources:
    """Where the report's artifacts lie."""
    return Sources(
        scores=places["evaluate.scores"],
        cells=places["evaluate.cells"],
        paper=places.root / PAPER_STAGES,
    )


def revision(root: Path) -> str:
    """The git commit of the project and its date, with ``+changes`` when tracked files differ from it."""
    commit = git("-C", str(root), "rev-parse", "HEAD")
    changes = "+changes" if git("-C", str(root), "status", "--porcelain", "-uno") else ""
    return f"{commit[:12]}{changes} of {git('-C', str(root), 'log', '-1', '--format=%cs')}" if commit else "unknown"
