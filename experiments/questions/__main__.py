"""``python -m experiments.questions import``: open questions that others released, as instances."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from fusesearch.cli.app import command_group

app = command_group("Open questions that others released, as benchmarks.")


@app.callback()
def questions() -> None:
    """Open questions that others released, as benchmarks."""


@app.command("import")
def import_questions(
    files: Annotated[list[Path], typer.Argument(help="Files of SWE-QA or SWE-QA-Pro: .jsonl, .json or .parquet.")],
    out: Annotated[Path, typer.Option(help="File to write the questions to.", metavar="Q.parquet")],
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


if __name__ == "__main__":
    app(prog_name="python -m experiments.questions")
