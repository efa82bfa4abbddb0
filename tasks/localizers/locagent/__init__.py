"""LocAgent: an agent that walks a graph of the code (Chen et al., 2025; FuseSearch appendix C, ToolTrain appendix D)."""

from tasks.localizers.locagent.localizer import LocAgentLocalizer

__all__ = ["LocAgentLocalizer"]
