"""Ways to get a completion, one file each; :mod:`tasks.agents.models.base` has their common types."""

from tasks.agents.models.base import Completion, FinishReason, Message, Model, Sampling

__all__ = ["Completion", "FinishReason", "Message", "Model", "Sampling"]
