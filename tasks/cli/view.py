"""``fusesearch view``: one HTML page of an episode."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from tasks.cli.output import save_text


def view(
    trajectory: Annotated[
        Path, typer.Argument(help="What `localize --save` wrote, or a file of trajectories, one per line.", metavar="TRAJECTORY")
    ],
    instance: Annotated[str | None, typer.Option(help="Which instance of a file of trajectories.", metavar="ID")] = None,
    run: Annotated[int, typer.Option(help="Which episode of that instance, from 1.", min=1)] = 1,
    truth: Annotated[
        Path | None,
        typer.Option(help="Truth as `truth` prints it or `score` takes it, or instances as .parquet.", metavar="FILE"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The page; by default it stands beside the trajectory.", metavar="FILE")
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Make a page of an episode.

    The page is one HTML file without scripts that loads nothing: it can be sent to anybody. It shows turns, calls side by
    side, the gain of each call, and with a truth what of it was found, by which call.
    Prints the name of the file.

    ```
    fusesearch localize --repo . --issue issue.md --save trajectory.json
    fusesearch view trajectory.json --open
    fusesearch view artifacts/evaluate/trajectories/sft.jsonl --instance ID --truth data/splits/validation.parquet
    ```
    """
    from tasks.cli.episodes import read_episode, read_truth
    from tasks.reporting.episodes.page import page_of
    from tasks.reporting.episodes.rendering import render

    episode = read_episode(trajectory, instance, run)
    known = read_truth(truth, episode.instance_id) if truth else None
    page = out or _beside(trajectory, instance, run)
    save_text(page, render(page_of(episode, known)))
    typer.echo(page)
    if open_page:
        _show(page)


def _beside(trajectory: Path, instance: str | None, run: int) -> Path:
    """``t.html`` for ``t.json``; with the instance, and the run after the first, in its name."""
    chosen = [re.sub(r"[^\w.-]+", "_", instance)[:100]] if instance else []
    parts = [trajectory.stem, *chosen, *([str(run)] if run > 1 else []), "html"]
    return trajectory.with_name(".".join(parts))


def _show(page: Path) -> None:
    import webbrowser

    if not webbrowser.open(page.resolve().as_uri()):
        typer.echo("fusesearch: no browser could be started; open the page yourself", err=True)
