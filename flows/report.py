"""Put the scores into tables beside the papers' tables, with intervals and plots."""

from typing import Any

from prefect import flow, task
from prefect.artifacts import create_link_artifact, create_markdown_artifact

from flows.failures import watched
from flows.stage import ONCE, Stage, run_stage, stage
from tasks.pipeline import layout
from tasks.pipeline.stages.report import make_pages


@task(name="make report", **ONCE)
def make_report(current: Stage) -> dict[str, Any]:
    """Markdown, HTML, plots and figures."""
    return make_pages(current.params, current.scratch, current.progress)


@flow(name="report", **watched("report"))
def report_flow() -> dict[str, Any]:
    """``artifacts/evaluate`` to ``artifacts/report``; the page is an artifact in Prefect and in MLflow."""
    with stage("report") as current:
        current.metrics = make_report(current)
        markdown = (layout.REPORT / "report.md").read_text(encoding="utf-8")
        create_markdown_artifact(markdown, key="report", description="Tables beside the paper's, with intervals")
        create_link_artifact((layout.REPORT / "report.html").resolve().as_uri(), key="report-page", link_text="report.html")
    return current.metrics


if __name__ == "__main__":
    run_stage(report_flow)
