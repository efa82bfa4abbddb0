"""``reposearcher``: ToolTrain's agent with six tools that look up definitions by file and name (ToolTrain, section 3.1)."""

from tasks.localizers.reposearcher.localizer import RepoSearcherLocalizer

__all__ = ["RepoSearcherLocalizer"]
