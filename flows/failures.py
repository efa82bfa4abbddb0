"""What to do about a stage that failed, shown with its run in Prefect: which inputs are missing, who makes them, what to run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prefect import Flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import ArtifactCreate
from prefect.client.schemas.objects import FlowRun, State

from tasks.core.config import load_params
from tasks.core.errors import ConfigError, FusesearchError, InfrastructureError
from tasks.core.layout import NODES
from tasks.core.node import Node
from tasks.core.pipeline import producer_of
from tasks.experiments.dvc_file import TARGET


def watched(stage: str) -> dict[str, Any]:
    """Options of a flow that runs ``stage``: when it fails, or its process is killed, an artifact of the run says what to do."""

    def explain(flow: Flow[..., Any], run: FlowRun, state: State[Any]) -> None:
        error = None if state.is_crashed() else state.result(raise_on_failure=False)
        error = error if isinstance(error, BaseException) else None
        text = advice(_node(stage, run), error, state.message or "", tried=_is_filled(run.parameters))
        _show(f"{stage.replace('_', '-')}-failure", text, run)

    return {"on_failure": [explain], "on_crashed": [explain]}


def _show(key: str, text: str, run: FlowRun) -> None:
    with get_client(sync_client=True) as client:
        client.create_artifact(
            ArtifactCreate(key=key, type="markdown", description="What failed and what to do", data=text, flow_run_id=run.id)
        )


def advice(node: Node, error: BaseException | None, message: str = "", tried: bool = False) -> str:
    """Markdown: what happened to a run of a stage, the inputs it lacks and the command that makes each, what to run afterwards.

    ``error`` is None for a process that was killed; ``message`` is then all that is known. ``tried``: the run is of a deployment
    whose form was filled in.
    """
    rows = [f"- `{path}` is missing: `{_command(path)}`" for path in _missing(node)]
    missing = ["", "Missing inputs:", "", *rows] if rows else []
    again = _again(node, tried)
    last = f"Then run {again}." if rows else _last(error, again)
    return "\n".join([f"**{node.name}**: {_what(error, message)}", *missing, "", last])


def _is_filled(parameters: Mapping[str, Any]) -> bool:
    """Whether params are among the parameters of a run, as forms have them; ``again`` and ``node`` are none."""
    values = [value for name, value in parameters.items() if name not in ("again", "node")]
    return any(_is_filled(value) if isinstance(value, Mapping) else value is not None for value in values)


def _node(stage: str, run: FlowRun) -> Node:
    """What the run was of: the main pipeline's stage, or a node of it."""
    given = run.parameters.get("node")
    return Node.model_validate(given) if given else Node(stage=stage)


def _missing(node: Node) -> list[Path]:
    try:
        spec = node.spec(node.params(load_params()))
    except ConfigError:  # which is then what the run failed for
        return []
    return [path for path in spec.inputs if not path.exists()]


def _what(error: BaseException | None, message: str) -> str:
    if error is None:
        return f"its process ended before it was finished. {message}".strip()
    if isinstance(error, FusesearchError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def _last(error: BaseException | None, again: str) -> str:
    if isinstance(error, ConfigError):
        return f"Mend the params, then run {again}."
    if error is None or isinstance(error, InfrastructureError | OSError):
        return f"Run {again}: it goes on where it stopped."
    return f"Mend what the line above names, then run {again}. The log of the run has the whole error."


def _command(path: Path) -> str:
    if NODES in path.parents:
        return f"dvc repro {_target(path.relative_to(NODES).parts[0])}"
    producer = producer_of(path)
    return f"dvc repro {producer}" if producer else "git checkout, or dvc pull"


def _again(node: Node, tried: bool) -> str:
    """What runs it again: DVC, which knows the pipeline and the runs of experiments; else the deployment it was tried with."""
    known = not node.id or (TARGET.exists() and f"\n  {node.id}:\n" in TARGET.read_text(encoding="utf-8"))
    if tried or not known:
        return f"the deployment `stage/{node.stage}` with the same values"
    return f"`dvc repro {_target(node.name)}`"


def _target(name: str) -> str:
    """How DVC is told a stage, or a run of an experiment."""
    return f"{TARGET}:{name}" if "-" in name else name
