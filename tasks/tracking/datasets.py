"""What runs read and make, as MLflow has it: datasets with their digests, held-out issues, checkpoints as models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from fusesearch.core.storage import read_instances

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput, Run

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


def log_held_out(client: MlflowClient, experiment: str, path: Path, digest: str) -> None:
    """Make a file of instances a dataset on MLflow's pages; its tag ``dvc.md5`` and its name have the digest that DVC has."""
    from mlflow.tracing.client import TracingClient

    name = f"{path.stem} {digest[:8]}"
    if found := client.search_datasets(filter_string=f"name = '{name}'"):
        if experiment not in found[0].experiment_ids:
            client.add_dataset_to_experiments(found[0].dataset_id, [experiment])
        return
    rows = []
    for instance in read_instances(path):
        inputs = instance.model_dump(include={"instance_id", "repo", "base_commit", "problem_statement"})
        truth = instance.truth.model_dump(include={"files", "functions"}) if instance.truth else {}
        rows.append({"inputs": inputs, "expectations": truth})
    dataset = client.create_dataset(name, [experiment], {"dvc.md5": digest, "path": path.as_posix()})
    # through the store: `dataset.merge_records` of MLflow 3.17 writes to the global store, not to the client's
    TracingClient(client.tracking_uri).store.upsert_dataset_records(dataset.dataset_id, rows)


def logged_model(client: MlflowClient, run: Run, name: str) -> str:
    """The id of the model that a run trains, pending until its checkpoint exists: it has the metrics of its training by step."""
    from mlflow.entities import LoggedModelOutput

    for made in run.outputs.model_outputs if run.outputs else ():
        return str(made.model_id)
    model = client.create_logged_model(run.info.experiment_id, name, run.info.run_id, model_type="checkpoint")
    client.log_outputs(run.info.run_id, [LoggedModelOutput(model.model_id, 0)])
    return str(model.model_id)


def register(client: MlflowClient, run_id: str, name: str, checkpoint: Path, tags: dict[str, str], alias: str, model: str) -> str:
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
        version = str(client.create_model_version(name, source, run_id, tags=tags, model_id=model).version)
    client.set_logged_model_tags(model, {"mlflow.modelVersions": json.dumps([{"name": name, "version": version}])})
    client.set_registered_model_alias(name, alias, version)
    return version
