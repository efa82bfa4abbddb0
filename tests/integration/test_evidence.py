"""The evidence table from end to end, over a small repository."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

from experiments.evidence.board import board_lines
from experiments.evidence.cases import Cases, read_cases
from experiments.evidence.chart import Point, quality_cost
from experiments.evidence.weights import fixes, main
from fusesearch.core.schema import Instance, Truth
from fusesearch.core.storage import read_json, write_instances, write_jsonl
from fusesearch.localizers.ranker import models
from tests.fakes.git import committed

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
    assert list(cases.rows) == ["o__n-1", "o__n-2"]
    assert cases.sets["lite"] == ["o__n-1"]
    assert cases.rows["o__n-1"].truth.functions == ["shop.py::total"]
    assert cases.left_out.keys() == {"o__n-3", "p__q-1"}
    assert "no file of code" in cases.left_out["o__n-3"]


def test_a_board_has_the_code_of_truth_and_answers_alone(root, tmp_path):
    right, wrong = (PATCHES[name] for name in ("o__n-1", "o__n-3"))
    patches = {
        agent: f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n{hunk}"
        for agent, (path, hunk, _) in {"Rovo Dev": right, "Kodah": wrong}.items()
    }
    for agent, patch in patches.items():
        write_jsonl(tmp_path / f"{agent}.jsonl", [{"instance_id": "o__n-1", "model_patch": patch}])
    (line,) = board_lines(root / "lite.jsonl", root / "repos", {agent: tmp_path / f"{agent}.jsonl" for agent in patches}, [])
    assert (line["files"], line["functions"]) == (["shop.py"], ["shop.py::total"])
    assert line["answers"] == {
        "Rovo Dev": {"files": ["shop.py"], "functions": ["shop.py::total"]}, "Kodah": {"files": [], "functions": []}
    }  # fmt: skip


def test_the_chart_shows_each_system_at_its_seconds_and_escapes_names():
    points = [Point("ranker", 0.5, 50, 40, 60, "no model", False), Point("a<b>", 1000, 80, 70, 90, "9 tokens")]
    drawn = quality_cost(points, "title", "file F1")
    assert ElementTree.fromstring(drawn).tag.endswith("svg")
    assert "a&lt;b&gt;" in drawn
    left, right = (float(found) for found in re.findall(r'cx="([\d.]+)"', drawn))
    assert left < right


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
