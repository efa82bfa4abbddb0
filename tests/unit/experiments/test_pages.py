"""The committed page of a study is the one that its results and texts make."""

from pathlib import Path

from experiments import evidence
from experiments.evidence.page import results_page, texts_of
from fusesearch.core.storage import read_json


def test_the_committed_page_is_made_of_the_committed_results():
    folder = Path(evidence.__file__).parent
    assert (folder / "RESULTS.md").read_text() == results_page(read_json(folder / "results.json"), texts_of(folder))


def test_every_section_of_the_text_is_on_the_page():
    folder = Path(evidence.__file__).parent
    page = (folder / "RESULTS.md").read_text().split("\n")
    assert [title for title in texts_of(folder) if f"## {title}" not in page] == []
