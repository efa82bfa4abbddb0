"""One file per page: ``page`` yields its parts, ``screen`` asks in the app what to show on it.

The folder cannot be called ``pages``: Streamlit runs the files of such a folder beside the app as pages of their own.
"""

from types import ModuleType

from dashboards.tabs import experiments, report, trajectories

PAGES: dict[str, ModuleType] = {
    "report": report,
    "experiments": experiments,
    "trajectories": trajectories,
}
"""Pages by their address. ``TAB`` is what the navigation calls a page, ``TITLE`` its heading."""
