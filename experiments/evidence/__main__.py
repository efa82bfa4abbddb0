"""``python -m experiments.evidence pro|board|page``: issues of boards, boards of answers, and the page over them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.evidence.page import made
from fusesearch.cli.app import command_group
from fusesearch.core.storage import write_jsonl, write_text

HERE = Path(__file__).parent
app = command_group("Localizers without a model beside released answers, on real issues.")


@app.command("board")
def board(
    instances: Annotated[Path, typer.Argument(help="Issues with their patches.", metavar="INSTANCES")],
    repos: Annotated[Path, typer.Argument(help="Their clones, `OWNER__NAME.git`.", metavar="REPOS")],
    to: Annotated[Path, typer.Option(help="File of the board.", metavar="FILE")],
    predictions: Annotated[list[Path] | None, typer.Option(help="Answers or patches, SYSTEM.jsonl.", metavar="FILE")] = None,
    results: Annotated[list[Path] | None, typer.Option(help="A folder of `fusesearch evaluate`.", metavar="DIR")] = None,
) -> None:
    """Join truth and answers into a board: names of files and functions alone, no text and no patch."""
    from experiments.evidence.board import board_lines

    lines = board_lines(instances, repos, {path.stem: path for path in predictions or []}, results or [])
    write_jsonl(to, lines)
    print(f"{len(lines)} issues")


@app.command("pro")
def pro(
    audit: Annotated[Path, typer.Argument(help="Clone of kimjune01/swebench-pro-audit.", metavar="AUDIT")],
    benchmark: Annotated[Path, typer.Argument(help="Clone of scaleapi/SWE-bench_Pro-os.", metavar="BENCHMARK")],
    to: Annotated[Path, typer.Option(help="File of instances for `fusesearch evaluate`.", metavar="FILE")],
    whole: Annotated[bool, typer.Option("--whole", help="With the sections REQUIREMENTS and INTERFACE.")] = False,
) -> None:
    """Make the instances of SWE-bench Pro from its two public repositories."""
    from experiments.evidence.pro import pro_rows

    rows = [*pro_rows(audit, benchmark, whole)]
    write_jsonl(to, rows)
    print(f"{len(rows)} issues of {len({row['repo'] for row in rows})} repositories")


@app.command("page")
def write_page(page: Annotated[Path, typer.Option(help="Folder of the page and its chart.", metavar="DIR")] = HERE) -> None:
    """Write the page and its chart again, from what is committed beside it."""
    for name, text in made(HERE).items():
        write_text(page / name, text)


if __name__ == "__main__":
    app(prog_name="python -m experiments.evidence")
