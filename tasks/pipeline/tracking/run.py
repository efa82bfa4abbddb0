"""One run: what a stage, an arm or an experiment says about itself."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.core.digests import digest
from tasks.core.errors import ArtifactError
from tasks.core.storage import read_json
from tasks.pipeline.tracking.datasets import describe_inputs
from tasks.pipeline.tracking.outbox import Outbox
from tasks.pipeline.tracking.revision import revision_tags
from tasks.pipeline.tracking.store import shown
from tasks.pipeline.tracking.writes import Write
from tasks.reporting.names import metric_name

if TYPE_CHECKING:
    from mlflow import MlflowClient

EXPERIMENT = "fusesearch"
"""MLflow's experiment for reproductions and grids; those of the project's experiments are ``fusesearch/<name>``."""

Point = tuple[str, int, float]
"""Name, step, value."""


class Run:
    """One MLflow run. ``key`` is what its client calls it; ``run_id`` is "" while a store that is away has not given it one.

    None of its methods raises because the store is away: what it does not take is kept (:mod:`tasks.pipeline.tracking.outbox`).
    """

    def __init__(self, outbox: Outbox, name: str, key: str, run_id: str = "", parent: Run | None = None) -> None:
        self.outbox = outbox
        self.name = name
        self.key = key
        self.parent = parent
        self.of = parent.key if parent else ""
        self.tags: Mapping[str, str] = {}
        self.experiment: str = parent.experiment if parent else EXPERIMENT
        self._run_id = run_id

    @property
    def run_id(self) -> str:
        """The run's id in the store."""
        return self.outbox.writer.id_of(self.key) or self._run_id

    @property
    def record(self) -> dict[str, str]:
        """What a later process needs to go on in this run; ``of`` is the parent or node it belongs to."""
        return {"run": self.key, "run_id": self.run_id, "of": self.of}

    @property
    def client(self) -> MlflowClient:
        """MLflow's own client, to read what is there."""
        return self.outbox.writer.client

    @property
    def complete(self) -> bool:
        """Whether this run, which is recorded once, was there and finished: writing to it changes nothing."""
        return self.outbox.writer.is_complete(self.key)

    def write(self, kind: str, **data: Any) -> str:
        """Make one write of :mod:`tasks.pipeline.tracking.writes`."""
        store = shown(self.outbox.writer.uri)
        return self.outbox.send(Write(store=store, run=self.key, run_id=self.run_id, kind=kind, data=data))

    def close(self, left: Mapping[str, str]) -> None:
        """Close another run, of which ``left`` is the :attr:`record`, if the process that wrote it was killed."""
        if left["run_id"]:
            Run(self.outbox, "", left["run"], left["run_id"]).write("close")

    def log(self, metrics: Mapping[str, Any], step: int = 0) -> None:
        """Log the figures among ``metrics``; what is no number (or absent) is left out.

        A point of a curve (``step`` above 0) that the run has is not logged again, nor is a figure that has not changed.
        """
        self.log_points((metric_name(key), step, float(value)) for key, value in metrics.items() if _is_figure(value))

    def log_points(self, points: Iterable[Point]) -> None:
        """Log points of curves, many at once."""
        rows = list(points)
        if rows:
            self.write("metrics", points=rows)

    def log_params(self, values: Mapping[str, Any]) -> None:
        """Log flat params; a value already logged is not changed."""
        if values:
            self.write("params", values={key: str(value) for key, value in values.items()})

    def set_tags(self, tags: Mapping[str, Any]) -> None:
        """Set tags; what MLflow's search filters and groups by."""
        if tags:
            self.write("tags", tags={key: str(value) for key, value in tags.items()})

    def describe(self, markdown: str) -> None:
        """The description on the run's page."""
        self.set_tags({"mlflow.note.content": markdown})

    def log_inputs(self, paths: Iterable[Path]) -> None:
        """Record datasets by path, digest, schema and what they are for (:mod:`tasks.pipeline.tracking.datasets`)."""
        rows = describe_inputs(paths, self.tags.get("stage", self.name))
        if rows:
            self.write("inputs", datasets=rows)

    def log_file(self, path: Path, folder: str = "") -> None:
        """Keep a small file or folder with the run, below ``folder``."""
        self.write("file", path=str(path), folder=folder)

    def log_text(self, text: str, file: str) -> None:
        """Keep a text, such as a page of HTML, as the file ``file`` of the run."""
        self.write("text", text=text, file=file)

    def log_table(self, columns: Mapping[str, Sequence[Any]], file: str) -> None:
        """A table of the run, which MLflow shows and compares across runs; it takes the place of one that is there."""
        self.write("table", columns=dict(columns), file=file)

    def register(self, name: str, checkpoint: Path, tags: Mapping[str, str] | None = None, alias: str = "") -> str:
        """Make ``checkpoint`` a version of the registered model ``name``; returns the version, "" where it is made later.

        A checkpoint that is a version already, of whatever run, keeps it. ``alias`` is moved to it.
        """
        marks = {**(tags or {}), "path": checkpoint.as_posix(), "digest": digest(checkpoint)}
        return self.write("register", name=name, path=str(checkpoint.resolve()), tags=marks, alias=alias)

    def contend(self, name: str, arms: Mapping[Path, Run], base: Run) -> str:
        """Let checkpoints contend for ``@champion`` of the registered model ``name``, each with the run that holds its scores.

        Returns the version that is the champion now; "" where there is none, or where it is decided later.
        """
        measured = {digest(checkpoint): (run.key, run.run_id) for checkpoint, run in arms.items()}
        return self.write("contend", name=name, arms=measured, base=(base.key, base.run_id))

    def log_on_reproduction(self, metrics: Mapping[str, Any]) -> None:
        """Log figures on the parent run, where they stand beside all params and can be compared across reproductions."""
        (self.parent or self).log(metrics)

    @contextmanager
    def arm(self, name: str) -> Iterator[Run]:
        """A child run for one evaluated arm, beside the stages of the same reproduction; the same one when asked again."""
        tags = {"stage": self.name, "arm": name}
        key = digest(self.key, name)[:32]
        run = create(self.outbox, f"{self.name}/{name}", tags, parent=self.parent or self, key=key)
        with following(run):
            yield run


