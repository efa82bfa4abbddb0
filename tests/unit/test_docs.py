"""What is generated in the pages is fresh, and their links lead somewhere."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from flows.cli import docs
from fusesearch.core.schema import Score
from fusesearch.evaluation.metrics import METRICS
from fusesearch.reporting.experiment.results import read_results
from fusesearch.reporting.table import cell

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *(ROOT / f"experiments/{name}README.md" for name in ("", "reference/"))]


@pytest.mark.parametrize(("page", "made"), [(docs.EVALUATION_PAGE, docs.evaluation_page), (docs.README, docs.readme_page)])
def test_tables_are_those_of_the_code_and_the_committed_results(page, made):
    assert (ROOT / page).read_text() == made(), "run: python -m flows.cli.docs"


def test_a_figure_of_the_readme_that_is_not_generated_stands_on_the_page_it_is_from():
    section = docs.README.read_text().partition("## How good it is")[2].partition("\n## ")[0].replace("%", "")
    evidence = (ROOT / "experiments/evidence/RESULTS.md").read_text()
    figures = re.findall(r"\d+\.\d(?: \[[\d., ]*\])?", section)
    assert len(figures) > 25
    assert [figure for figure in figures if figure not in evidence] == []
    gain = next(row for row in read_results(ROOT / "experiments/stages").claims if (row.better, row.than) == ("sft+rl", "sft"))
    assert f"(F1 {cell(gain, METRICS['f1_macro'], signed=True)};" in docs.README.read_text()


def test_pictures_of_the_readme_are_small_and_load_nothing():
    names = re.findall(r"!\[[^]]+\]\(([^)]+)\)", docs.README.read_text())
    texts = [(ROOT / name).read_text() for name in names]
    assert "docs/answer.svg" in names
    assert sum(map(len, texts)) < 300_000
    for text in texts:
        assert ElementTree.fromstring(text).tag.endswith("svg")
        assert not re.search(r"@font-face|<script|(?:href|src)=\"http|url\(http", text)


def test_every_metric_is_explained():
    assert [name for name, field in Score.model_fields.items() if not field.description] == []
    assert [name for name, row in METRICS.items() if not row.words] == []


def test_links_between_pages_lead_to_files():
    links = ((page, link) for page in PAGES for link in re.findall(r"\]\(([^)#\s]+)", page.read_text()) if "://" not in link)
    assert [f"{page.relative_to(ROOT)}: {link}" for page, link in links if not (page.parent / link).exists()] == []


def test_the_tests_that_prove_the_threat_model_exist():
    text = "".join(path.read_text() for path in ROOT.glob("tests/**/test_*.py"))
    proofs = re.findall(r"`(test_\w+)`", (ROOT / "docs/threat-model.md").read_text())
    assert [name for name in proofs if f"def {name}(" not in text] == []
