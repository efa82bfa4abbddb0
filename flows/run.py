"""A named Prefect flow for every stage of the table; ``python -m flows.run STAGE`` runs one, as ``dvc repro`` does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from prefect import Flow, flow, task

from flows.command import run_prepared
from flows.fan_out import fan_out
from flows.retries import ONCE, RETRIED
from flows.stage import is_complete, running
from fusesearch.core.errors import ConfigError
from tasks.running.node import Job, Node, parse_node
from tasks.stages import STAGES, Stage, stage_named


def stage_flow(stage: Stage) -> Flow[..., dict[str, Any]]:
    """The flow of a stage: one task does the work, and what it made is checked, recorded and shown.

    Made only for the stage that runs: Prefect takes 0.2 s to describe the params of each.
    """

    function = stage.run.partition(":")[2].replace("_", " ")

    @task(name=function, **(RETRIED if stage.retried else ONCE))
    def work(job: Job) -> dict[str, Any]:
        return stage.function()(job)

    @flow(name=stage.name.replace("_", "-"), flow_run_name=stage.name, description=stage.description)
    def run(node: Node | None = None) -> dict[str, Any]:
        with running(node or Node(stage=stage.name)) as job:
            if stage.divided:
                fan_out(job)
            job.part = _part
            job.metrics = work(job)
        return job.metrics

    return run


def _part(name: str, work: Callable[[], Any]) -> Any:
    @task(name=name, **ONCE)
    def part() -> Any:
        return work()

    return part()


def main(arguments: Sequence[str]) -> None:
    """Run the stage that the command line names: its main run, or a node of it."""

    def prepare() -> Callable[[], object]:
        if not arguments or arguments[0].startswith("-"):
            raise ConfigError(f"usage: python -m flows.run STAGE [--node=ID]; stages are {', '.join(STAGES)}")
        node = parse_node(stage_named(arguments[0]).name, arguments[1:])
        return partial(stage_flow(STAGES[node.stage]), node)

    run_prepared(prepare, is_done=lambda: any(map(is_complete, (*STAGES, *arguments[1:2]))))


if __name__ == "__main__":
    main(sys.argv[1:])
