"""``python -m flows track``: record runs that MLflow does not have yet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def track(
    folders: Annotated[
        list[Path] | None, typer.Argument(help="Folders that `fusesearch evaluate` wrote, to record as well.", metavar="DIR")
    ] = None,
) -> None:
    """Record finished runs in MLflow that are not recorded yet.

    Every stage and experiment is recorded in MLflow when it ends, and leaves a file in `.fusesearch/runs`. If MLflow was down
    at that time, start it and run this command. It also fills an empty store from those files and the artifacts they name.
    Recording twice changes nothing. Artifacts that have changed since the run are left out.

    A folder of results becomes a run with one run below it for each finished cell.

    `MLFLOW_TRACKING_URI` names the store; the default is `mlflow.db` in this folder. Exit code 1: some run could not be
    recorded.

    ```
    python -m flows track
    python -m flows track results
    MLFLOW_TRACKING_URI=https://mlflow.example.org python -m flows track
    ```
    """
    from fusesearch.core.errors import FusesearchError
    from tasks.running.record import RUNS, records, write_record
    from tasks.tracking.grids import grid_records
    from tasks.tracking.projection import Projection
    from tasks.tracking.store import answers, locked_client, tracking_uri, without_passwords

    uri = tracking_uri()
    for record in [record for folder in folders or [] for record in grid_records(folder)]:
        write_record(record)
    found = records()
    if not found:
        typer.echo(f"no runs in {RUNS}: run a stage or an experiment, or name a folder of results")
        return
    made, failed = 0, 0
    for record in found:
        try:
            with locked_client(uri) as client:
                projection = Projection(client)
                if not projection.is_recorded(record):
                    projection.track(record)
                    made += 1
        except FusesearchError as error:
            if not answers(uri):
                raise
            failed += 1
            typer.echo(f"fusesearch: {record.name}: {error}", err=True)
    typer.echo(f"{made} of {len(found)} runs recorded in {without_passwords(uri)}, {len(found) - made - failed} were there")
    if failed:
        raise typer.Exit(1)
