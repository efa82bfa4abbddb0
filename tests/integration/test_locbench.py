"""LocBench's schema from the file to the counts of FuseSearch's Table 9, and to systems without a model."""

import json
import os
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from experiments.benchmarks.locbench.counts import PAPER, by_own, by_truth, categories, read
from fusesearch.cli.app import app
from fusesearch.core.errors import DataError
from tests.fakes.git import committed, git

SHOP = "class Shop:\n    def sell(self, price):\n        return 1\n\n\ndef total(prices):\n    return 2\n"
BANK = "def interest(rate):\n    return rate\n"
ROWS = Path(__file__).parents[1] / "fakes/locbench.jsonl"


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """A clone, and the rows of the fixture at its commit as JSON lines and as Parquet."""
    root = tmp_path_factory.mktemp("locbench")
    base = committed(root / "work", {"shop.py": SHOP, "bank.py": BANK})
    (root / "repos").mkdir()
    git(root / "repos", "clone", "-q", "--bare", str(root / "work"), "o__shop.git")
    (root / "locbench.jsonl").write_text(ROWS.read_text().replace("BASE", base))
    pl.read_ndjson(root / "locbench.jsonl").write_parquet(root / "locbench.parquet")
    return root


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_issues_are_counted_by_every_reading_of_the_rule(root, suffix):
    rows = read(root / f"locbench.{suffix}")
    assert categories(rows) == {"Performance Issue": 1, "Bug Report": 2, "Feature Request": 1, "Security Vulnerability": 1}
    assert by_own(rows) == {
        "all": 5,
        "adds no file": 4,
        "adds no file and no function": 3,
        "adds no file, edits a function": 4,
        "adds no file and no function, edits a function": 3,
        "adds no file, edits functions of one file": 3,
        "adds no file and no function, edits functions of one file": 2,
    }


def test_our_truth_is_beside_that_of_the_file(root):
    found = by_truth(read(root / "locbench.parquet"), root / "repos")
    assert found["kept"]["adds no file and no function"] == 2
    assert {name: found["kept"][name] for name in ("fusesearch", "single_file", "codescout")} == {
        "fusesearch": 2,
        "single_file": 1,
        "codescout": 4,
    }
    assert found["differ"] == ["o__shop-4"]
    assert list(found["left_out"]) == ["o__shop-5"]
    assert "does not apply" in found["left_out"]["o__shop-5"]


def test_a_file_of_another_set_is_refused(root, tmp_path):
    rows = [{**json.loads(line), "edit_functions": None} for line in (root / "locbench.jsonl").read_text().splitlines()]
    (tmp_path / "other.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError, match="row 1 is not LocBench's: edit_functions"):
        read(tmp_path / "other.jsonl")


def test_one_command_runs_systems_without_a_model_and_one_puts_them_beside_table_9(root, tmp_path):
    results = tmp_path / "results"
    given = ["--instances", str(root / "locbench.parquet"), "--repos", str(root / "repos"), "--cache", str(tmp_path / "cache")]
    systems = ["--localizer", "bm25", "--localizer", "lexical", "--localizer", "ranker", "--runs", "1"]
    done = CliRunner().invoke(app, ["evaluate", *given, *systems, "--out", str(results)])
    assert done.exit_code == 0, done.output
    shown = CliRunner().invoke(app, ["compare", str(results), "--protocol", "fusesearch", "--format", "markdown"])
    assert shown.exit_code == 0, shown.output
    assert all(name in shown.output for name in ("bm25", "lexical", "ranker", "FuseSearch table 9", "Kimi-K2"))


@pytest.mark.skipif("FUSESEARCH_LOCBENCH" not in os.environ, reason="LocBench's file is not at hand")
def test_table_9_counts_456_of_560():
    counts = by_own(read(Path(os.environ["FUSESEARCH_LOCBENCH"])))
    assert counts["all"] == 560
    assert PAPER in counts.values()
