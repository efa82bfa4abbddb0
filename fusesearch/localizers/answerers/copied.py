"""Places of an answer in copies that a program wrote: they come after those in the sources."""

from __future__ import annotations

from fusesearch.core.schema import Location
from fusesearch.localizers.ranker.copies import BUNDLED, copies_among
from fusesearch.localizers.ranker.index import Index


def without_copies(found: list[Location], index: Index) -> tuple[list[Location], list[Location]]:
    """Places in sources, then places in their copies. If all are in copies, they count as sources."""
    paths = dict.fromkeys(one.path for one in found if one.path.endswith(BUNDLED))
    if len({one.path for one in found}) < 2 or not paths:
        return found, []
    bundled = (path for path in index.paths if path.endswith(BUNDLED))
    copies = copies_among(
        paths, {path: (facts.raw, list(facts.lengths)) for path, facts in index.facts(bundled)}, index.repository
    )
    own = [one for one in found if one.path not in copies]
    return (own, [one for one in found if one.path in copies]) if own else (found, [])
