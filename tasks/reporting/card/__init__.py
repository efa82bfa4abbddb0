"""The data card: what a version of the data set holds, for people, in Markdown and HTML with plots.

:class:`Tally` counts instances as they pass; :func:`write_card` writes the folder.
"""

from tasks.reporting.card.page import write_card
from tasks.reporting.card.tally import Tally

__all__ = ["Tally", "write_card"]
