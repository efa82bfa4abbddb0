"""``fusesearch score``: score predictions against the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fusesearch.cli.output import print_json


def score(
    predictions: Annotated[Path, typer.Option(help="Ranked predictions, one JSON object per line.", metavar="P.jsonl")],
    truth: Annotated[Path, typer.Option(help="Truth, one JSON object per line, or SWE-bench's rows.", metavar="T.jsonl")],
    repos: Annotated[
        Path | None,
        typer.Option(help="Clones `owner__name.git`, to find the functions of patches.", metavar="DIR"),
    ] = None,
) -> None:
    """Score ranked predictions against the truth.

    Each line of either file is `{"instance_id": "...", "files": ["a.py"], "functions": ["a.py::C.f"]}`; predictions name the
    most likely first, or have SWE-bench's `model_patch`: then they name what it modifies. The truth may also be instances with
    their truth, or SWE-bench's rows (.jsonl, .json, .parquet): what their `patch` modifies is right. Without --repos, only files
    of such rows are scored, and `files_only` counts them.
    Prints JSON: `file` and `function`, each with `micro` and `macro` precision, recall and F1, and recall@k, MAP, MRR, nDCG@5.
    An instance without a prediction scores as an empty prediction and is counted under `missing`.

    ```
    fusesearch score --predictions mine.jsonl --truth gold.jsonl
    fusesearch score --predictions mine.jsonl --truth verified.jsonl --repos clones
    ```
    """
    from fusesearch.evaluation.predictions import score_files

    print_json(score_files(predictions, truth, repos))
