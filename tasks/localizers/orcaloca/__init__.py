"""OrcaLoca: searches scheduled by priority, not chosen by the model alone (Yu et al., 2025; ToolTrain appendix D).

``actions`` is the queue, ``searches`` carries actions out, ``decomposition`` breaks results into further actions with scores,
``pruning`` keeps the results nearest to what is suspected, ``replies`` reads what the model writes.
"""

from tasks.localizers.orcaloca.localizer import OrcaLocaLocalizer

__all__ = ["OrcaLocaLocalizer"]
