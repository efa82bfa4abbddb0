"""Ways to get a completion, one file each; :mod:`fusesearch.agents.models.base` has their common types."""

from fusesearch.agents.models.base import Completion, FinishReason, Message, Model, Sampling

__all__ = ["Completion", "FinishReason", "Message", "Model", "Sampling"]
