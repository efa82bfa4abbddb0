"""A run of a stage inside its flow: alone on its unfinished work, with its inputs checked and what it made recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact
from prefect.client.orchestration import get_client
from prefect.exceptions import ObjectNotFound
from prefect.logging import get_run_logger
from prefect.runtime import flow_run
from prefect.states import Crashed

from flows.events import tell
from flows.limits import limits_of, occupied
from flows.progress import StageProgress
from fusesearch.core.config import load_params
from fusesearch.core.errors import AGAIN, AlreadyRunning, DataError
from fusesearch.core.overrides import flatten
from fusesearch.core.storage import read_csv, read_json, read_text, write_json
from fusesearch.evaluation.names import check_names
from tasks.code import write_code
from tasks.running.deps import check_files
from tasks.running.node import Job, Node, read_node
from tasks.running.record import digests, records, reproduction_record, stage_record, write_record
from tasks.running.resume import alone, finished, is_of, progress_dir
from tasks.stages import STAGES, TRAINED, stage_named
from tasks.tracking import Live, track, tracking_uri
from tasks.tracking.store import is_server, without_passwords


@contextmanager
def running(node: Node) -> Iterator[Job]:
    """The job of a node, or of the main pipeline; when the block ends, ``job.metrics`` are written and its scratch removed.

    Raises :class:`AlreadyRunning` if another process is at it, :class:`DataError` if what it reads changed meanwhile.
    """
    _COMPLETE.discard(node.name)
    stage, params = stage_named(node.stage), node.params or check_names(load_params(), "params.yaml")
    if not node.id:
        check_files(stage, params)
    values = stage.values(params)
    write_code(load_params(), [stage.name])  # DVC records what is there at the end
    scratch = progress_dir(node.name, values, *node.deps(params))
    with alone(node.name, scratch), occupied(limits_of(stage, params)):
        _left(scratch)
        write_json(scratch / "runs.json", {"prefect": flow_run.id or ""})  # before anything else can fail
        _close_others(node.name, scratch)
        reproduction = None if node.id else reproduction_record(params)
        if reproduction:
            write_record(reproduction)
        unfinished = stage_record(stage.name, params, values, digests(node.inputs(params)), node=node.id, parent=reproduction)
        unfinished.tags["prefect.flow_run"] = flow_run.id or ""
        with Live(unfinished) if stage.name in TRAINED else nullcontext() as live, StageProgress(node.name) as progress:
            job = Job(node, params, node.places, scratch, progress)
            if live:
                job.curve = live.log
            yield job
        _check_inputs(node, scratch)
        write_json(job.output("metrics"), job.metrics)
        _COMPLETE.add(node.name)
        done = unfinished.complete(_outputs(node), job.metrics)
        earlier = [row.outputs for row in records()]
        write_record(done)
        run_id = track(done) if node.id or stage.name in RECORDS else ""
        show(job, run_id, done.outputs)
        tell(job, done, run_id, earlier)
    finished(node.name)


RECORDS = (*TRAINED, [*STAGES][-1])
"""Stages that record the runs of the whole reproduction so far in MLflow: to import it takes seconds in every process."""


def is_complete(name: str) -> bool:
    """Whether this process has run the stage, or the node, to its end: everything it makes exists."""
    return name in _COMPLETE


_COMPLETE: set[str] = set()
CURVE = ("step", "loss", "reward", "f1", "efficiency", "calls_per_turn")
"""Columns of a curve that Prefect shows, at most 50 rows; MLflow draws all of it."""


def _check_inputs(node: Node, scratch: Path) -> None:
    """Raise :class:`DataError` if the stage's inputs changed meanwhile: DVC records what is there at the end."""
    now = read_node(node.stage, node.id)
    write_code(load_params(), [node.stage])
    params = now.params or load_params()
    if not is_of(scratch, node.name, stage_named(node.stage).values(params), *now.deps(params)):
        raise DataError(
            f"what {node.name} reads (code, data or params) changed while it ran, so what it made is not recorded: {AGAIN}"
        )


