"""Runs of stages: those of the main pipeline below their reproduction, those of experiments' nodes on their own."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from filelock import FileLock

from tasks.core.config import Params
from tasks.core.digests import digest
from tasks.core.overrides import flatten
from tasks.core.storage import write_json
from tasks.pipeline.layout import STATE, TRAINED
from tasks.pipeline.tracking.outbox import Outbox, open_outbox
from tasks.pipeline.tracking.revision import SOURCES, git, revision_tags
from tasks.pipeline.tracking.run import EXPERIMENT, Run, create, following, remembered_key
from tasks.pipeline.tracking.store import tracking_uri, without_passwords

REPRODUCTION = STATE / "reproduction.json"
NODES = f"{EXPERIMENT}/nodes"
"""MLflow's experiment for stages that run with other params than the main pipeline's."""
SYSTEM = "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING"
"""Environment variable, as MLflow has it: true or false."""

logger = logging.getLogger(__name__)


@contextmanager
def stage_run(
    stage: str,
    params: Params,
    values: Mapping[str, Any],
    inputs: Iterable[Path],
    *,
    node: str = "",
    left: Mapping[str, str] | None = None,
) -> Iterator[Run]:
    """The run of one stage; its state follows how the block ends.

    Args:
        stage: name of the stage.
        params: all params; they are logged on the parent.
        values: the flat params this stage reads; logged on the run itself.
        inputs: the stage's datasets and checkpoints.
        node: the id of the node of an experiment. Its run has no parent and the tag ``node``.
        left: :attr:`Run.record` of the run that a killed or failed process of this stage left. It goes on in that run if it
            is one of the same reproduction or node.

    Raises:
        TrackingUnavailable: the tracking server does not answer and never has.
    """
    outbox = open_outbox()
    try:
        parent = None if node else _reproduction(outbox, params)
        run = _stage(outbox, stage, parent, params, node, left or {})
        with following(parent) if parent else nullcontext(), following(run), system_metrics(run, stage):
            run.log_params(values)
            run.log_inputs(inputs)
            yield run
    finally:
        outbox.settle()


def _stage(outbox: Outbox, stage: str, parent: Run | None, params: Params, node: str, left: Mapping[str, str]) -> Run:
    """The run that was left where it is of this reproduction or node, else a new one; one left elsewhere is closed."""
    above = parent.key if parent else node
    goes_on = left.get("of") == above
    tags = {"stage": stage}
    if node:
        tags |= {"kind": "node", "node": node, "profile": params.profile, "seed": str(params.seed)}
    key = left.get("run", "") if goes_on else ""
    run = create(outbox, node or stage, tags, parent=parent, experiment=NODES if node else "", key=key)
    run.of = above
    if left and not goes_on:
        run.close(left)
    if goes_on:
        run.set_tags({**revision_tags(), "resumed": "true"})
    return run


def _reproduction(outbox: Outbox, params: Params) -> Run:
    """The parent run that belongs to this revision and these params; opened if there is none."""
    belongs = digest(tracking_uri(), git("rev-parse", "HEAD"), git("diff", "HEAD", "--", *SOURCES), params)
    with FileLock(REPRODUCTION.with_suffix(".lock")):  # two stages may begin at once
        key, known = remembered_key(REPRODUCTION, belongs)
        if not known:
            write_json(REPRODUCTION, {"belongs": belongs, "run": key})
    name = f"{params.profile} seed {params.seed} {git('rev-parse', '--short', 'HEAD')}".strip()
    tags = {"profile": params.profile, "seed": str(params.seed), "kind": "reproduction"}
    run = create(outbox, name, tags, key=key)
    run.log_params(flatten(params.model_dump(mode="json")))
    return run


@contextmanager
def system_metrics(run: Run, stage: str) -> Iterator[None]:
    """MLflow's own record of processor, memory, disk, network and GPU: of training, and of all stages if :data:`SYSTEM` is true.

    A thread samples them every ten seconds. It is of the machine, and is none of what the outbox keeps: a store that goes away
    ends it, and what cannot be measured is no reason not to train.
    """
    wanted = os.environ.get(SYSTEM, "").lower() or str(stage in TRAINED).lower()
    monitor = _monitor(run) if wanted in ("true", "1") and run.run_id else None
    try:
        yield
    finally:
        if monitor:
            monitor.finish()


def _monitor(run: Run) -> Any:
    from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

    try:
        monitor = SystemMetricsMonitor(run.run_id, resume_logging=True, tracking_uri=run.outbox.writer.uri)
    except Exception as error:  # such as a container without a network, of which psutil says nothing
        logger.warning("no system metrics: %s", without_passwords(str(error)))
        return None
    monitor.start()
    return monitor
