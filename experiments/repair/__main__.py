"""``python -m experiments.repair run|page``: the repairer, and the page of what it found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.pages import texts_of
from experiments.repair.command import repair
from experiments.repair.page import figures_of, results_page
from experiments.repair.repairing import read_outcomes
from fusesearch.cli.app import command_group
from fusesearch.core.storage import read_json, write_json, write_text

HERE = Path(__file__).parent

app = command_group("Is a better localizer a cheaper repairer?")
app.command("run")(repair)


@app.command("page")
def write_page(
    outcomes: Annotated[
        Path | None, typer.Argument(help="Folder that `run` wrote. Default: the figures in results.json.", metavar="OUT")
    ] = None,
    page: Annotated[Path, typer.Option(help="Folder of RESULTS.md and results.json.", metavar="DIR")] = HERE,
) -> None:
    """Make the figures, their tables beside the papers', and the page. A run that was stopped may be shown as far as it came."""
    if outcomes is not None:
        write_json(page / "results.json", figures_of(*read_outcomes(outcomes)))
    write_text(page / "RESULTS.md", results_page(read_json(page / "results.json"), texts_of(HERE)))


if __name__ == "__main__":
    app(prog_name="python -m experiments.repair")
