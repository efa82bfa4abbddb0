"""``fusesearch judge``: let a model judge answers, and check the judge."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tasks.cli.choices import BaseUrlOption
from tasks.cli.output import print_json, usage_error

if TYPE_CHECKING:
    from tasks.evaluation.judges import Case
    from tasks.evaluation.results import CellResult


def judge(
    folders: Annotated[list[Path], typer.Argument(help="Folders that `evaluate` wrote, of questions.", metavar="DIR...")],
    model: Annotated[str, typer.Option(help="Model of an OpenAI-compatible endpoint. Its key is read from OPENAI_API_KEY.")],
    base_url: BaseUrlOption = None,
    rubric: Annotated[str, typer.Option(help="What it gives points for: coreqa or swe-qa.", metavar="NAME")] = "coreqa",
    most: Annotated[int, typer.Option(help="Most answers judged of a cell.", min=1)] = 50,
) -> None:
    """Judge answers to questions by a model, and check the judge.

    Prints one JSON document: for each cell the judge's mean share, those of the checks (each reference against itself, an empty
    answer, another question's answer), and the rank correlation with the exact scores. A verdict that failed is counted and in no
    mean. Verdicts are kept in DIR, so a second time is quick.

    ```
    fusesearch judge results --model qwen3 --base-url http://localhost:8000/v1
    ```
    """
    import asyncio
    import os

    from tasks.agents.models.loading import load_model
    from tasks.core.storage import Journal
    from tasks.evaluation.judges import RUBRICS, ModelJudge, self_checks
    from tasks.evaluation.results import read_results

    if rubric not in RUBRICS:
        raise usage_error(f"unknown: use one of {', '.join(RUBRICS)}", "--rubric")
    address = base_url or os.environ.get("OPENAI_BASE_URL", "")
    if not address.startswith(("http://", "https://")):
        raise usage_error("a model needs the address of its endpoint, for example http://localhost:8000/v1", "--base-url")

    async def run(row: CellResult) -> dict[str, object]:
        with Journal(row.folder / "verdicts.jsonl", key="key") as cache:
            judging = load_model(model, address, api_key=os.environ.get("OPENAI_API_KEY"), retries=3)
            try:
                return asdict(await self_checks(ModelJudge(judging, RUBRICS[rubric], cache), _cases(row)[:most]))
            finally:
                await judging.close()

    print_json({row.cell.name: asyncio.run(run(row)) for row in read_results(folders).cells})


def _cases(row: CellResult) -> list[Case]:
    from tasks.agents.answers import format_values
    from tasks.core.schema import Trajectory
    from tasks.core.storage import read_jsonl
    from tasks.evaluation.judges import Case

    trajectories = read_jsonl(row.folder / "trajectories.jsonl", Trajectory)
    return [
        Case(
            instance_id=score.instance_id,
            question=trajectory.issue,
            reference=format_values(score.true_values),
            candidate=trajectory.answer.text if trajectory.answer else "",
            exact=score.answer_score,
        )
        for score, trajectory in zip(row.scores, trajectories, strict=True)
        if score.true_values and score.error is None
    ]
