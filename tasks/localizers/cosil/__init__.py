"""CoSIL: files from the tree and their imports, then functions along a call graph that is built while it is searched.

After arXiv 2503.22424, section 3, and the behaviour of its public repository.
"""

from __future__ import annotations

from tasks.localizers.cosil.localizer import CoSilLocalizer, Settings

__all__ = ["CoSilLocalizer", "Settings"]
