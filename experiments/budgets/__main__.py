"""``python -m experiments.budgets``: students under turn budgets and with enforced calls, and the page of what came out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

HERE = Path(__file__).parent


def main(
    parallel: Annotated[list[str], typer.Option(help="SFT checkpoint with parallel calls; repeat it.", metavar="SEED=DIR")],
    sequential: Annotated[list[str], typer.Option(help="SFT checkpoint with one call a turn; repeat it.", metavar="SEED=DIR")],
    trained: Annotated[
        list[str] | None, typer.Option(help="Checkpoint after SFT and RL, parallel; repeat it.", metavar="SEED=DIR")
    ] = None,
    instances: Annotated[Path, typer.Option(metavar="FILE")] = Path("data/splits/validation.parquet"),
    repos: Annotated[Path, typer.Option(metavar="DIR")] = Path("data/repos"),
    max_instances: Annotated[int | None, typer.Option(help="Only a sample of this size.", min=1)] = None,
    episodes: Annotated[Path, typer.Option(help="Folder of the episodes; the same one resumes.", metavar="DIR")] = Path(
        "artifacts/budgets"
    ),
    page: Annotated[Path, typer.Option(help="Folder for RESULTS.md and results.json.", metavar="DIR")] = HERE,
) -> None:
    """Evaluate checkpoints under budgets of turns, parallel against sequential, and with enforced calls per turn.

    Writes RESULTS.md and results.json, and the page with its plots as budgets.html beside the episodes.
    """
    from experiments.budgets.page import results_page
    from experiments.budgets.run import Given, budgets
    from experiments.evidence.page import sections
    from experiments.repair.repairing import sample
    from fusesearch.core.config import load_params
    from fusesearch.core.storage import read_csv, read_instances, read_text, write_json, write_text

    students = {"parallel, SFT": parallel, "sequential, SFT": sequential, "parallel, SFT + RL": trained or []}
    by_seed = {name: _by_seed(given) for name, given in students.items() if given}
    rows = sample(read_instances(instances), max_instances)
    found = budgets(Given(rows, repos, by_seed, episodes, load_params()))
    write_json(page / "results.json", found)
    paper = read_csv(HERE.parent / "reference" / "fusesearch_figure1_redundancy.csv")
    made = results_page(found, sections(read_text(HERE / "text.md")), paper)
    write_text(episodes / "budgets.html", made.render("html"))
    write_text(page / "RESULTS.md", made.without_figures().render("md"))


def _by_seed(given: list[str]) -> dict[int, Path]:
    return {int(seed): Path(folder) for seed, _, folder in (text.partition("=") for text in given)}


if __name__ == "__main__":
    typer.run(main)
