"""One file per page; ``page`` draws it, with what it asks in the side bar.

The folder cannot be called ``pages``: Streamlit runs the files of such a folder beside the app as pages of their own.
"""

from types import ModuleType

from dashboards.tabs import experiments, report, trajectories

PAGES: dict[str, ModuleType] = {"report": report, "experiments": experiments, "trajectories": trajectories}
"""Pages by their address. ``TITLE`` is the heading of a page, and what the navigation calls it."""
