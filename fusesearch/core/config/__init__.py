"""Typed params: one section of ``params.yaml`` per class, every field with its meaning.

``params.yaml`` is the nano profile; ``experiments/profiles/*.yaml`` are overlays for larger scales. Unknown keys are
errors, so that a misspelt param cannot silently do nothing. A section is imported when it is first named: a search needs two.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fusesearch.core.config.data import BenchmarkSource, Criteria, Filter, GitHubSource, GitSource, Mine, Split
    from fusesearch.core.config.episodes import Evaluate, Name, Subject
    from fusesearch.core.config.params import Params, load_params, overlay, parse_params, read_mapping, section_of
    from fusesearch.core.config.searching import Agent, Tools
    from fusesearch.core.config.section import Section, parse_section
    from fusesearch.core.config.training import (
        Base,
        Compute,
        Grpo,
        JudgeSection,
        Lora,
        ModelSection,
        Rewarded,
        RolloutSearch,
        Select,
        Sft,
        Synthesize,
        Teacher,
        Validation,
    )

__all__ = [
    "Agent",
    "Base",
    "BenchmarkSource",
    "Compute",
    "Criteria",
    "Evaluate",
    "Filter",
    "GitHubSource",
    "GitSource",
    "Grpo",
    "JudgeSection",
    "Lora",
    "Mine",
    "ModelSection",
    "Name",
    "Params",
    "Rewarded",
    "RolloutSearch",
    "Section",
    "Select",
    "Sft",
    "Split",
    "Subject",
    "Synthesize",
    "Teacher",
    "Tools",
    "Validation",
    "load_params",
    "overlay",
    "parse_params",
    "parse_section",
    "read_mapping",
    "section_of",
]

_MODULES = (
    "fusesearch.core.config.section",
    "fusesearch.core.config.searching",
    "fusesearch.core.config.episodes",
    "fusesearch.core.config.training",
    "fusesearch.core.config.data",
    "fusesearch.core.config.params",
)


def __getattr__(name: str) -> Any:
    if name in __all__:
        for module in map(import_module, _MODULES):
            if hasattr(module, name):
                globals()[name] = getattr(module, name)
                return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
