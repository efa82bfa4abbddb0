"""``python -m flows cases``: pages of single instances, each under all arms of an evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def cases(
    results: Annotated[Path, typer.Argument(help="Folder that `evaluate` wrote.", metavar="DIR")] = Path("artifacts/evaluate"),
    arm: Annotated[
        list[str] | None, typer.Option(help="Cell to show; repeat it, in the order to compare. Default: all.", metavar="NAME")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the pages; default: cases in DIR.", metavar="DIR")] = None,
) -> None:
    """Write HTML pages that show single instances under all arms.

    Instances are chosen by a rule: of each two neighbouring arms, such as before and after SFT, the one whose F1 gains most and
    the one that loses most; and the one closest to every arm's mean. Prints the name of the index.

    ```
    python -m flows cases artifacts/evaluate --arm base --arm sft --arm sft+rl --arm lexical --arm bm25
    ```
    """
    from fusesearch.core.errors import DataError
    from fusesearch.core.storage import write_text
    from fusesearch.evaluation.results import TRAJECTORIES, read_results
    from fusesearch.reporting.episodes.cases import INDEX, pages, read_study

    cells = {row.cell.system: row for row in read_results([results]).cells}
    if unknown := [name for name in arm or [] if name not in cells]:
        raise DataError(f"{results} has no cell {unknown[0]!r}: it has {', '.join(cells)}")
    chosen = {name: cells[name] for name in arm or cells}
    study = read_study(
        {name: row.scores for name, row in chosen.items()}, {name: row.folder / TRAJECTORIES for name, row in chosen.items()}
    )
    folder = out or results / "cases"
    for name, text in pages(study).items():
        write_text(folder / name, text)
    typer.echo(folder / INDEX)
