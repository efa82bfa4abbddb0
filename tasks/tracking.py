"""MLflow, and nothing else: what came out of a run, with everything needed to make it again.

One parent run per *reproduction*, a child per stage and per evaluated arm. Stages belong to the same reproduction while
the git revision, uncommitted changes and params stay the same; the first stage that sees another combination (or another
store) opens a new parent. So a killed ``dvc repro`` goes on in its own parent, and stages DVC skips are simply not in it. The
current parent is kept in ``.fusesearch/reproduction.json``.

The store is ``sqlite:///mlflow.db`` in the project's root, MLflow's own default, unless ``MLFLOW_TRACKING_URI`` says otherwise.
Importing MLflow takes seconds: it happens inside functions.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.core.config import Params
from tasks.core.errors import ArtifactError, TrackingUnavailable
from tasks.core.layout import ARTIFACTS, STATE
from tasks.core.pipeline import flatten
from tasks.core.progress import digest, file_digest
from tasks.core.storage import read_json, write_json

if TYPE_CHECKING:
    from mlflow import MlflowClient

EXPERIMENT = "fusesearch"
REPRODUCTION = STATE / "reproduction.json"
DVC_LOCK = Path("dvc.lock")
COPIED_CHECKPOINT_BYTES = 256 * 1024**2
"""Checkpoints up to this size are copied into the run; larger ones are registered where they lie."""

_QUALITY = {
    f"{level}_{average}_{figure}": f"{figure} at {level} level, {words}"
    for level in ("file", "function")
    for average, words in (("micro", "counts pooled over instances"), ("macro", "mean over instances"))
    for figure in ("precision", "recall", "f1")
}
_RANKED = {
    f"{level}_{figure}": f"{words} at {level} level, mean over instances"
    for level in ("file", "function")
    for figure, words in (
        ("recall_at_1", "Recall@1"),
        ("recall_at_3", "Recall@3"),
        ("recall_at_5", "Recall@5"),
        ("map", "mean average precision"),
        ("mrr", "mean reciprocal rank"),
        ("ndcg_at_5", "nDCG@5"),
    )
}
METRICS: dict[str, str] = {
    **_QUALITY,
    **_RANKED,
    "f1_micro": "0.7 file F1 + 0.3 function F1, of the pooled figures",
    "f1_macro": "0.7 file F1 + 0.3 function F1, mean over instances",
    "efficiency": "tool efficiency e, history of earlier turns",
    "efficiency_call": "tool efficiency e, history of earlier turns and earlier calls of the turn",
    "redundancy": "share of an episode's calls with gain 0, history of earlier turns",
    "redundancy_call": "share of an episode's calls with gain 0, history of earlier turns and earlier calls of the turn",
    "f1_best": "F1 against the best of several accepted answers, mean over instances that have several",
    "reward": "reward R, mean over instances",
    "turns": "assistant messages per episode",
    "calls": "tool calls per episode",
    "calls_per_turn": "tool calls per turn that used tools",
    "failed_calls": "calls per episode that came back as an error",
    "seconds": "wall seconds per episode",
    "seconds_model": "seconds per episode spent in the model",
    "seconds_tools": "seconds per episode spent in tools",
    "seconds_waiting": "seconds per episode spent neither in the model nor in tools",
    "tokens_context": "length of the final conversation",
    "tokens_billed": "prompt and completion tokens over all requests of an episode",
    "tokens_prompt": "prompt tokens over all requests of an episode",
    "tokens_completion": "completion tokens over all requests of an episode",
    "instances": "instances with a score",
    "scores": "episodes with a score",
    "errored": "episodes without a score because the infrastructure failed",
}
"""Figures of an evaluated arm, in MLflow and in ``metrics.json``; shares or means unless they say otherwise."""


def tracking_uri() -> str:
    """The store in use: ``MLFLOW_TRACKING_URI``, or the project's own SQLite file."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{Path('mlflow.db').resolve()}"


