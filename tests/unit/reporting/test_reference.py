"""The papers' tables that the project carries."""

import re
from pathlib import Path

REFERENCE = Path(__file__).parents[3] / "experiments" / "reference"


def test_the_page_of_the_papers_tables_says_of_each_what_stands_beside_it():
    page = (REFERENCE / "README.md").read_text()
    rows = dict(re.findall(r"^\| `([\w.]+\.csv)` \| .+? \| (.+) \|$", page, re.MULTILINE))
    assert rows.keys() == {path.name for path in REFERENCE.glob("*.csv")}
    links = [link for text in rows.values() for link in re.findall(r"\]\(([^)#]+)", text)]
    assert [link for link in links if not (REFERENCE / link).exists()] == []
    assert all("](" in text for text in rows.values())
