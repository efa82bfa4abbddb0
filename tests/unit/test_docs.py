"""What is generated in the pages is fresh, and their links lead somewhere."""

import re
from pathlib import Path

from flows.cli import docs
from fusesearch.core.schema import Score
from fusesearch.evaluation.metrics import METRICS

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *(ROOT / f"experiments/{name}README.md" for name in ("", "reference/"))]


def test_the_tables_of_metrics_are_fresh():
    assert (ROOT / docs.EVALUATION_PAGE).read_text() == docs.evaluation_page(), "run: python -m flows.cli.docs"


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
