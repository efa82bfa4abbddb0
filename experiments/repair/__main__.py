"""``python -m experiments.repair run|page``: the repairer, and the page of what it found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.repair.command import repair
from fusesearch.cli.app import command_group

HERE = Path(__file__).parent
REFERENCE = HERE.parent / "reference"

app = command_group("Is a better localizer a cheaper repairer?")
app.command("run")(repair)


@app.command("page")
def write_page(
    outcomes: Annotated[Path, typer.Argument(help="Folder that `run` wrote.", metavar="OUT")],
    page: Annotated[Path, typer.Option(help="Folder for RESULTS.md and results.json.", metavar="DIR")] = HERE,
) -> None:
    """Make the figures, their tables beside the papers', and the page. A run that was stopped may be shown as far as it came."""
    from experiments.evidence.page import sections
    from experiments.repair.page import figures_of, sections_of
    from experiments.repair.repairing import read_outcomes
    from fusesearch.core.storage import read_csv, read_text, write_json, write_text
    from fusesearch.reporting.page import Page, Section
    from fusesearch.reporting.table import records_table

    papers = {
        "By localizer": ("ToolTrain table 3: %Resolved of SWE-bench Verified", "tooltrain_table3_resolution.csv"),
        "By configuration": ("FuseSearch table 6: pass rate in percent, thousand tokens", "fusesearch_table6_downstream.csv"),
    }
    figures = figures_of(*read_outcomes(outcomes))
    texts = sections(read_text(HERE / "text.md"))
    parts = []
    for part in sections_of(figures):
        beside = (
            [records_table(papers[part.title][0], read_csv(REFERENCE / papers[part.title][1]))] if part.title in papers else []
        )
        parts.append(Section(part.title, texts.pop(part.title, []), [*part.tables, *beside]))
    counted = f"{figures['faults']} faults; skipped: {figures['skipped'] or 'none'}."
    opening = Section("What this is", [*texts.pop("What this is", []), counted])
    rest = [Section(title, paragraphs) for title, paragraphs in texts.items()]
    write_json(page / "results.json", figures)
    write_text(
        page / "RESULTS.md", Page("Repair: is a better localizer a cheaper repairer?", [opening, *parts, *rest]).render("md")
    )


if __name__ == "__main__":
    app(prog_name="python -m experiments.repair")
