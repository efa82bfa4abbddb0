"""``python -m experiments.alternatives``: the page again, from ``results.json`` and ``text.md``."""

from __future__ import annotations

from pathlib import Path

from experiments.alternatives.page import results_page
from experiments.pages import texts_of
from fusesearch.core.storage import read_json, write_text

HERE = Path(__file__).parent


if __name__ == "__main__":
    write_text(HERE / "RESULTS.md", results_page(read_json(HERE / "results.json"), texts_of(HERE)))
