"""What to do about a flow that failed, shown with its run in Prefect: which inputs are missing, who makes them, what to run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from prefect import Flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import ArtifactCreate
from prefect.client.schemas.objects import FlowRun, State

from tasks.core.config import load_params
from tasks.core.errors import AlreadyRunning, ConfigError, FusesearchError, InfrastructureError
from tasks.pipeline.experiments.dvc_file import NODES_FILE, target
from tasks.pipeline.node import Node
from tasks.pipeline.places import MAIN, NODES, producer_of
from tasks.pipeline.stages import STAGES, stage_named


def watched(stage: str) -> dict[str, Any]:
    """Options of a flow that runs ``stage``: when it fails, or its process is killed, an artifact of the run says what to do."""

    def words(run: FlowRun, error: BaseException | None, message: str) -> str:
        return advice(_node(stage, run), error, message, tried=_is_filled(run.parameters))

    return _explained(f"{stage.replace('_', '-')}-failure", words)


def explained(
    name: str, again: Callable[[Mapping[str, Any]], str], inputs: Callable[[Mapping[str, Any]], Iterable[Path]]
) -> dict[str, Any]:
    """Options of a flow that is no stage, as :func:`watched` has them.

    Args:
        name: what it is called; the artifact's key is ``<name>-failure``.
        again: by the run's parameters, what runs it again.
        inputs: by the run's parameters, what it reads and does not make.
    """

    def words(run: FlowRun, error: BaseException | None, message: str) -> str:
        try:
            missing = [path for path in inputs(run.parameters) if not path.exists()]
        except FusesearchError:  # a file that says what the inputs are cannot be read: which is then what the run failed for
            missing = []
        return _page(name, error, message, missing, again(run.parameters))

    return _explained(f"{name}-failure", words)


def from_outside(stages: Iterable[str]) -> list[Path]:
    """Inputs of stages of the main pipeline that no stage makes."""
    read = (MAIN.input(name) for stage in stages for name in stage_named(stage).inputs)
    return list(dict.fromkeys(path for path in read if producer_of(path) is None))


def staged_until(parameters: Mapping[str, Any], last: str) -> list[Path]:
    """What a flow over the pipeline's stages, up to ``until`` or ``last``, reads and does not make."""
    names = list(STAGES)
    until = str(parameters.get("until") or last)
    return from_outside(names[: names.index(until) + 1] if until in names else [])


def deployed(name: str, command: str) -> str:
    """What runs a flow again that was begun by its deployment, or by hand."""
    return f"the deployment `{name}` with the same values (by hand: `{command}`)"


def _explained(key: str, words: Callable[[FlowRun, BaseException | None, str], str]) -> dict[str, Any]:
    def explain(flow: Flow[..., Any], run: FlowRun, state: State[Any]) -> None:
        error = None if state.is_crashed() else state.result(raise_on_failure=False)
        _show(key, words(run, error if isinstance(error, BaseException) else None, state.message or ""), run)

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
    return _page(node.name, error, message, _missing(node), _again(node, tried))


def _page(name: str, error: BaseException | None, message: str, missing: Iterable[Path], again: str) -> str:
    rows = [f"- `{path}` is missing: `{_command(path)}`" for path in missing]
    last = f"Then run {again}." if rows else _last(error, again)
    return "\n".join([f"**{name}**: {_what(error, message)}", *(["", "Missing inputs:", "", *rows] if rows else []), "", last])


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
        read = node.inputs(node.params(load_params()))
    except ConfigError:  # which is then what the run failed for
        return []
    return [path for path in read if not path.exists()]


def _what(error: BaseException | None, message: str) -> str:
    if error is None:
        return f"its process ended before it was finished. {message}".strip()
    if isinstance(error, FusesearchError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def _last(error: BaseException | None, again: str) -> str:
    if isinstance(error, AlreadyRunning):
        return f"Wait until the other one has ended, or stop it, then run {again}."
    if isinstance(error, ConfigError):
        return f"Mend the params, then run {again}."
    if error is None or isinstance(error, InfrastructureError | OSError):
        return f"Run {again}: it goes on where it stopped."
    return f"Mend what the line above names, then run {again}. The log of the run has the whole error."


def _command(path: Path) -> str:
    if NODES in path.parents:
        name = path.relative_to(NODES).parts[0]
        return f"dvc repro {target(Node(stage=name.rpartition('-')[0], id=name))}"
    producer = producer_of(path)
    return f"dvc repro {producer}" if producer else "git checkout, or dvc pull"


def _again(node: Node, tried: bool) -> str:
    """What runs it again: DVC, which knows the pipeline and the nodes of experiments; else the deployment it was tried with."""
    known = not node.id or (NODES_FILE.exists() and f"\n  {node.id}: " in NODES_FILE.read_text(encoding="utf-8"))
    if tried or not known:
        return f"the deployment `stage/{node.stage}` with the same values"
    return f"`dvc repro {target(node)}`"
