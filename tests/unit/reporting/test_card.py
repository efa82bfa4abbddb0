"""The data card counts what passed by and shows where the rest was lost."""

import json
import re

import pytest

from fusesearch.core.schema import Instance, Truth
from fusesearch.core.storage import write_json
from fusesearch.reporting.data_card import write_card
from fusesearch.reporting.tally import Tally

pytestmark = pytest.mark.usefixtures("undrawn")
HOSTILE = "<script>alert(1)</script>|x\n"


def tallied(*rows: Instance) -> Tally:
    tally = Tally()
    for row in rows:
        tally.add(row)
    return tally


def instance(name: str, files: list[str], **provenance: object) -> Instance:
    truth = Truth(files=files, functions=[f"{path}::f" for path in files])
    return Instance(
        instance_id=name, repo=f"o/{HOSTILE}", base_commit="c", problem_statement="p" * 50, patch="a\nb\n", truth=truth,
        provenance=provenance,
    )  # fmt: skip


ROWS = [
    instance("1", ["a.py", "b.ts"], licence="MIT", issue_created_at="2024-03-01", hops=2, leaks=["file"], source="github"),
    instance("2", ["c.py", "tests/test_c.py"], licence=HOSTILE, hops=0, leaks="none"),
]


def test_a_card_has_figures_plots_and_a_funnel(tmp_path):
    paths = {"filter_drops": tmp_path / "drops.json", "mined": tmp_path / "table.json"}
    write_json(paths["filter_drops"], {"bot": 3, "only_docs": 0})
    write_json(paths["mined"], {"kinds": {"off_by_one": {"attempts": 4, "kept": 1}}})
    tallies = {"sft": tallied(ROWS[0]), "validation": tallied(ROWS[1])}
    page = write_card(tmp_path / "card", tallies, {"same_issue": 2}, **paths).read_text()
    figures = json.loads((tmp_path / "card/card.json").read_text())
    assert figures["splits"]["sft"] == {"instances": 1, "repositories": 1}
    assert figures["languages"] == {"Python": 2, "TypeScript": 1}
    assert figures["licences"]["MIT"] == 1
    for line in ("| raw pairs | 7 |", "| bot | 3 |", "| same_issue | 2 |", "| off_by_one | 4 | 1 | 25% |", "| 2024-03 | 1 |"):
        assert line in page
    assert "only_docs" not in page
    assert all((tmp_path / "card" / name).exists() for name in re.findall(r"\]\((plots/[^)]+)\)", page))
    markup = (tmp_path / "card/card.html").read_text()
    assert "<script" not in markup
    assert markup.count('<img src="data:image/svg+xml;base64,') == page.count("![")


def test_the_version_follows_what_the_data_set_holds(tmp_path):
    assert tallied(*ROWS).digest == tallied(*ROWS).digest != tallied(ROWS[0]).digest
    page = write_card(tmp_path / "card", {"sft": tallied()}, {}, filter_drops=tmp_path / "none", mined=tmp_path / "none")
    assert tallied().digest in page.read_text()
