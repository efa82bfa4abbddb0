"""The generated pages are fresh, and the written ones name what exists."""

import re
from pathlib import Path

import pytest

from tasks.cli import docs
from tasks.core.schema import Score

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(("page", "text"), [(docs.CLI_PAGE, docs.cli_page), (docs.METRICS_PAGE, docs.metrics_page)])
def test_generated_pages_are_fresh(page, text):
    assert (ROOT / page).read_text() == text(), "run: python -m tasks.cli.docs"


def test_every_field_of_a_score_is_explained():
    assert list(docs.SCORE_FIELDS) == list(Score.model_fields)


PAGES = ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES)
def test_links_and_modules_named_in_the_pages_exist(page):
    text = (ROOT / page).read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    modules = re.findall(r"`((?:tasks|flows|experiments|tests|docs|dashboards)/[\w./]*)`", text)
    missing = [
        name
        for name in [*((ROOT / page).parent / link for link in links), *(ROOT / name for name in modules)]
        if not name.exists()
    ]
    assert missing == []


def test_tests_named_in_the_threat_model_exist():
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs/threat-model.md").read_text()))
    written = {name for path in (ROOT / "tests").rglob("*.py") for name in re.findall(r"def (test_\w+)", path.read_text())}
    assert named
    assert named <= written
