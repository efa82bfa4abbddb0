"""Loads a model from a checkpoint on disk or behind an endpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fusesearch.agents.models.base import Model


def load_model(
    model: str = "",
    base_url: str = "",
    *,
    api_key: str | None = None,
    checkpoint: Path | str | None = None,
    dtype: str = "float32",
    **options: Any,
) -> Model:
    """The model of a ``checkpoint`` directory, or ``model`` behind the OpenAI-compatible endpoint ``base_url``.

    ``options`` are those of :class:`~fusesearch.agents.models.openai_compatible.OpenAICompatibleModel`. Raises
    :class:`ArtifactError` if the checkpoint is missing or damaged.
    """
    if checkpoint is not None:
        from fusesearch.agents.models.transformers import TransformersModel

        return TransformersModel.load(checkpoint, dtype=dtype)
    from fusesearch.agents.models.openai_compatible import OpenAICompatibleModel

    return OpenAICompatibleModel(model, base_url, api_key, **options)
