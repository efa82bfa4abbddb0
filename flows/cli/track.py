"""``python -m flows track``: record runs that MLflow does not have yet."""

from __future__ import annotations

import typer


def track() -> None:
    """Record finished runs in MLflow that are not recorded yet.

    Every stage and experiment is recorded in MLflow when it ends, and leaves a file in `.fusesearch/runs`. If MLflow was down
    at that time, start it and run this command. It also fills an empty store from those files and the artifacts they name.
    Recording twice changes nothing. Artifacts that have changed since the run are left out.

    The committed results of experiments are recorded as well, tagged `committed`: a fresh clone has ablations to compare.

    `MLFLOW_TRACKING_URI` names the store; the default is `mlflow.db` in this folder. Exit code 1: some run could not be
    recorded.

    ```
    python -m flows track
    MLFLOW_TRACKING_URI=https://mlflow.example.org python -m flows track
    ```
    """
    from fusesearch.core.config import load_params
    from fusesearch.core.errors import FusesearchError
    from tasks.experiments.mlflow_runs import committed_records
    from tasks.experiments.spec import experiment_names, load_experiment
    from tasks.running.record import find_record, records, write_record
    from tasks.tracking.projection import Projection
    from tasks.tracking.store import answers, locked_client, tracking_uri, without_passwords

    uri = tracking_uri()
    for record in [row for name in experiment_names() for row in committed_records(load_experiment(name), load_params())]:
        if not (record.kind == "experiment" and find_record(record.key)):  # what ran here is newer than what is committed
            write_record(record)
    found = records()
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
