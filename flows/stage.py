"""What every stage flow shares: params, the folder for unfinished work, the tracking run, progress, and a clean end."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NoReturn
from uuid import UUID

import httpx
from filelock import FileLock, Timeout
from prefect import Task
from prefect.artifacts import create_link_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State, TaskRun
from prefect.context import FlowRunContext
from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError
from prefect.logging import get_run_logger
from prefect.logging.configuration import setup_logging
from prefect.states import Crashed
from prefect.tasks import exponential_backoff

from flows.owner import end_with_owner
from flows.progress import StageProgress
from flows.quotas import occupied, quotas_of
from flows.server import prefect_server
from flows.shown import show_metrics
from tasks.core.config import Params, load_params
from tasks.core.errors import AGAIN, AlreadyRunning, DataError, EndpointDown, FusesearchError, InfrastructureError
from tasks.core.storage import read_json, write_json
from tasks.pipeline.node import Node, parse_node
from tasks.pipeline.pipeline import StageSpec, stage_outs
from tasks.pipeline.places import Places
from tasks.pipeline.progress import finished, is_of, progress_dir
from tasks.pipeline.record import digests, reproduction_record, stage_record, write_record
from tasks.pipeline.timing import note_seconds, parts_of
from tasks.pipeline.tracking import Live, record
from tasks.pipeline.tracking.registry import model_name


@dataclass
class Stage:
    """One run of one stage. ``scratch`` is where its unfinished work lies; ``metrics`` is what it reports at the end."""

    node: Node
    params: Params
    spec: StageSpec
    scratch: Path
    live: Live
    progress: StageProgress
    metrics: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the stage."""
        return self.node.stage

    @property
    def places(self) -> Places:
        """Where it reads and writes."""
        return self.node.places


@contextmanager
def stage(stage_name: str, node: Node | None = None) -> Iterator[Stage]:
    """Inside a flow: everything a stage needs; on success its metrics are written and its scratch removed.

    With a ``node`` its params and places are the node's; without one, those of the main pipeline.
    """
    node = node or Node(stage=stage_name)
    name = node.name
    params = node.params(load_params())
    spec = node.spec(params)
    values = spec.values(params)
    scratch = progress_dir(name, values, *spec.deps)
    _COMPLETE.discard(name)
    with (
        _alone(name, scratch),
        occupied(quotas_of(node.stage, params)),
    ):
        left = _left(scratch)
        write_json(scratch / "runs.json", {"prefect": _flow_run_id()})
        _close_others(name, scratch)
        started = time.perf_counter()
        reproduction = None if node.id else reproduction_record(params)
        if reproduction:
            write_record(reproduction)
        begun = stage_record(node.stage, params, values, digests(spec.inputs), node=node.id, parent=reproduction)
        with Live(begun) as live, StageProgress(name) as progress:
            current = Stage(node, params, spec, scratch, live, progress)
            yield current
        seconds = time.perf_counter() - started
        if not left:  # what goes on where another process stopped takes less than usual
            note_seconds(node.stage, seconds, parts_of(node.stage, params))
        _check_inputs(node, scratch)
        write_json(node.places.metrics(node.stage), current.metrics)
        _COMPLETE.add(name)
        done = begun.complete(_outputs(node), current.metrics)
        write_record(done)
        show_metrics(node.stage, name, current.metrics, record(done))
    finished(name)


def _outputs(node: Node) -> dict[str, str]:
    """Digests of what a stage made; of the repositories, which are large, only that they are there."""
    made = [node.places.of(node.stage, path) for path, stage in stage_outs().items() if stage == node.stage]
    return {node.places.repos.as_posix(): "" for path in made if path == node.places.repos} | digests(
        path for path in made if path != node.places.repos
    )


def is_complete(name: str) -> bool:
    """Whether this process has run the stage, or the node, to its end: all it makes is there."""
    return name in _COMPLETE


_COMPLETE: set[str] = set()


def _check_inputs(node: Node, scratch: Path) -> None:
    """Raise :class:`DataError` where what the stage reads is no longer what it was: DVC records what lies there at the end."""
    params = node.params(load_params())
    spec = node.spec(params)
    if not is_of(scratch, node.name, spec.values(params), *spec.deps):
        raise DataError(
            f"what {node.name} reads (code, data or params) changed while it ran, so what it made is not recorded: {AGAIN}"
        )


def _fail(message: str) -> NoReturn:
    print(f"error: {message}", file=sys.stderr)
    sys.exit(1)


