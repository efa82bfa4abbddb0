"""``fusesearch score``: score predictions against the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fusesearch.cli.output import print_json


def score(
    predictions: Annotated[Path, typer.Option(help="Ranked predictions, one JSON object per line.", metavar="P.jsonl")],
    truth: Annotated[Path | None, typer.Option(help="Truth in JSON lines, or SWE-bench's rows.", metavar="T.jsonl")] = None,
    repos: Annotated[Path | None, typer.Option(help="Clones `owner__name.git`, for functions of patches.", metavar="DIR")] = None,
    board: Annotated[
        Path | None,
        typer.Option(help="In place of --truth: truth with the answers of other systems, to print a table.", metavar="B.jsonl"),
    ] = None,
) -> None:
    """Score ranked predictions against the truth.

    Each line of either file is `{"instance_id": "...", "files": ["a.py"], "functions": ["a.py::C.f"]}`; predictions name the
    most likely first, or have SWE-bench's `model_patch`: then they name what it modifies. The truth may also be instances with
    their truth, or SWE-bench's rows (.jsonl, .json, .parquet): what their `patch` modifies is right. Without --repos, only files
    of such rows are scored, and `files_only` counts them.
    Prints JSON: `file` and `function`, each with `micro` and `macro` precision, recall and F1, and recall@k, MAP, MRR, nDCG@5.
    An instance without a prediction scores as an empty prediction and is counted under `missing`.

    With --board, a Markdown table: your row beside those of the board, means over instances in percent with 95% intervals, files
    and functions of code alone, and what yours has more in file F1 on the instances that both answered.

    ```
    fusesearch score --predictions mine.jsonl --truth gold.jsonl
    fusesearch score --predictions mine.jsonl --truth verified.jsonl --repos clones
    fusesearch score --predictions mine.jsonl --board experiments/evidence/polybench.jsonl --repos clones
    ```
    """
    if (truth is None) == (board is None):
        raise typer.BadParameter("name either --truth or --board")
    from fusesearch.evaluation.predictions import score_board, score_files

    if board is not None:
        from fusesearch.reporting.board import board_table
        from fusesearch.reporting.page import Page, Section

        scores = score_board(board, predictions, repos)
        table = board_table(scores, "In percent: means over issues, 95% intervals")
        return typer.echo(Page(f"Answers to {board.stem}", [Section("Systems", [], [table])]).render("md"))
    assert truth is not None  # noqa: S101 - one of the two is named
    print_json(score_files(predictions, truth, repos))
