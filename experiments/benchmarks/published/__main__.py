"""``python -m experiments.benchmarks.published``: the figures behind ``RESULTS.md``, from clones that publish predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    cosil: Annotated[Path, typer.Option(help="Clone of ZhonghaoJiang/CoSIL.", metavar="GITDIR")],
    tooltrain: Annotated[Path, typer.Option(help="Clone of Mizersy/RepoDeepSearch: ToolTrain's truth.", metavar="GITDIR")],
    locagent: Annotated[Path, typer.Option(help="Clone of gersteinlab/LocAgent.", metavar="GITDIR")],
    instances: Annotated[Path, typer.Option(help="SWE-bench Verified, .jsonl or .parquet.", metavar="FILE")],
    repos: Annotated[Path, typer.Option(help="Folder of bare repositories `owner__name.git`.", metavar="DIR")],
    out: Annotated[Path, typer.Option(help="Folder for predictions and figures.", metavar="DIR")] = Path("artifacts/published"),
    limit: Annotated[int | None, typer.Option(help="Only so many instances of each set.", metavar="N")] = None,
) -> None:
    """Score the answers that CoSIL's and LocAgent's repositories release, by their rules and ours. Prints Markdown tables."""
    from experiments.benchmarks.published.report import tables
    from experiments.benchmarks.published.runs import Sources, measure
    from tasks.core.storage import write_json, write_text

    figures = measure(Sources(cosil, tooltrain, locagent, instances, repos), out, limit)
    write_json(out / "figures.json", figures)
    text = tables(figures)
    write_text(out / "tables.md", text)
    typer.echo(text)


if __name__ == "__main__":
    typer.run(main)
