"""What to do about a stage that failed: which of its inputs are missing, who makes them, what to run. Shown with the run in Prefect."""

from __future__ import annotations

from typing import Any

from prefect import Flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import ArtifactCreate
from prefect.client.schemas.objects import FlowRun, State

from tasks.core.errors import ConfigError, FusesearchError, InfrastructureError
from tasks.core.pipeline import missing_inputs, producer_of, stage_names


def explain(flow: Flow[..., Any], run: FlowRun, state: State[Any]) -> None:
    """Failure hook: a Markdown artifact of the run that says what is missing and what to run."""
    name = stage_of(flow.name)
    error = None if state.is_crashed() else state.result(raise_on_failure=False)
    text = advice(name, error if isinstance(error, BaseException) else None, state.message or "")
    key = f"{flow.name.replace('_', '-')}-failure"
    artifact = ArtifactCreate(key=key, type="markdown", description="What failed and what to do", data=text, flow_run_id=run.id)
    with get_client(sync_client=True) as client:
        client.create_artifact(artifact)


WATCHED: dict[str, Any] = {"on_failure": [explain], "on_crashed": [explain]}
"""Options of the flow of a stage."""


def stage_of(flow_name: str) -> str:
    """The stage of ``dvc.yaml`` whose flow this is; a flow that is of no stage keeps its name."""
    names = {name.replace("_", "-"): name for name in stage_names()}
    return names.get(flow_name, flow_name)


def advice(stage: str, error: BaseException | None, message: str = "") -> str:
    """Markdown: what happened, the inputs that are missing and the command that makes each, what to run afterwards.

    ``error`` is None for a process that was killed; ``message`` is then all that is known.
    """
    known = stage in stage_names()
    rows = [f"- `{path}` is missing: `{_command(producer_of(path))}`" for path in (missing_inputs(stage) if known else [])]
    missing = ["", "Missing inputs:", "", *rows] if rows else []
    again = f"`dvc repro {stage}`" if known else "the same run"
    last = f"Then run {again}." if rows else _last(error, again)
    return "\n".join([f"**{stage}**: {_what(error, message)}", *missing, "", last])


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


def _command(producer: str | None) -> str:
    return f"dvc repro {producer}" if producer else "git checkout, or dvc pull"
