"""What RL can gain, in words: for the report and for ``fusesearch doctor --profile``."""

from __future__ import annotations

from pathlib import Path

from fusesearch.core.config import Grpo
from fusesearch.core.storage import read_json


def headroom_said(section: Grpo, metrics: Path) -> str:
    """The headroom in the ``metrics`` of grpo; where they have none, when it is measured and which param gates it."""
    found = read_json(metrics) if metrics.is_file() else {}
    if "headroom" not in found:
        gate = f"grpo.min_headroom, {section.min_headroom:g} points of F1 (0 measures nothing)"
        return f"not measured: grpo does it before its first step, and ends there below {gate}"
    low, high = (found.get(name) for name in ("headroom_low", "headroom_high"))
    bounds = f" [{100 * low:.1f}, {100 * high:.1f}]" if low is not None and high is not None else ""
    return (
        f"{100 * found['headroom']:.1f}{bounds} points of F1, best of {section.group} samples minus their mean; "
        f"{found['flat']:.0%} of prompts without spread; {100 * found['f1_per_call']:+.1f} points by a further call"
    )
