"""The filter's rules by preset: those of FuseSearch 3.3 and ToolTrain 3.1, and all rules with near-duplicates.

They have a file of their own because DVC tracks it: a rule that ``params.yaml`` does not name gets its value from here.
"""

from __future__ import annotations

from typing import Any

_PAPERS = ["bot", "several_issues", "several_pulls", "links_fix", "too_many_files", "shows_fix"]

NO_PRESET: dict[str, Any] = {"min_issue_chars": 40, "max_files": 15, "near_duplicate": None, "skip": []}
"""All rules but those on near-duplicates."""

FILTER_PRESETS: dict[str, dict[str, Any]] = {
    "fusesearch": NO_PRESET | {"skip": _PAPERS},
    "tooltrain": NO_PRESET | {"min_issue_chars": 100, "skip": [*_PAPERS, "adds_file", "adds_function"]},
    "strict": {"min_issue_chars": 100, "max_files": 5, "near_duplicate": 0.85, "skip": []},
}
"""Values of the params that a preset decides; a key that is given beside ``preset`` wins."""
