"""A run of a stage inside its flow: alone on its unfinished work, with its inputs checked and what it made recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.exceptions import ObjectNotFound
from prefect.runtime import flow_run
from prefect.states import Crashed

from flows.limits import limits_of, occupied
from flows.prefect_artifacts import show
from flows.progress import StageProgress
from fusesearch.core.config import load_params
from fusesearch.core.errors import AGAIN, AlreadyRunning, DataError
from fusesearch.core.storage import read_json, write_json
from fusesearch.evaluation.names import check_names
from tasks.running.deps import check_files
from tasks.running.node import Job, Node, read_node
from tasks.running.record import digests, reproduction_record, stage_record, write_record
from tasks.running.resume import alone, finished, is_of, progress_dir
from tasks.stages import stage_named
from tasks.tracking import Live, track


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
    scratch = progress_dir(node.name, values, *node.deps(params))
    with alone(node.name, scratch), occupied(limits_of(stage, params)):
        _left(scratch)
        write_json(scratch / "runs.json", {"prefect": flow_run.id or ""})  # before anything else can fail
        _close_others(node.name, scratch)
        reproduction = None if node.id else reproduction_record(params)
        if reproduction:
            write_record(reproduction)
        unfinished = stage_record(stage.name, params, values, digests(node.inputs(params)), node=node.id, parent=reproduction)
        with Live(unfinished) as live, StageProgress(node.name) as progress:
            job = Job(node, params, node.places, scratch, progress, curve=live.log)
            yield job
        _check_inputs(node, scratch)
        write_json(job.output("metrics"), job.metrics)
        _COMPLETE.add(node.name)
        done = unfinished.complete(_outputs(node), job.metrics)
        write_record(done)
        show(job, track(done))
    finished(node.name)


def is_complete(name: str) -> bool:
    """Whether this process has run the stage, or the node, to its end: everything it makes exists."""
    return name in _COMPLETE


_COMPLETE: set[str] = set()


def _check_inputs(node: Node, scratch: Path) -> None:
    """Raise :class:`DataError` if the stage's inputs changed meanwhile: DVC records what is there at the end."""
    now = read_node(node.stage, node.id)
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
