"""``fusesearch judge``: let a model judge answers, and check the judge."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fusesearch.cli.options import BaseUrl
from fusesearch.cli.output import print_json

if TYPE_CHECKING:
    from fusesearch.evaluation.results import CellResult


def judge(
    folders: Annotated[list[Path], typer.Argument(help="Folders that `evaluate` wrote, of questions.", metavar="DIR...")],
    model: Annotated[str, typer.Option(help="Model of an OpenAI-compatible endpoint. Its key is read from OPENAI_API_KEY.")],
    base_url: BaseUrl = None,
    rubric: Annotated[str, typer.Option(help="What it gives points for: coreqa or swe-qa.", metavar="NAME")] = "coreqa",
    checks: Annotated[int, typer.Option(help="Most answers of a cell on which the judge is checked.", min=1, metavar="N")] = 50,
) -> None:
    """Judge answers to questions by a model, and check the judge.

    Prints one JSON document: for each cell the mean grade and share of all answers and how many verdicts failed; of the first
    answers the mean shares of the checks (each reference against itself, an empty answer, another question's answer) and the
    rank correlation with the exact scores. A verdict that failed is in no mean. Verdicts are kept in DIR: a second time is quick,
    and `compare` reads them.

    ```
    fusesearch judge results --model qwen3 --base-url http://localhost:8000/v1
    fusesearch compare results --protocol coreqa
    ```
    """
    import asyncio
    import os

    from fusesearch.agents.models.openai_compatible import OpenAICompatibleModel
    from fusesearch.core.storage import Journal
    from fusesearch.evaluation.judged import cases_of, judge_cell
    from fusesearch.evaluation.judges import ModelJudge, rubric_named, self_checks
    from fusesearch.evaluation.quality import mean
    from fusesearch.evaluation.results import read_results
    from fusesearch.localizers.searcher import SearchOptions

    scale = rubric_named(rubric)
    address = SearchOptions(model=model, base_url=base_url).address

    async def run(row: CellResult) -> dict[str, object]:
        with Journal(row.folder / "verdicts.jsonl", key="key") as cache:
            judging = OpenAICompatibleModel(model, address, os.environ.get("OPENAI_API_KEY"), retries=3)
            judge = ModelJudge(judging, scale, cache)
            try:
                verdicts = await judge_cell(row, scale, judge, model)
                checked = await self_checks(judge, list(cases_of(row).values())[:checks])
            finally:
                await judging.close()
        grades = [verdict.grade for verdict in verdicts if verdict.grade is not None]
        shares = [verdict.share for verdict in verdicts if verdict.share is not None]
        own = {"answers": len(verdicts), "failed": len(verdicts) - len(shares), "grade": mean(grades), "share": mean(shares)}
        return own | {"checks": asdict(checked)}

    print_json({row.cell.name: asyncio.run(run(row)) for row in read_results(folders).cells})
