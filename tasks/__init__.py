"""fusesearch from Python: find the code an issue is about.

::

    from tasks import localize

    answer = localize("path/to/repository", "perimeter(3) returns 9 but should be 12")
    for location in answer.modify:
        print(location.path, location.function, location.lines)

A localizer of your own is anything that fits :class:`Localizer`: an :class:`Instance` and its repository in, a
:class:`Trajectory` with a ranked :class:`Answer` out, which :class:`Score` measures.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tasks.core.schema import Answer, Instance, Score, Trajectory
    from tasks.localizers.base import Localizer
    from tasks.localizers.searcher import ask, localize

__all__ = ["Answer", "Instance", "Localizer", "Score", "Trajectory", "ask", "localize"]


def __getattr__(name: str) -> Any:
    """The public names, imported when they are first used: the command line starts without them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    homes = {"Localizer": "tasks.localizers.base", "ask": "tasks.localizers.searcher", "localize": "tasks.localizers.searcher"}
    return getattr(import_module(homes.get(name, "tasks.core.schema")), name)
