"""fusesearch from Python: find the code an issue is about.

::

    from fusesearch import localize

    answer = localize("path/to/repository", "the text of an issue")
    for place in answer.places:
        print(place.path, place.confidence, [one.function for one in place.functions])

``context(repository, issue, tokens=4000).text`` is what to read for an issue, for a prompt.

A localizer of your own is anything that fits :class:`Localizer`: an :class:`Instance` and its repository in, a
:class:`Trajectory` with a ranked :class:`Answer` out, which :class:`Score` measures. An :class:`Environment` is a kind of task:
tools, instructions, the reader of answers and the scorer.

:class:`SearchTasks` gives any trainer what GRPO's stage trains on: a :class:`Rollout` has token ids, mask, log-probabilities and
a reward. :func:`load_tasks` opens them, :func:`columns_of` is many rollouts as TRL takes them.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`, which takes a while to import: until then Ctrl-C is not one line
if TYPE_CHECKING:
    from typing import Any

    from fusesearch.core.schema import Answer, Context, Instance, Score, Trajectory
    from fusesearch.evaluation.environments import Environment
    from fusesearch.localizers.base import Localizer
    from fusesearch.localizers.ranker.context import context
    from fusesearch.localizers.searcher import ask, localize, localize_async
    from fusesearch.training.environment import Rollout, SearchTasks, columns_of, load_tasks

__all__ = [
    "Answer", "Context", "Environment", "Instance", "Localizer", "Rollout", "Score", "SearchTasks", "Trajectory", "ask",
    "columns_of", "context", "load_tasks", "localize", "localize_async",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """The public names, imported when they are first used: the command line starts without them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    homes = {
        "Environment": "fusesearch.evaluation.environments",
        "Localizer": "fusesearch.localizers.base",
        "Rollout": "fusesearch.training.environment",
        "SearchTasks": "fusesearch.training.environment",
        "ask": "fusesearch.localizers.searcher",
        "columns_of": "fusesearch.training.environment",
        "context": "fusesearch.localizers.ranker.context",
        "load_tasks": "fusesearch.training.environment",
        "localize": "fusesearch.localizers.searcher",
        "localize_async": "fusesearch.localizers.searcher",
    }
    return getattr(import_module(homes.get(name, "fusesearch.core.schema")), name)
