"""A board: issues with truth and what each system answered, a line an issue, for ``fusesearch score --board`` and the page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fusesearch.core.schema import Truth
from fusesearch.evaluation.predictions import Named, read_answers
from fusesearch.evaluation.protocols import code_of
from fusesearch.evaluation.results import read_results


def board_lines(instances: Path, repos: Path, predictions: Mapping[str, Path], results: Sequence[Path]) -> list[dict[str, Any]]:
    """Lines of a board: issues that modify a file of code. ``predictions`` are files by system, ``results`` of ``evaluate``.

    Answers keep files and functions of code alone: neither a test of an agent's patch nor its changelog counts against it.
    """
    answers: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, path in predictions.items():
        for key, given in read_answers(instances, path, repos)[1].items():
            answers[key][name] = _code(given)
    for cell in read_results(results).cells if results else ():
        for score in cell.scores:
            named = Named(files=score.predicted_files, functions=score.predicted_functions)
            answers[score.instance_id][cell.cell.localizer] = _code(named)
    wanted = read_answers(instances, None, repos)[0]
    rows: list[dict[str, Any]] = [
        {"instance_id": key, "repo": row.repo, "base_commit": row.base_commit, **_code(row)} for key, row in wanted.items()
    ]
    return [{**row, "answers": answers[row["instance_id"]]} for row in rows if row["files"]]


def _code(named: Named) -> dict[str, list[str]]:
    kept = code_of(Truth(files=named.files, functions=named.functions))
    return {"files": kept.files, "functions": kept.functions}
