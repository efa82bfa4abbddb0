"""The data card counts what passed by and shows where the rest was lost."""

import re

from fusesearch.core.schema import Instance, Truth
from fusesearch.core.storage import write_json
from fusesearch.reporting.data_card import Tally, write_card

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


def test_a_card_has_counts_and_a_funnel(tmp_path):
    paths = {"filter_drops": tmp_path / "drops.json", "mined": tmp_path / "table.json"}
    write_json(paths["filter_drops"], {"bot": 3, "only_docs": 0})
    write_json(paths["mined"], {"kinds": {"off_by_one": {"attempts": 4, "kept": 1}}})
    tallies = {"sft": tallied(ROWS[0]), "validation": tallied(ROWS[1])}
    page = write_card(tmp_path / "card", tallies, {"same_issue": 2}, **paths).read_text()
    rows = ["raw pairs | 7", "bot | 3", "same_issue | 2", "off_by_one | 4 | 1 | 25%"]
    rows += ["2024 | 1", "py | 2", "ts | 1", "MIT | 1", "2 | 1"]
    assert [row for row in rows if f"| {row} |" not in page] == []
    assert re.search(r"\| sft \| 1 \| 1 \| [0-9a-f]{16} \|", page)
    assert "| length of the issue | 50 | 50 | 50 | 50 |" in page
    assert "only_docs" not in page
    assert "<script" not in page


def test_the_version_follows_what_the_data_set_holds(tmp_path):
    assert tallied(*ROWS).digest == tallied(*ROWS).digest != tallied(ROWS[0]).digest
    page = write_card(tmp_path / "card", {"sft": tallied()}, {}, filter_drops=tmp_path / "none", mined=tmp_path / "none")
    assert tallied().digest in page.read_text()
