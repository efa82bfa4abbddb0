"""The data card counts what passed by."""

import re

from fusesearch.core.schema import Instance, Truth
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


def test_a_card_has_the_counts_of_its_splits_and_a_version(tmp_path):
    path = write_card(tmp_path / "card", {"sft": tallied(ROWS[0]), "validation": tallied(ROWS[1])})
    page = path.read_text()
    rows = ["2024 | 1", "py | 2", "ts | 1", "MIT | 1", "file | 1", "neither | 1", "length of the issue | 50 | 50 | 50 | 50"]
    assert [row for row in rows if f"| {row} |" not in page] == []
    assert re.search(r"\| sft \| 1 \| 1 \| [0-9a-f]{16} \|", page)
    assert "<script" not in page
    assert tallied(*ROWS).digest == tallied(*ROWS).digest != tallied(ROWS[0]).digest
    assert tallied().digest in write_card(tmp_path / "card", {"sft": tallied()}).read_text()
