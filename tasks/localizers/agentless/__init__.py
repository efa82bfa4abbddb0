"""Agentless: no agent, but three questions from the tree down to the places to edit (arXiv 2407.01489, section 3.1)."""

from __future__ import annotations

from tasks.localizers.agentless.localizer import AgentlessFoldersLocalizer, AgentlessLocalizer, Settings

__all__ = ["AgentlessFoldersLocalizer", "AgentlessLocalizer", "Settings"]
