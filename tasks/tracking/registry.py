"""Versions of checkpoints in MLflow's model registry: one registered model per profile, ``fusesearch-<profile>``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.core.errors import DataError
from tasks.core.progress import digest

if TYPE_CHECKING:
    from mlflow import MlflowClient

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
    version = find_version(client, name, tags["digest"])
    if version is None:
        if not path.exists() or digest(path) != tags["digest"]:
            raise DataError(f"{path} was to be registered as {name} and has changed since")
        if not client.search_registered_models(f"name = '{name}'"):
            client.create_registered_model(name)
        version = str(client.create_model_version(name, _source(client, run_id, path), run_id, tags=dict(tags)).version)
    if data.get("alias"):
        client.set_registered_model_alias(name, data["alias"], version)
    return version


def find_version(client: MlflowClient, name: str, checkpoint_digest: str) -> str | None:
    """The newest version of a registered model that is the checkpoint with this digest."""
    found = client.search_model_versions(f"name = '{name}' and tags.digest = '{checkpoint_digest}'")
    return max((str(row.version) for row in found), key=int, default=None)


def _source(client: MlflowClient, run_id: str, checkpoint: Path) -> str:
    size = sum(child.stat().st_size for child in checkpoint.rglob("*") if child.is_file())
    if size > COPIED_CHECKPOINT_BYTES:
        return checkpoint.resolve().as_uri()
    client.log_artifacts(run_id, str(checkpoint), "checkpoint")
    return f"{client.get_run(run_id).info.artifact_uri}/checkpoint"
