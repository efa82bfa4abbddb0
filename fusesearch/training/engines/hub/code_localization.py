"""The package that verifiers loads: ``vf-eval code-localization``."""

from fusesearch.training.engines.verifiers import SearchHarness, SearchTaskset

__all__ = ["SearchHarness", "SearchTaskset"]
