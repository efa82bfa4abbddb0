"""Datasets as inputs of a run: which file, with what digest and schema, and what it was for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.core.digests import digest, file_digest

if TYPE_CHECKING:
    from mlflow.entities import DatasetInput

CONTEXTS = {"sft": "training", "rl": "training", "validation": "validation"}
"""What the splits are for, in MLflow's words; other inputs go by the stage that reads them."""


def describe_inputs(paths: Iterable[Path], stage: str) -> list[dict[str, Any]]:
    """Name, digest (MD5 for files, as in ``dvc.lock``; over all files for folders), rows, columns and context of each path."""
    return [
        {
            "name": path.as_posix(),
            "digest": file_digest(path) if path.is_file() else digest(path)[:32],
            "context": CONTEXTS.get(path.stem, stage) if path.suffix == ".parquet" else stage,
            **_table(path),
        }
        for path in paths
    ]


def dataset_input(row: dict[str, Any]) -> DatasetInput:
    """What MLflow logs for a row of :func:`describe_inputs`."""
    from mlflow.data import sources
    from mlflow.data.meta_dataset import MetaDataset
    from mlflow.entities import Dataset, DatasetInput, InputTag
    from mlflow.types import ColSpec, Schema
    from mlflow.types.schema import TensorSpec

    class Table(MetaDataset):
        """A dataset that stays where it is, with the number of its rows."""

        @property
        def profile(self) -> dict[str, int] | None:
            return {"num_rows": row["rows"]} if "rows" in row else None

    columns: list[ColSpec | TensorSpec] = [ColSpec(kind, name) for name, kind in row.get("columns", {}).items()]
    source = vars(sources)["LocalArtifactDatasetSource"](row["name"])  # MLflow makes this class when it is imported
    dataset = Table(source, name=row["name"], digest=row["digest"], schema=Schema(columns) if columns else None)
    described = dataset.to_dict() | ({"profile": json.dumps(dataset.profile)} if dataset.profile else {})
    return DatasetInput(Dataset(**described), [InputTag("mlflow.data.context", row["context"])])


def _table(path: Path) -> dict[str, Any]:
    """Rows and columns of a Parquet file or rows of JSON lines, read without holding them."""
    if path.suffix == ".jsonl" and path.is_file():
        with path.open("rb") as handle:
            return {"rows": sum(1 for line in handle if line.strip())}
    if path.suffix != ".parquet":
        return {}
    import polars as pl

    try:
        frame = pl.scan_parquet(path)
        names = frame.collect_schema().names()
        return {"rows": int(frame.select(pl.len()).collect().item()), "columns": dict.fromkeys(names, "string")}
    except pl.exceptions.PolarsError:  # no table: it is recorded by its digest alone
        return {}