def create(
    outbox: Outbox,
    name: str,
    tags: Mapping[str, str],
    *,
    parent: Run | None = None,
    experiment: str = "",
    key: str = "",
    once: bool = False,
) -> Run:
    """The run with this key, or a new one; profile and seed are the parent's unless ``tags`` say otherwise.

    ``once``: a run that is there and finished is left as it is, whatever is written to it.
    """
    run = Run(outbox, name, key or uuid.uuid4().hex, parent=parent)
    run.experiment = experiment or run.experiment
    inherited = {name: value for name, value in (parent.tags if parent else {}).items() if name in ("profile", "seed")}
    run.tags = {**inherited, **tags}
    above = {"parent": parent.key, "parent_id": parent.run_id} if parent else {}
    run.write("create", experiment=run.experiment, name=name, tags={**revision_tags(), **run.tags}, once=once, **above)
    return run


def remembered_key(record: Path, belongs: str) -> tuple[str, bool]:
    """The key of the run that ``record`` keeps for what ``belongs`` digests, and True; else a new key, and False."""
    try:
        known = read_json(record)
        if known["belongs"] == belongs:
            return str(known["run"]), True
    except (ArtifactError, KeyError, TypeError):
        pass
    return uuid.uuid4().hex, False


@contextmanager
def following(run: Run) -> Iterator[None]:
    """RUNNING within the block, then FINISHED, FAILED, or KILLED when it was interrupted."""
    run.write("status", status="RUNNING")
    status = "KILLED"
    try:
        yield
        status = "FINISHED"
    except Exception:
        status = "FAILED"
        raise
    finally:
        run.write("status", status=status)


def _is_figure(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
