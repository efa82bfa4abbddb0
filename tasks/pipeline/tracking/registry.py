"""Versions of checkpoints in MLflow's model registry: one registered model per profile, ``fusesearch-<profile>``.

The alias ``@<stage>`` is the newest checkpoint of a stage of the main pipeline. ``@champion`` is the best on the held-out
instances: it moves only when a checkpoint beats the one that holds it, instance by instance
(:mod:`tasks.evaluation.champion`); while nobody holds it, the base model has to be beaten. Why it moved, and why not, stands in
the versions' descriptions and with the run of the evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tasks.core.digests import digest
from tasks.core.errors import DataError
from tasks.core.schema import Score
from tasks.core.storage import read_jsonl
from tasks.evaluation.champion import Contest, hold, winner

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities.model_registry import ModelVersion

CHAMPION = "champion"
SCORES = "scores.jsonl"
"""The artifact of an arm's run that holds its scores."""
SCORES_RUN = "scores_run"
"""Tag of a version: the run that measured it last."""
COPIED_CHECKPOINT_BYTES = 256 * 1024**2
"""Checkpoints up to this size are copied into the run; larger ones are registered where they lie."""


def model_name(profile: str) -> str:
    """The registered model whose versions are the checkpoints of a profile."""
    return f"fusesearch-{profile}"


def register(client: MlflowClient, run_id: str, data: Mapping[str, Any]) -> str:
    """Make a checkpoint a version of a registered model, or find the version that it is; returns the version.

    Raises :class:`DataError` where the checkpoint is no longer what was to be registered.
    """
    name, path, tags = data["name"], Path(data["path"]), data["tags"]
    known = find_version(client, name, tags["digest"])
    version = str(known.version) if known else _new_version(client, run_id, name, path, tags)
    if data.get("alias"):
        client.set_registered_model_alias(name, data["alias"], version)
    return version


def find_version(client: MlflowClient, name: str, checkpoint: str) -> ModelVersion | None:
    """The newest version of a registered model that is the checkpoint with this digest."""
    found = client.search_model_versions(f"name = '{name}' and tags.digest = '{checkpoint}'")
    return max(found, key=lambda row: int(row.version), default=None)


def _new_version(client: MlflowClient, run_id: str, name: str, path: Path, tags: Mapping[str, str]) -> str:
    if not path.exists() or digest(path) != tags["digest"]:
        raise DataError(f"{path} was to be registered as {name} and has changed since")
    if not client.search_registered_models(f"name = '{name}'"):
        client.create_registered_model(name)
    return str(client.create_model_version(name, _source(client, run_id, path), run_id, tags=dict(tags)).version)


def _source(client: MlflowClient, run_id: str, checkpoint: Path) -> str:
    size = sum(child.stat().st_size for child in checkpoint.rglob("*") if child.is_file())
    if size > COPIED_CHECKPOINT_BYTES:
        return checkpoint.resolve().as_uri()
    client.log_artifacts(run_id, str(checkpoint), "checkpoint")
    return f"{client.get_run(run_id).info.artifact_uri}/checkpoint"


@dataclass(frozen=True)
class Measured:
    """A version with the scores that an evaluation gave it."""

    version: ModelVersion
    scores: Sequence[Score]

    @property
    def title(self) -> str:
        """How sentences call it."""
        return f"version {self.version.version} ({self.version.tags.get('stage', 'checkpoint')})"


def contend(client: MlflowClient, run_id: str, name: str, arms: Mapping[str, str], base: str) -> str:
    """Let the checkpoints of an evaluation contend for ``@champion``; returns the version that holds it now, "" for none.

    An evaluation is judged once: asked again for the same run, nothing changes.

    Args:
        client: of the store.
        run_id: run of the evaluation; it keeps the outcome as ``champion.md``.
        name: the registered model.
        arms: digests of checkpoints and the ids of the runs that hold their scores. One that is no version is left out.
        base: id of the run that holds the base model's scores.
    """
    if CHAMPION in client.get_run(run_id).data.tags:
        known = champion(client, name)
        return str(known.version) if known else ""
    measured = {row.title: row for row in _measure(client, name, arms)}
    holder = _holder(client, name)
    rivals = {title: row for title, row in measured.items() if holder is None or row.version.version != holder.version.version}
    held_by, scores = (holder.title, holder.scores) if holder else ("the base model", _scores(client, base))
    contests = hold({title: row.scores for title, row in rivals.items()}, held_by, scores)
    best = winner(contests)
    for contest in contests:
        _note(client, rivals[contest.challenger].version, contest.sentence)
    if best:
        _crown(client, name, rivals[best.challenger].version, holder, best)
    client.log_text(run_id, _report(held_by, contests, best), "champion.md")
    client.set_tag(run_id, CHAMPION, best.sentence if best else f"{held_by} stays")
    now = rivals[best.challenger] if best else holder
    return str(now.version.version) if now else ""


def _measure(client: MlflowClient, name: str, arms: Mapping[str, str]) -> list[Measured]:
    """The versions that were measured, each with a note of the run that did."""
    found = []
    for checkpoint, scores_run in arms.items():
        version = find_version(client, name, checkpoint)
        if version:
            client.set_model_version_tag(name, version.version, SCORES_RUN, scores_run)
            found.append(Measured(version, _scores(client, scores_run)))
    return found


def _holder(client: MlflowClient, name: str) -> Measured | None:
    """The version with the alias and its scores; ``None`` where nobody has it.

    Where its run was deleted it has no scores, so nobody can beat it until it is measured again.
    """
    version = champion(client, name)
    if version is None:
        return None
    run = version.tags.get(SCORES_RUN, "")
    try:
        return Measured(version, _scores(client, run) if run else [])
    except DataError:
        return Measured(version, [])


def champion(client: MlflowClient, name: str) -> ModelVersion | None:
    """The version of a registered model that is the champion, if one is."""
    from mlflow.exceptions import MlflowException

    try:
        return client.get_model_version_by_alias(name, CHAMPION)
    except MlflowException as error:
        if error.get_http_status_code() >= 500:
            raise
        return None


def _scores(client: MlflowClient, run_id: str) -> list[Score]:
    """The scores a run holds. Raises :class:`DataError` where it holds none."""
    if SCORES not in {file.path for file in client.list_artifacts(run_id)}:
        raise DataError(f"run {run_id} of MLflow holds no {SCORES}")
    with TemporaryDirectory() as folder:
        return list(read_jsonl(Path(client.download_artifacts(run_id, SCORES, folder)), Score))


def _crown(client: MlflowClient, name: str, version: ModelVersion, before: Measured | None, contest: Contest) -> None:
    client.set_registered_model_alias(name, CHAMPION, version.version)
    client.set_registered_model_tag(name, CHAMPION, contest.sentence)
    client.set_model_version_tag(name, version.version, "champion.because", contest.sentence)
    if before:
        client.set_model_version_tag(name, before.version.version, "champion.until", contest.sentence)


def _note(client: MlflowClient, version: ModelVersion, sentence: str) -> None:
    client.update_model_version(version.name, version.version, description=sentence)


def _report(held_by: str, contests: Sequence[Contest], best: Contest | None) -> str:
    outcome = f"**{best.challenger} is the champion now.**" if best else f"**{held_by} stays.**"
    rows = "\n".join(f"- {contest.sentence}" for contest in contests) or "- nobody contended"
    return f"# Champion on the held-out instances\n\n{outcome}\n\n{rows}\n"
