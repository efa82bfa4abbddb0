"""``fusesearch view``: show an episode as an HTML page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from fusesearch.cli.options import Repo
from fusesearch.cli.output import save_text


def view(
    trajectory: Annotated[Path, typer.Argument(help="From `localize --save`, or one of a file of them.", metavar="TRAJECTORY")],
    instance: Annotated[str | None, typer.Option(help="Instance to show, from a file of trajectories.", metavar="ID")] = None,
    run: Annotated[int, typer.Option(help="Episode of that instance to show, from 1.", min=1, metavar="N")] = 1,
    truth: Annotated[Path | None, typer.Option(help="As for `score --truth`, or instances in .parquet.", metavar="FILE")] = None,
    repo: Repo = Path(),
    out: Annotated[Path | None, typer.Option(help="File to write; by default beside the trajectory.", metavar="FILE")] = None,
) -> None:
    """Write an HTML page that shows an episode.

    The page shows each turn with its calls side by side and the gain of each call; with --truth, also which call found
    what. An answer without a model is shown with its code in DIR, in which the evidence is marked. It is one file without scripts
    that loads nothing, so you can send it to anybody. Prints its name.

    ```
    fusesearch localize --repo . --issue issue.md --save trajectory.json
    fusesearch view trajectory.json
    fusesearch view artifacts/evaluate/cells/sft/trajectories.jsonl --instance ID --truth data/splits/validation.parquet
    ```
    """
    from functools import partial

    from fusesearch.cli.episodes import read_episode, read_truth
    from fusesearch.localizers.direct import readable_source
    from fusesearch.reporting.episodes.page import page_of
    from fusesearch.reporting.episodes.rendering import render
    from fusesearch.search.repository import Repository

    chosen = [re.sub(r"[^\w.-]+", "_", instance)[:100]] if instance else []
    page = out or trajectory.with_name(".".join([trajectory.stem, *chosen, *[str(run)] * (run > 1), "html"]))
    episode, repository = read_episode(trajectory, instance, run), Repository(repo)
    known = read_truth(truth, episode.instance_id) if truth else None
    source = partial(readable_source, repository) if repository.root.name == episode.repo else lambda path: None
    save_text(page, render(page_of(episode, known, source)))
    typer.echo(page)
