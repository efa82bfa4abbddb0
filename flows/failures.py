"""What to do about a stage that failed, shown with its run in Prefect: which inputs are missing, who makes them, what to run."""

from __future__ import annotations

from typing import Any

from prefect import Flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import ArtifactCreate
from prefect.client.schemas.objects import FlowRun, State

from tasks.core.errors import ConfigError, FusesearchError, InfrastructureError
from tasks.core.pipeline import missing_inputs, producer_of, stage_names


def watched(stage: str) -> dict[str, Any]:
    """Options of a flow that runs ``stage``: when it fails, or its process is killed, an artifact of the run says what to do."""

    def explain(flow: Flow[..., Any], run: FlowRun, state: State[Any]) -> None:
        error = None if state.is_crashed() else state.result(raise_on_failure=False)
        text = advice(stage, error if isinstance(error, BaseException) else None, state.message or "")
        _show(f"{stage.replace('_', '-')}-failure", text, run)

    return {"on_failure": [explain], "on_crashed": [explain]}


def _show(key: str, text: str, run: FlowRun) -> None:
    with get_client(sync_client=True) as client:
        client.create_artifact(
            ArtifactCreate(key=key, type="markdown", description="What failed and what to do", data=text, flow_run_id=run.id)
        )


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
