"""Datasets as inputs of a run: file, digest and purpose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput

COPIED_CHECKPOINT_BYTES = 256 * 1024**2
"""Checkpoints up to this size are copied into the run; larger ones are registered where they are."""
CONTEXTS = {"sft": "training", "rl": "training", "validation": "validation"}
"""The purpose of the splits, in MLflow's words. Other inputs have the name of the stage that reads them."""


def dataset_input(path: Path, digest: str, stage: str) -> DatasetInput:
    """The input that MLflow logs for a path."""
    from mlflow.data import sources
    from mlflow.data.meta_dataset import MetaDataset
    from mlflow.entities import Dataset, DatasetInput, InputTag

    source = vars(sources)["LocalArtifactDatasetSource"](path.as_posix())  # MLflow makes this class when it is imported
    dataset = MetaDataset(source, name=path.as_posix(), digest=digest)  # type: ignore[abstract]  # MLflow's typing
    context = CONTEXTS.get(path.stem, stage) if path.suffix == ".parquet" else stage
    return DatasetInput(Dataset(**dataset.to_dict()), [InputTag("mlflow.data.context", context)])


def register(client: MlflowClient, run_id: str, name: str, checkpoint: Path, tags: dict[str, str], alias: str) -> str:
    """Make a checkpoint a version of a registered model, unless a version has its tag ``digest``; move ``alias`` to it.

    Returns the version.
    """
    known = client.search_model_versions(f"name = '{name}' and tags.digest = '{tags['digest']}'")
    if known:
        version = str(max(int(row.version) for row in known))
    else:
        if not client.search_registered_models(f"name = '{name}'"):
            client.create_registered_model(name)
        size = sum(child.stat().st_size for child in checkpoint.rglob("*") if child.is_file())
        source = checkpoint.resolve().as_uri()
        if size <= COPIED_CHECKPOINT_BYTES:
            client.log_artifacts(run_id, str(checkpoint), "checkpoint")
            source = f"{client.get_run(run_id).info.artifact_uri}/checkpoint"
        version = str(client.create_model_version(name, source, run_id, tags=tags).version)
    client.set_registered_model_alias(name, alias, version)
    return version
