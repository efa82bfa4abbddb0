"""What a stage tells Prefect's listeners and automations when it ends: what is new, and what it was given and made nothing of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from prefect.events import emit_event
from prefect.logging import get_run_logger

from fusesearch.core.overrides import flatten
from fusesearch.core.storage import read_json
from tasks.running.node import Job
from tasks.running.record import RunRecord

LOST = ("errored", "dropped_too_long")
"""Last parts of figures that count what a stage was given and could not use."""


def tell(job: Job, done: RunRecord, run_id: str, earlier: Sequence[Mapping[str, str]]) -> None:
    """Emit the events of a stage that ended, with the ids that DVC and MLflow have for it.

    ``fusesearch.checkpoint.new`` and ``fusesearch.dataset.new``: no ``earlier`` run's outputs are these bytes.
    ``fusesearch.stage.lost``: it ended with less than it was given, which is also a warning in its log and on the terminal.
    """
    about = {"stage": done.stage, "mlflow.run": run_id, "dvc.revision": done.dvc_revision, "git.revision": done.git_revision}
    for name in job.stage.shared:
        path = job.output(name).as_posix()
        if all(outputs.get(path) != done.outputs[path] for outputs in earlier):
            resource = {"prefect.resource.id": f"fusesearch.{job.node.name}.{name}", "digest": done.outputs[path], "path": path}
            kind = "checkpoint" if name == "checkpoint" else "dataset"
            emit_event(f"fusesearch.{kind}.new", resource | about, payload={"metrics": done.metrics})
    if lost := list(lost_by(job)):
        get_run_logger().warning("%s ended with less than it was given: %s", job.node.name, "; ".join(lost))
        resource = {"prefect.resource.id": f"fusesearch.{job.node.name}"}
        emit_event("fusesearch.stage.lost", resource | about, payload={"lost": lost})


def lost_by(job: Job) -> Iterator[str]:
    """What a stage was given and made nothing of, in words: repositories by name, instances, episodes."""
    if job.stage.name == "mine":
        table = read_json(job.output("table"))
        yield from (f"{repo}: {reason}" for repo, reason in table["skipped"].items())
        yield from (f"{row['repo']}: no pair" for row in table["repositories"] if not row.get("pairs", row.get("kept")))
    for name, value in flatten(job.metrics).items():
        if name.rpartition(".")[2] in LOST and value:
            yield f"{name}: {value:g}"
