"""``python -m experiments.benchmarks.truth spans|verified``: the checks behind ``RESULTS.md``, over your repositories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Checks of truth over real repositories; slow.")


@app.command()
def spans(
    repositories: Annotated[list[Path], typer.Argument(help="Git repositories, bare or not.", metavar="GITDIR...")],
    ctags: Annotated[str, typer.Option(help="Universal Ctags with JSON output.")] = "ctags",
    files: Annotated[int, typer.Option(help="Files of each language, spread over the repositories.")] = 2000,
    only: Annotated[list[str] | None, typer.Option(help="One language; may be repeated.", metavar="NAME")] = None,
    samples: Annotated[Path | None, typer.Option(help="Write every difference here, as JSONL.", metavar="FILE")] = None,
) -> None:
    """Compare function spans with Universal Ctags, one row a language."""
    from experiments.benchmarks.truth.spans import DIALECTS, as_row, compare

    differences: list[dict[str, Any]] = []
    for language in only or DIALECTS:
        result = compare(language, repositories, files, ctags)
        differences += result.differences
        typer.echo(as_row(result))
    if samples:
        samples.write_text("".join(json.dumps(row) + "\n" for row in differences), encoding="utf-8")


@app.command()
def verified(
    instances: Annotated[Path, typer.Argument(help="SWE-bench instances, JSONL.", metavar="INSTANCES")],
    published: Annotated[Path, typer.Argument(help="CoSIL's gt_verified.json.", metavar="PUBLISHED")],
    repos: Annotated[Path, typer.Argument(help="Folder of bare repositories `owner__name.git`.", metavar="REPOS")],
) -> None:
    """Functions beside CoSIL's; what the filter leaves; patches per second on one core. Prints JSON."""
    from experiments.benchmarks.truth.verified import report

    typer.echo(json.dumps(report(instances, published, repos), indent=2))


if __name__ == "__main__":
    app()
