"""Downstream repair by any model (FuseSearch section 4.4, table 6): a main agent edits a copy of the snapshot until it submits.

::

    out/<configuration>/
      settings.json        model, localizer and limits: another run with others is refused
      journal.jsonl        an attempt per instance, as soon as it is finished
      predictions.jsonl    the patches, for SWE-bench's harness
      episodes/<id>/       trajectory.json of the main agent, its log, and calls/*.json of the localizer
"""

from enum import StrEnum


class Configuration(StrEnum):
    """How the main agent uses the localizer."""

    none = "none"
    pre_search = "pre-search"
    sub_agent = "sub-agent"
