"""Muon for matrices, AdamW for the rest: one optimizer object for a Trainer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class MuonAdamW(torch.optim.Optimizer):
    """Two optimizers behind one interface.

    Hidden matrices (two dimensions, not embeddings) go to Muon at ``learning_rate``; embeddings, norms and biases to
    AdamW at half of it, the most stable ratio for small models with tied embeddings here.
    """

    def __init__(self, model: torch.nn.Module, learning_rate: float) -> None:
        trained = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
        hidden = {name for name, row in trained.items() if row.ndim == 2 and "embed" not in name and "lm_head" not in name}
        matrices, others = ([row for name, row in trained.items() if (name in hidden) is of] for of in (True, False))
        self._muon = torch.optim.Muon(matrices, lr=learning_rate, weight_decay=0.0, momentum=0.95)
        self._adamw = torch.optim.AdamW(others, lr=learning_rate * 0.5, weight_decay=0.0, betas=(0.9, 0.95))
        super().__init__([{"params": matrices}, {"params": others}], {"lr": learning_rate})
        self.param_groups = self._muon.param_groups + self._adamw.param_groups

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """One step of both. ``closure`` re-evaluates the loss, as in torch."""
        loss = closure() if closure else None
        self._muon.step()
        self._adamw.step()
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of both."""
        self._muon.zero_grad(set_to_none)
        self._adamw.zero_grad(set_to_none)

    def state_dict(self) -> dict[str, Any]:
        """State of both, under ``muon`` and ``adamw``."""
        return {"muon": self._muon.state_dict(), "adamw": self._adamw.state_dict()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state from :meth:`state_dict`."""
        self._muon.load_state_dict(state_dict["muon"])
        self._adamw.load_state_dict(state_dict["adamw"])
        self.param_groups = self._muon.param_groups + self._adamw.param_groups
