"""Open questions as instances: those that others released, and the choice of those to use."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from fusesearch.cli.choices import BaseUrlOption
from fusesearch.cli.output import usage_error

QuestionsArgument = Annotated[
    Path, typer.Argument(help="Questions, as `import` or the stages mine and filter write them.", metavar="Q.parquet")
]
OutOption = Annotated[Path, typer.Option(help="File to write the questions to.", metavar="Q.parquet")]


def import_questions(
    files: Annotated[list[Path], typer.Argument(help="Files of SWE-QA or SWE-QA-Pro: .jsonl, .json or .parquet.")],
    out: OutOption,
    commits: Annotated[
        Path | None, typer.Option(help="List of repositories, `ADDRESS COMMIT` a line, as both sets have it.", metavar="FILE")
    ] = None,
) -> None:
    """Convert the questions of SWE-QA or SWE-QA-Pro, so that `evaluate` can ask and `judge` can read them.

    The reference answers are texts, which no score can be exact about: evaluate with `agent.toolset: questions`, then let a model
    judge the answers.

    ```
    python -m experiments.questions import Benchmark/*.jsonl --commits repo_commit.txt --out swe-qa.parquet
    fusesearch evaluate grid.yaml --out results
    fusesearch judge results --rubric swe-qa --model qwen3 --base-url http://localhost:8000/v1
    fusesearch compare results --protocol swe-qa
    ```
    """
    from experiments.questions.swe_qa import read_commits, read_questions
    from fusesearch.core.errors import DataError
    from fusesearch.core.storage import write_instances

    drops: Counter[str] = Counter()
    rows = list(read_questions(files, read_commits(commits) if commits else {}, drops))
    left_out = "".join(f"; {count} {reason}" for reason, count in drops.items())
    if not rows:
        raise DataError(f"no row is a question with an answer{left_out}")
    write_instances(out, rows)
    typer.echo(f"{out}: {len(rows)} questions about {len({row.repo for row in rows})} repositories{left_out}")


def rewrite_questions(
    questions: QuestionsArgument,
    out: OutOption,
    model: Annotated[str, typer.Option(help="Model of an OpenAI-compatible endpoint. Its key is read from OPENAI_API_KEY.")],
    base_url: BaseUrlOption = None,
    judge: Annotated[str, typer.Option(help="Model that compares the rewritings. Default: the same.", metavar="NAME")] = "",
) -> None:
    """Rewrite mined questions and answers by a model, so that each stands alone.

    Three rewritings of each; one is kept if a judge finds that its answer agrees with another's. What people wrote stays in the
    provenance. Goes on where it was stopped.

    ```
    python -m experiments.questions rewrite asked.parquet --out rewritten.parquet --model qwen3 --base-url http://localhost:8000/v1
    ```
    """
    import asyncio
    import os

    from experiments.questions.curating import rewrite
    from fusesearch.agents.models.loading import load_model
    from fusesearch.core.storage import Journal, read_instances, write_instances
    from fusesearch.evaluation.judges import ModelJudge, rubric_named

    address = base_url or os.environ.get("OPENAI_BASE_URL", "")
    if not address.startswith(("http://", "https://")):
        raise usage_error("a model needs the address of its endpoint, for example http://localhost:8000/v1", "--base-url")
    drops: Counter[str] = Counter()

    async def run() -> int:
        writer, reader = (load_model(name, address, api_key=os.environ.get("OPENAI_API_KEY")) for name in (model, judge or model))
        with (
            Journal(out.with_suffix(".journal.jsonl"), key="key") as done,
            Journal(out.with_suffix(".verdicts.jsonl"), key="key") as cache,
        ):
            try:
                rows = await rewrite(
                    read_instances(questions), writer, ModelJudge(reader, rubric_named("coreqa"), cache), done, drops
                )
            finally:
                await writer.close()
                await reader.close()
        return write_instances(out, rows)

    _tell(out, asyncio.run(run()), drops)


def calibrate_questions(
    questions: QuestionsArgument,
    folders: Annotated[list[Path], typer.Argument(help="Folders that `evaluate` wrote of them, judged.", metavar="DIR...")],
    out: OutOption,
    weak: Annotated[
        list[str], typer.Option(help="A system that must not solve a question, such as closed-book; may be repeated.")
    ],
    strong: Annotated[
        list[str] | None, typer.Option(help="A system one of which must solve it; may be repeated. Default: none has to.")
    ] = None,
    rubric: Annotated[str, typer.Option(help="The rubric of the judge.", metavar="NAME")] = "coreqa",
) -> None:
    """Keep the questions of the right difficulty: no weak system solves them, and a strong one does.

    A grade of 0.8 or more solves a question, in any run.

    ```
    fusesearch evaluate grid.yaml --out results && fusesearch judge results --model qwen3 --base-url http://localhost:8000/v1
    python -m experiments.questions calibrate asked.parquet results --out kept.parquet --weak closed-book --strong fusesearch
    ```
    """
    from experiments.questions.curating import calibrated
    from fusesearch.core.storage import read_instances, write_instances
    from fusesearch.evaluation.judged import judged
    from fusesearch.evaluation.judges import rubric_named
    from fusesearch.evaluation.results import read_results

    drops: Counter[str] = Counter()
    rows = read_instances(questions)
    cells = read_results(folders).cells
    if any(row.truth and row.truth.expected and row.truth.expected.kind == "text" for row in rows):
        cells, _ = judged(cells, rubric_named(rubric))
    _tell(out, write_instances(out, calibrated(rows, cells, weak, strong or [], drops)), drops)


def _tell(out: Path, count: int, drops: Counter[str]) -> None:
    typer.echo(f"{out}: {count} questions{''.join(f'; {number} dropped: {reason}' for reason, number in drops.items())}")