class Run:
    """One MLflow run."""

    def __init__(self, client: MlflowClient, run_id: str, name: str, parent: Run | None = None) -> None:
        self.client = client
        self.run_id = run_id
        self.name = name
        self.parent = parent

    def log(self, metrics: Mapping[str, Any], step: int = 0) -> None:
        """Log the figures among ``metrics``; what is no number (or absent) is left out."""
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        figures = {_metric_name(key): float(value) for key, value in metrics.items() if _is_figure(value)}
        with _reachable():
            self.client.log_batch(self.run_id, metrics=[Metric(key, value, now, step) for key, value in figures.items()])

    def close_other(self, run_id: str) -> None:
        """Mark another run as killed if its process left it open. A run this store does not know is none to close."""
        from mlflow.exceptions import MlflowException

        try:
            status = self.client.get_run(run_id).info.status
        except MlflowException:
            return
        if status == "RUNNING":
            with _reachable():
                self.client.set_terminated(run_id, status="KILLED")

    def log_params(self, values: Mapping[str, Any]) -> None:
        """Log flat params; a value already logged is not changed."""
        from mlflow.entities import Param

        rows = [Param(key, str(value)[:6000]) for key, value in values.items()]
        with _reachable():
            for start in range(0, len(rows), 100):
                self.client.log_batch(self.run_id, params=rows[start : start + 100])

    def log_inputs(self, paths: Iterable[Path]) -> None:
        """Record datasets by path and digest: MD5 for files, as in ``dvc.lock``; over all files for folders."""
        from mlflow.entities import Dataset, DatasetInput, InputTag

        tag = InputTag("mlflow.data.context", self.name)
        sources = [(path.as_posix(), _dataset_digest(path)) for path in paths]
        inputs = [DatasetInput(Dataset(name, digest_, "local", json.dumps({"uri": name})), [tag]) for name, digest_ in sources]
        with _reachable():
            if inputs:
                self.client.log_inputs(self.run_id, datasets=inputs)

    def log_file(self, path: Path) -> None:
        """Keep a small file or folder with the run."""
        with _reachable():
            if path.is_dir():
                self.client.log_artifacts(self.run_id, str(path), path.name)
            else:
                self.client.log_artifact(self.run_id, str(path))

    def register(self, name: str, checkpoint: Path) -> str:
        """Make ``checkpoint`` a new version of the registered model ``name``; returns the version."""
        with _reachable():
            source = self._checkpoint_source(checkpoint)
            if not self.client.search_registered_models(f"name = '{name}'"):
                self.client.create_registered_model(name)
            version = self.client.create_model_version(name, source, self.run_id, tags={"path": checkpoint.as_posix()})
        return str(version.version)

    def _checkpoint_source(self, checkpoint: Path) -> str:
        size = sum(child.stat().st_size for child in checkpoint.rglob("*") if child.is_file())
        if size > COPIED_CHECKPOINT_BYTES:
            return checkpoint.resolve().as_uri()
        self.client.log_artifacts(self.run_id, str(checkpoint), "checkpoint")
        return f"{self.client.get_run(self.run_id).info.artifact_uri}/checkpoint"

    def log_on_reproduction(self, metrics: Mapping[str, Any]) -> None:
        """Log figures on the parent run, where they stand beside all params and can be compared across reproductions."""
        (self.parent or self).log(metrics)

    @contextmanager
    def arm(self, name: str) -> Iterator[Run]:
        """A child run for one evaluated arm, beside the stages of the same reproduction."""
        parent = self.parent or self
        with _child(parent, f"{self.name}/{name}", {"stage": self.name, "arm": name}) as run:
            yield run


@contextmanager
def stage_run(stage: str, params: Params, values: Mapping[str, Any], inputs: Iterable[Path]) -> Iterator[Run]:
    """The child run of one stage within the current reproduction; its state follows how the block ends.

    Args:
        stage: name of the stage.
        params: all params; they are logged on the parent.
        values: the flat params this stage reads; logged on the child.
        inputs: the stage's datasets and checkpoints.

    Raises:
        TrackingUnavailable: the tracking server does not answer.
    """
    parent = _reproduction(params)
    with _following(parent), _child(parent, stage, {"stage": stage}) as run:
        run.log_params(values)
        run.log_inputs(inputs)
        yield run


def summary(aggregate: Mapping[str, Any]) -> dict[str, Any]:
    """What :func:`tasks.evaluation.metrics.aggregate` gives, under the names of :data:`METRICS`."""
    flat = {_metric_name(key.replace(".", "_")): value for key, value in flatten(dict(aggregate)).items()}
    return {key: flat[key] for key in METRICS if key in flat}


@contextmanager
def _child(parent: Run, name: str, tags: dict[str, str]) -> Iterator[Run]:
    with _reachable():
        found = parent.client.get_run(parent.run_id)
        inherited: dict[str, str] = {key: found.data.tags[key] for key in ("profile", "seed") if key in found.data.tags}
        marks = {**_revision_tags(), **inherited, **tags, "mlflow.parentRunId": parent.run_id}
        created = parent.client.create_run(found.info.experiment_id, run_name=name, tags=marks)
    run = Run(parent.client, created.info.run_id, name, parent)
    with _following(run):
        yield run


