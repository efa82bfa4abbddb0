"""Flows that operators start from Prefect: one stage, with its params as a form. :mod:`flows.deployments` registers them.

A stage that is run as it is in ``params.yaml`` is the pipeline's own. One whose form was filled in is a try beside it, in a
folder of its own below ``artifacts/nodes``; the pipeline's artifacts stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from inspect import Parameter, Signature
from typing import Any

from prefect import Flow, flow
from prefect.logging import get_run_logger

from flows.failures import watched
from flows.forms import changes, forms_of, plain_of
from flows.pipeline import run_and_record
from flows.run import FLOWS
from tasks.core.config import load_params
from tasks.core.overrides import override
from tasks.pipeline.node import Node
from tasks.pipeline.resume import input_digest
from tasks.pipeline.stages import stage_named

NO_TRY = ("report",)
"""Stages without a form: the report is of all artifacts and has no folder of its own."""


def staged(stage: str) -> Flow[..., Any]:
    """A flow that runs ``stage``; its parameters are what the stage reads of ``params.yaml``."""
    read = () if stage in NO_TRY else stage_named(stage).params
    forms, plain = forms_of(read), plain_of(read)

    def run(again: bool = False, **filled: Any) -> bool:
        return _run(stage, again, changes(filled))

    parameters = [
        Parameter("again", Parameter.KEYWORD_ONLY, default=False, annotation=bool),
        *(Parameter(name, Parameter.KEYWORD_ONLY, default=form(), annotation=form) for name, form in forms.items()),
        *(Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind) for name, kind in plain.items()),
    ]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__name__ = f"{stage}_stage"
    run.__module__ = __name__
    run.__doc__ = _words(stage, [*forms, *plain])
    return flow(name="stage", flow_run_name=stage, **watched(stage))(run)  # what fails here may not come to the flow inside


def _words(stage: str, names: Iterable[str]) -> str:
    sections = "".join(
        f"\n    {name}: Other values than those of params.yaml; then the result is a try beside the pipeline." for name in names
    )
    return f"Run {stage}.\n\nArgs:\n    again: Run it even if nothing has changed.{sections}\n"


def _run(stage: str, again: bool, changed: dict[str, Any]) -> bool:
    if not changed:
        return run_and_record(stage, again)
    node = a_try(stage, changed)
    if node.places[f"{stage}.metrics"].exists() and not again:
        get_run_logger().info("%s: was tried before, %s", stage, node.folder)
        return False
    FLOWS[stage](node)
    return True


def a_try(stage: str, changed: dict[str, Any]) -> Node:
    """The node of a stage with other params, on the main pipeline's inputs; the same inputs and params are the same node.

    Raises :class:`ConfigError` for an unknown param or a value out of range, :class:`ArtifactError` where an input is missing.
    """
    whole = override(load_params(), changed, stage)
    read = Node(stage=stage).deps(whole)
    return Node(stage=stage, id=f"{stage}-{input_digest(stage_named(stage).values(whole), *read)[:8]}", set=changed)


mine_stage = staged("mine")
filter_stage = staged("filter")
split_stage = staged("split")
synthesize_stage = staged("synthesize")
select_stage = staged("select")
sft_stage = staged("sft")
grpo_stage = staged("grpo")
grpo_from_base_stage = staged("grpo_from_base")
evaluate_stage = staged("evaluate")
report_stage = staged("report")

STAGE_FLOWS = {
    "mine": mine_stage,
    "filter": filter_stage,
    "split": split_stage,
    "synthesize": synthesize_stage,
    "select": select_stage,
    "sft": sft_stage,
    "grpo": grpo_stage,
    "grpo_from_base": grpo_from_base_stage,
    "evaluate": evaluate_stage,
    "report": report_stage,
}
"""By the name of the stage."""