@contextmanager
def _alone(name: str, scratch: Path) -> Iterator[None]:
    """Refuse a second process on the same unfinished work."""
    lock = FileLock(scratch / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise AlreadyRunning(f"{name} is already running on these inputs: wait for it, or stop it") from None
    try:
        yield
    finally:
        lock.release()


def _left(scratch: Path) -> bool:
    """Whether a process of this stage was killed or failed here; its run in Prefect is marked as crashed."""
    path = scratch / "runs.json"
    if not path.exists():
        return False
    _mark_crashed(read_json(path)["prefect"])
    return True


def _close_others(name: str, scratch: Path) -> None:
    """Close the runs that killed processes of this stage left at other inputs: nobody may ever go on in them."""
    for path in scratch.parent.glob(f"{name}-*/runs.json"):
        if path.parent == scratch or path.parent.name.rpartition("-")[0] != name:
            continue
        with suppress(AlreadyRunning), _alone(name, path.parent):
            _left(path.parent)


def _flow_run_id() -> str:
    context = FlowRunContext.get()
    return str(context.flow_run.id) if context and context.flow_run else ""


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


def run_stage(flow: Callable[[], object]) -> NoReturn:
    """Run a flow as a command: against the local Prefect server, one clear line and exit code 1 when it fails."""
    run_prepared(lambda: flow)


def run_prepared(prepare: Callable[[], Callable[[], object]], is_done: Callable[[], bool] = lambda: False) -> NoReturn:
    """As :func:`run_stage`, for the flow that ``prepare`` gives: what it refuses is told before any server is started.

    Where ``is_done`` says that all is made, a server that takes no note of it is a warning.
    """
    _one_line_errors()
    end_with_owner()
    try:
        load_params()
        flow = prepare()
        with prefect_server():
            flow()
    except FusesearchError as error:
        _fail(str(error))
    except (httpx.TransportError, PrefectHTTPStatusError, RuntimeError) as error:
        lost = _lost_server(error)
        if lost is None:
            raise
        if not is_done():
            _fail(lost)
        print(f"warning: {lost.partition(': ')[0]}; all is made, only Prefect's pages do not say so", file=sys.stderr)
    except KeyboardInterrupt:
        print(f"interrupted: {AGAIN}", file=sys.stderr)
        sys.exit(130)
    sys.exit(0)


def _lost_server(error: Exception) -> str | None:
    """One line for what the Prefect server, or its absence, is the reason of; None for anything else."""
    cause = error.__cause__ if isinstance(error, RuntimeError) else error  # Prefect 3.7, where it asks for the server's version
    if isinstance(cause, httpx.TransportError):
        return f"the Prefect server no longer answers ({type(cause).__name__}): {AGAIN}"
    if isinstance(cause, PrefectHTTPStatusError):
        status = cause.response.status_code
        return f"the Prefect server answered {status} to {cause.request.url.path}: {AGAIN if status >= 500 else 'see its log'}"
    return None


def run_node(stage_name: str, flow: Callable[[Node], object], arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the flow of a stage as a command, with the node that the command line names."""
    words = sys.argv[1:] if arguments is None else arguments

    run_prepared(lambda: partial(flow, parse_node(stage_name, words)), lambda: bool(_COMPLETE))


def world_failed(task: Task[..., Any], run: TaskRun, state: State[Any]) -> bool:
    """Retry condition: only what the world did wrong is worth another try; bad params or data are not."""
    error = state.result(raise_on_failure=False)
    return isinstance(error, InfrastructureError | EndpointDown | OSError)


RETRIED: dict[str, Any] = {
    "retries": 4,
    "retry_delay_seconds": exponential_backoff(backoff_factor=5),
    "retry_jitter_factor": 0.3,
    "retry_condition_fn": world_failed,
    "cache_policy": NO_CACHE,
}
"""Options of tasks that meet the world: endpoints, subprocesses, disks. They go on from their journals."""

ONCE: dict[str, Any] = {"cache_policy": NO_CACHE}
"""Options of tasks that only compute."""


def show_drops(key: str, drops: Mapping[str, int], description: str) -> None:
    """A table of how many rows each rule dropped, as a Prefect artifact."""
    table = [{"rule": rule, "dropped": count} for rule, count in drops.items()]
    create_table_artifact(table=table, key=key, description=description)


def publish_checkpoint(current: Stage) -> None:
    """Link the stage's checkpoint in Prefect."""
    checkpoint = current.places.checkpoint(current.name)
    name = current.node.id or f"{model_name(current.params.profile)}@{current.name}"
    key = f"{current.name.replace('_', '-')}-checkpoint"
    try:
        create_link_artifact(checkpoint.resolve().as_uri(), key=key, link_text=name)
    except Exception as error:  # a link that cannot be shown is no reason to train again
        get_run_logger().warning("the checkpoint could not be shown in Prefect: %s", error)


def _one_line_errors() -> None:
    """Keep what Prefect says of errors raised on purpose off the terminal; its server still gets all of it."""
    setup_logging()
    for handler in logging.getLogger().handlers:
        handler.addFilter(_unless_expected)


def _unless_expected(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, FusesearchError) and "Finished in state Failed" not in record.getMessage()