@contextmanager
def _following(run: Run) -> Iterator[None]:
    """RUNNING within the block, then FINISHED, FAILED, or KILLED when it was interrupted."""
    _set_status(run, "RUNNING")
    status = "KILLED"
    try:
        yield
        status = "FINISHED"
    except Exception:
        status = "FAILED"
        raise
    finally:
        _set_status(run, status)


def _set_status(run: Run, status: str) -> None:
    with _reachable():
        if status == "RUNNING":
            run.client.update_run(run.run_id, status=status)
        else:
            run.client.set_terminated(run.run_id, status=status)


def _reproduction(params: Params) -> Run:
    """The parent run that belongs to this revision and these params; opened if there is none."""
    client = _client()
    key = digest(tracking_uri(), _git("rev-parse", "HEAD"), _git("diff", "HEAD", "--", *_SOURCES), params)
    known = _known_parent(client, key)
    if known:
        return known
    with _reachable():
        experiment = client.get_experiment_by_name(EXPERIMENT)
        experiment_id = experiment.experiment_id if experiment else client.create_experiment(EXPERIMENT)
        name = f"{params.profile} seed {params.seed} {_git('rev-parse', '--short', 'HEAD')}".strip()
        tags = {**_revision_tags(), "profile": params.profile, "seed": str(params.seed), "kind": "reproduction"}
        run = Run(client, client.create_run(experiment_id, run_name=name, tags=tags).info.run_id, name)
    run.log_params(flatten(params.model_dump(mode="json")))
    write_json(REPRODUCTION, {"key": key, "run_id": run.run_id})
    return run


def _known_parent(client: MlflowClient, key: str) -> Run | None:
    from mlflow.exceptions import MlflowException

    try:
        record = read_json(REPRODUCTION)
        if record["key"] != key:
            return None
        found = client.get_run(record["run_id"])
    except (ArtifactError, KeyError, TypeError, MlflowException):
        return None
    return Run(client, found.info.run_id, found.info.run_name) if found.info.lifecycle_stage == "active" else None


def _client() -> MlflowClient:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    uri = tracking_uri()
    if uri.startswith(("http://", "https://")):
        _check_server(uri)
    _quiet_migrations()
    with _reachable():
        from mlflow import MlflowClient

        return MlflowClient(uri)


def _quiet_migrations() -> None:
    """Keep the hundred lines that making a new SQLite store prints off the terminal."""
    import logging

    for name in ("alembic", "mlflow.store.db.utils", "mlflow.store.workspace"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _check_server(uri: str) -> None:
    """Ask once before MLflow does, which would retry for minutes."""
    import httpx

    try:
        httpx.get(f"{uri.rstrip('/')}/health", timeout=10)
    except httpx.HTTPError as error:
        raise TrackingUnavailable(
            f"the MLflow server at {uri} does not answer ({type(error).__name__}): start it, or unset MLFLOW_TRACKING_URI"
        ) from None


@contextmanager
def _reachable() -> Iterator[None]:
    """Turn what MLflow raises into one clear line."""
    from mlflow.exceptions import MlflowException

    try:
        yield
    except (MlflowException, OSError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise TrackingUnavailable(f"MLflow at {tracking_uri()} failed: {first}") from error


_SOURCES = (".", f":(exclude){DVC_LOCK}", f":(exclude){ARTIFACTS}")
"""What counts as the project's own content: not what a running reproduction itself writes."""


def _revision_tags() -> dict[str, str]:
    dirty = bool(_git("status", "--porcelain", "--", *_SOURCES))
    tags = {"git.revision": _git("rev-parse", "HEAD") or "none", "git.dirty": str(dirty).lower()}
    tags["dvc.revision"] = file_digest(DVC_LOCK) if DVC_LOCK.exists() else "none"
    return tags


def _git(*arguments: str) -> str:
    """Output of a git command, empty outside a repository."""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, errors="replace", check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _dataset_digest(path: Path) -> str:
    return file_digest(path) if path.is_file() else digest(path)[:32]


def _metric_name(key: str) -> str:
    """MLflow takes no ``@`` in names."""
    return key.replace("@", "_at_")


def _is_figure(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