def _outputs(node: Node) -> dict[str, str]:
    """Digests of what a run made, without its metrics. Of the repositories, which are large, only that they exist."""
    repos = node.places["mine.repos"]
    made = node.outputs[:-1]
    return {path.as_posix(): "" for path in made if path == repos} | digests(path for path in made if path != repos)


def _left(scratch: Path) -> None:
    """Mark the run in Prefect of a process that was killed or failed here as crashed."""
    path = scratch / "runs.json"
    if path.exists():
        _mark_crashed(read_json(path)["prefect"])


def _close_others(name: str, scratch: Path) -> None:
    """Close the runs that killed processes of this stage left at other inputs: nobody will continue them."""
    for path in scratch.parent.glob(f"{name}-*/runs.json"):
        if path.parent == scratch or path.parent.name.rpartition("-")[0] != name:
            continue
        with suppress(AlreadyRunning), alone(name, path.parent):
            _left(path.parent)


def _mark_crashed(flow_run: str) -> None:
    if not flow_run:
        return
    with get_client(sync_client=True) as client:
        try:
            left = client.read_flow_run(UUID(flow_run))
        except ObjectNotFound:
            return
        if left.state is not None and left.state.is_running():
            client.set_flow_run_state(left.id, Crashed(message="its process was killed; a later run went on"), force=True)


def show(job: Job, run_id: str, outputs: Mapping[str, str]) -> None:
    """Create the artifacts of a finished job, with its run in MLflow ("" if none) and digests. A failure is only a warning."""
    stage, key = job.stage, job.stage.name.replace("_", "-")
    try:
        figures = flatten(job.metrics).items()
        rows = [f"| {name} | {f'{value:.4g}' if isinstance(value, float) else value} |" for name, value in figures]
        link = "MLflow gets its run with the next training stage, or with the report; `python -m flows track` records it now."
        if run_id:
            link = f"[The run in MLflow]({run_page(run_id)})"
        made = [f"| {path} | {of} |" for path, of in outputs.items()]
        page = "\n".join([link, "", "| figure | value |", "|---|---|", *rows, "", "| output | digest |", "|---|---|", *made])
        create_markdown_artifact(page, key=f"{key}-metrics", description=f"Figures of {job.node.name}")
        for name in stage.shows:
            _show_output(job.output(name), f"{key}-{name.replace('_', '-')}", f"{name} of {job.node.name}")
    except Exception as error:
        get_run_logger().warning("the results could not be shown in Prefect: %s", error)


def _show_output(path: Path, key: str, description: str) -> None:
    page = next(iter(sorted(path.glob("*.md"))), None) if path.is_dir() else path
    if page is not None and page.suffix == ".md":
        create_markdown_artifact(read_text(page), key=key, description=description)
    elif path.suffix == ".json":
        for name, rows in _tables(read_json(path)).items():
            create_table_artifact(table=rows, key=f"{key}-{name}".rstrip("-"), description=f"{description} {name}".rstrip())
    elif path.name == "curve.csv":
        points = [{name: point[name] for name in CURVE if name in point} for point in read_csv(path)]
        create_table_artifact(table=points[:: -(-len(points) // 50)], key=key, description=description)
    elif path.suffix != ".csv":
        create_link_artifact(path.resolve().as_uri(), key=key, link_text=description)


def _tables(value: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The tables in a JSON file: counts by rule form one table, and so does each mapping or list of rows inside it."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name, rows in ({"": value} if all(isinstance(count, int) for count in value.values()) else value).items():
        if isinstance(rows, Mapping):
            found[name] = [
                {name: key, **row} if isinstance(row, Mapping) else {"rule": key, "count": row} for key, row in rows.items()
            ]
        elif isinstance(rows, list) and all(isinstance(row, Mapping) for row in rows):
            found[name] = rows
    return {name: rows for name, rows in found.items() if rows}


def run_page(run_id: str) -> str:
    """The address of a run in MLflow's UI, without a password."""
    uri = tracking_uri()
    return f"{without_passwords(uri).rstrip('/') if is_server(uri) else 'http://127.0.0.1:5000'}/#/runs/{run_id}"
