"""The evidence table from end to end, over a small repository."""

import json
from pathlib import Path

import polars as pl
import pytest

from experiments.evidence.cases import Cases, read_cases
from experiments.evidence.measures import best_readings, confidence_of, differences, table
from experiments.evidence.page import results_page, texts_of
from experiments.evidence.run import ALONE, OWN, RANKER, evidence, of_set
from experiments.evidence.systems import System, free, scored
from experiments.evidence.trainer import described
from experiments.evidence.weights import fixes, main
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Instance, Truth
from fusesearch.core.storage import read_json, write_instances
from fusesearch.localizers.ranker import models
from fusesearch.localizers.ranker.trees import WEIGHTS
from tests.fakes.git import committed
from tests.fakes.training import snapshots_in

SHOP = "class Shop:\n    def sell(self, price):\n        return 1\n\n\ndef total(prices):\n    return 2\n"
BANK = "def interest(rate):\n    return rate\n"
PATCHES = {
    "o__n-1": ("shop.py", "@@ -6,2 +6,2 @@\n def total(prices):\n-    return 2\n+    return 3\n", "total of prices is 2"),
    "o__n-2": (
        "bank.py",
        "@@ -1,2 +1,2 @@\n def interest(rate):\n-    return rate\n+    return 0\n",
        "the interest rate is wrong",
    ),
    "o__n-3": ("README", "@@ -1 +1 @@\n-old\n+new\n", "the manual is old"),
}


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("evidence")
    base = committed(root / "repos/o__n.git", {"shop.py": SHOP, "bank.py": BANK, "README": "old\n"})
    rows = [
        {
            "instance_id": name, "repo": "o/n", "base_commit": base, "problem_statement": issue,
            "patch": f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n{hunk}",
        }
        for name, (path, hunk, issue) in PATCHES.items()
    ]  # fmt: skip
    elsewhere = {**rows[0], "instance_id": "p__q-1", "repo": "p/q"}
    (root / "verified.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, elsewhere]))
    (root / "lite.jsonl").write_text(json.dumps(rows[0]) + "\n")
    return root


@pytest.fixture(scope="module")
def cases(root) -> Cases:
    return read_cases({"verified": root / "verified.jsonl", "lite": root / "lite.jsonl"}, root / "repos", root / "out")


def test_an_instance_of_two_sets_is_there_once_and_what_cannot_be_had_says_why(cases):
    assert [row.instance_id for row in cases.of("verified")] == ["o__n-1", "o__n-2"]
    assert [row.instance_id for row in cases.of("lite")] == ["o__n-1"]
    assert cases.rows["o__n-1"].truth.functions == ["shop.py::total"]
    assert cases.left_out.keys() == {"o__n-3", "p__q-1"}
    assert "no file of code" in cases.left_out["o__n-3"]


def test_systems_are_scored_on_the_same_instances_under_one_rule(cases, root):
    snapshots = snapshots_in(root)
    systems = {"bm25": free("bm25", cases.of("verified"), snapshots, root / "out")}
    answers = {"o__n-1": (["bank.py", "shop.py"], ["shop.py::total"]), "o__n-2": ([], [])}
    systems["theirs"] = System(
        "theirs", {row.instance_id: scored(row, *answers[row.instance_id]) for row in cases.of("verified")}
    )
    rows = {row["system"]: row for row in table(systems)}
    assert rows["bm25"]["file_recall@1"]["estimate"] == 1
    assert rows["bm25"]["seconds"]["median"] > 0
    theirs = rows["theirs"]
    assert (theirs["file_recall@1"]["estimate"], theirs["file_recall@5"]["estimate"]) == (0, 0.5)
    assert theirs["function_recall@1"]["estimate"] == 0.5
    assert theirs["f1 first of each"]["estimate"] == pytest.approx(0.3 * 2 / 3)  # no file is right; the second has no answer
    assert theirs["f1 first function"]["estimate"] == pytest.approx(0.7 * 2 / 3 + 0.3 * 2 / 3)
    assert theirs["f1 all"]["estimate"] == pytest.approx(0.7 * 0.5 + 0.3 * 2 / 3)
    readings = best_readings(table(systems))
    assert readings["theirs"] == "first function"
    against = {row.metric: row for row in differences(systems, "bm25", readings) if row.second == "theirs"}
    assert (against["file_recall@5"].estimate, against["file_recall@5"].instances) == (0.5, 2)


def test_confidence_is_that_in_the_first_file(cases):
    one, two = cases.of("verified")
    scores = {one.instance_id: scored(one, ["shop.py"], []), two.instance_id: scored(two, ["shop.py"], [])}
    found = confidence_of(System("s", scores, confidence={one.instance_id: 0.9, two.instance_id: 0.3}))
    assert [(row["issues"], row["right"]) for row in found["bins"]] == [(1, 0.0), (1, 1.0)]


def test_the_page_has_the_text_of_its_sections_and_tables_of_the_figures(cases, tmp_path):
    rows = cases.of("verified")
    ours = {name: {row.instance_id: scored(row, row.truth.files, row.truth.functions) for row in rows} for name in (RANKER, OWN)}
    systems = {name: System(name, scores, confidence=dict.fromkeys(scores, 0.9)) for name, scores in ours.items()}
    systems["bad"] = System("bad", {row.instance_id: scored(row, ["README"], []) for row in rows}, [0.5, 0.7])
    results = {"unseen": {"sets": {"python": of_set(rows, systems)}, "left_out": cases.left_out}}
    (tmp_path / "text.md").write_text("## SWE-bench Verified\n\nWhat it\nsays.\n\n## How it was measured\n\nSo.")
    page = results_page(results, texts_of(tmp_path))
    assert "## SWE-bench Verified\n\nWhat it says.\n" in page
    assert f"| {RANKER} | 100.0" in page
    assert "| bad | 0.0" in page
    assert "| 0.60 |" in page
    assert "From 0.8 on: 100.0% of the issues, 100.0% of them right" in page
    assert "| o__n-3 | it modifies no file of code" in page
    assert page.index("What could not be had") < page.index("How it was measured")


def test_repositories_that_nobody_looked_at_are_scored_with_a_finished_model_file(tmp_path):
    shop = "fn total(prices: u32) -> u32 {\n    2\n}\n"
    base = committed(tmp_path / "repos/u__n.git", {"src/shop.rs": shop, "bank.py": BANK})
    hunk = "@@ -1,3 +1,3 @@\n fn total(prices: u32) -> u32 {\n-    2\n+    3\n }\n"
    changes = {"python": PATCHES["o__n-2"], "rust": ("src/shop.rs", hunk, "total of prices is 2")}
    for name, (path, hunk, issue) in changes.items():
        row = {
            "instance_id": f"u__n-{name}", "repo": "u/n", "base_commit": base, "problem_statement": issue,
            "patch": f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n{hunk}",
        }  # fmt: skip
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    files = [tmp_path / "python.jsonl", tmp_path / "rust.jsonl"]
    found = evidence(files, tmp_path / "repos", WEIGHTS, ["bm25"], tmp_path / "out")
    rust = found["sets"]["rust"]
    assert [row["system"] for row in rust["table"]] == [RANKER, OWN, *ALONE, "bm25"]
    assert [(row["language"], row["instances"]) for row in rust["languages"]] == [("rust", 1)]
    assert {row["second"] for row in rust["differences"]} == {OWN, *ALONE, "bm25"}
    assert {row["instance_id"]: row["language"] for row in found["instances"]} == {"u__n-python": "python", "u__n-rust": "rust"}
    assert all(row["bm25"]["file_recall@5"] == 1 for row in found["instances"])
    page = results_page({"unseen": found}, {})
    assert "## Repositories that nobody looked at: rust, by language and repository\n" in page
    learned = json.loads(WEIGHTS.read_text())
    learned["provenance"]["repositories"] = {"u/n": 1}
    (tmp_path / "weights.json").write_text(json.dumps(learned))
    with pytest.raises(DataError, match="was trained on u/n"):
        evidence(files, tmp_path / "repos", tmp_path / "weights.json", [], tmp_path / "out")


def test_fixes_are_commits_that_describe_a_bug_and_modify_a_function(tmp_path):
    folder = tmp_path / "o__n.git"
    committed(folder, {"shop.py": SHOP, "bank.py": BANK})
    committed(
        folder, {"bank.py": BANK.replace("return rate", "return rate + 1")}, "Speed up the interest of all the banks there are"
    )
    fix = "Fix the total of prices, which was two for every list\n\nReviewed-by: a"
    committed(folder, {"shop.py": SHOP.replace("return 2", "return sum(prices)")}, fix)
    committed(folder, {"README": "new\n"}, "Fix a wrong sentence in the manual of the shop, which was old")
    (found,) = fixes("o/n", tmp_path, 10)
    assert found.problem_statement == "Fix the total of prices, which was two for every list"
    assert found.truth.functions == ["shop.py::total"]


THINGS = ("invoice", "basket", "customer", "parcel", "refund", "voucher")


def test_rankers_of_a_checkout_learn_from_its_instances_and_the_localizer_reads_them(tmp_path, monkeypatch):
    for repo in ("red", "green"):
        sources = {f"{thing}.py": "".join(f"def {verb}_{thing}(value):\n    return '{repo}' + str(value)\n\n\n"
                                          for verb in ("open", "close", "count")) for thing in THINGS}  # fmt: skip
        base = committed(tmp_path / f"repos/o{repo}__{repo}.git", sources)
        rows = [
            Instance(
                instance_id=f"{repo}-{thing}", repo=f"o{repo}/{repo}", base_commit=base, patch="",
                problem_statement=f"The {thing} is not counted\n\n`count_{thing}(1)` returns text",
                provenance={"source": "synthetic"}, truth=Truth(files=[f"{thing}.py"], functions=[f"{thing}.py::count_{thing}"]),
            )
            for thing in THINGS
        ]  # fmt: skip
        write_instances(tmp_path / f"{repo}.parquet", rows)
    given = {"instances": [tmp_path / "red.parquet", tmp_path / "green.parquet"], "out": tmp_path / "out"}
    main(tmp_path / "repos", **given, to=tmp_path / "weights.json")
    found = read_json(tmp_path / "weights.json")
    assert found["provenance"] | {"commits": [], "date": ""} == {
        "issues": 12, "sources": {"synthetic": 12}, "repositories": {"ogreen/green": 6, "ored/red": 6}, "sets": {},
        "texts": {"issue": 12}, "commits": [], "date": "",
        "calibration": {"issues": 12, "sources": {"synthetic": 12}, "repositories": {"ogreen/green": 6, "ored/red": 6}},
    }  # fmt: skip
    tables = {level: [*(tmp_path / "out/features").glob(f"*.{level}.parquet")] for level in ("file", "function")}
    assert {level: sum(pl.read_parquet(path)["label"].sum() for path in paths) for level, paths in tables.items()} == {
        "file": 12, "function": 12,
    }  # fmt: skip
    assert all(pl.read_parquet(path)["file_history_recent"].is_nan().all() for path in tables["function"])  # it planted the fault
    made = {path: path.stat().st_mtime_ns for path in tables["file"]}
    main(tmp_path / "repos", **given, to=tmp_path / "again.json")
    assert {path: path.stat().st_mtime_ns for path in made} == made, "features are kept for a run that goes on"
    assert (tmp_path / "again.json").read_text() == (tmp_path / "weights.json").read_text()
    monkeypatch.setenv("FUSESEARCH_RANKER", str(tmp_path / "weights.json"))
    models.cache_clear()
    assert len(models().file.trees) == len(models().function.trees) == 100
    models.cache_clear()


def test_the_model_file_says_the_licences_that_are_known():
    rows = [Instance(instance_id=repo, repo=repo, base_commit="", patch="", problem_statement="", provenance={"licence": licence})
            for repo, licence in (("o/b", "MIT"), ("o/a", "Apache-2.0"), ("o/c", None))]  # fmt: skip
    assert described(rows)["licences"] == {"o/a": "Apache-2.0", "o/b": "MIT"}
    assert "licences" not in described(rows[2:])
