"""The committed pages of studies are those that their results and texts make."""

from pathlib import Path

import pytest

from experiments import alternatives, budgets, evidence, repair
from experiments.alternatives.page import results_page as alternatives_page
from experiments.budgets.page import results_page as budgets_page
from experiments.evidence.page import results_page as evidence_page
from experiments.pages import texts_of
from experiments.repair.page import results_page as repair_page
from fusesearch.core.storage import read_json


@pytest.mark.parametrize(
    ("study", "page"),
    [(alternatives, alternatives_page), (budgets, budgets_page), (evidence, evidence_page), (repair, repair_page)],
)
def test_a_committed_page_is_made_of_the_committed_results(study, page):
    folder = Path(study.__file__).parent
    assert (folder / "RESULTS.md").read_text() == page(read_json(folder / "results.json"), texts_of(folder))
