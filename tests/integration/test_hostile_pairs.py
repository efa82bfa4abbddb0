"""The filter over tables and bare repositories: hostile rows and repositories are counted drops, good ones around them stay."""

from collections import Counter

import polars as pl
import pytest

from fusesearch.core import storage
from fusesearch.core.config import Filter, Split
from fusesearch.core.errors import ArtifactError
from fusesearch.core.schema import Instance
from fusesearch.core.storage import INSTANCE_COLUMNS, count_rows, iter_instances, read_instances, write_instances
from fusesearch.data.filtering import filter_table
from fusesearch.data.sources.synthetic.git_writer import write_repository
from fusesearch.data.splitting import TableSplit

PATCH = "--- a/m.py\n+++ b/m.py\n@@ -2 +2 @@\n-    return 1\n+    return 2\n"
ISSUE = "The result of the whole computation is off by one whenever the input is number "


@pytest.fixture
def commit(tmp_path):
    change = {"fault": {"m.py": b"def f():\n    return 1\n"}}
    written = write_repository(tmp_path / "repos/o__n.git", {"m.py": b"def f():\n    return 2\n"}, change, "x")
    return written["fault"][0]


def row(commit, name, **changes):
    usual = {"repo": "o/n", "base_commit": commit, "problem_statement": f"{ISSUE}{name}", "patch": PATCH}
    return {"instance_id": name, **usual, "truth": None, "provenance": "{}", "extra": "{}", **changes}


HOSTILE: dict[str, tuple[dict[str, str | None], str]] = {
    "cut provenance": ({"provenance": '{"pull": 1'}, "malformed_row"),
    "provenance of another kind": ({"provenance": "[1]"}, "malformed_row"),
    "nested provenance": ({"provenance": "[" * 100_000}, "malformed_row"),
    "cut truth": ({"truth": "{"}, "malformed_row"),
    "no issue": ({"problem_statement": None}, "malformed_row"),
    "no id": ({"instance_id": None}, "malformed_row"),
    "repository leading out": ({"repo": "../../etc"}, "no_snapshot"),
    "commit that is an option": ({"base_commit": "--help"}, "no_snapshot"),
    "commit of two lines": ({"base_commit": "HEAD\nHEAD"}, "no_snapshot"),
    "commit that is gone": ({"base_commit": "f" * 40}, "no_snapshot"),
    "repository that is gone": ({"repo": "o/none"}, "no_snapshot"),
}


def test_each_hostile_row_is_a_counted_drop(tmp_path, commit):
    rows = [row(commit, "first"), *(row(commit, name, **change) for name, (change, _) in HOSTILE.items()), row(commit, "last")]
    table = tmp_path / "pairs.parquet"
    pl.DataFrame(rows, schema=dict.fromkeys(INSTANCE_COLUMNS, pl.String)).write_parquet(table)
    drops = Counter()
    kept = [instance.instance_id for instance in filter_table(table, Filter(), tmp_path / "repos", drops, [])]
    assert kept == ["first", "last"]
    assert drops == Counter(rule for _, rule in HOSTILE.values())


def test_a_file_that_is_not_a_table_is_an_error_in_one_line(tmp_path):
    (tmp_path / "x.parquet").write_text('{"not": "parquet"}')
    pl.DataFrame({"repo": ["o/n"]}).write_parquet(tmp_path / "columns.parquet")
    for name in ("x.parquet", "columns.parquet"):
        with pytest.raises(ArtifactError, match=f"{name} is not a table of instances"):
            list(filter_table(tmp_path / name, Filter(), tmp_path, Counter(), []))
    with pytest.raises(ArtifactError, match="is missing"):
        list(filter_table(tmp_path / "none.parquet", Filter(), tmp_path, Counter(), []))


def test_tables_are_written_in_parts_and_read_back_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "PART_ROWS", 7)
    rows = [Instance(instance_id=str(n), repo=f"o/{n % 3}", base_commit="c", problem_statement="p" * n) for n in range(50)]
    assert write_instances(tmp_path / "t.parquet", iter(rows)) == count_rows(tmp_path / "t.parquet") == 50
    assert read_instances(tmp_path / "t.parquet") == rows
    assert list(iter_instances(tmp_path / "t.parquet", ["o/1"])) == rows[1::3]
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]
    assert (write_instances(tmp_path / "none.parquet", []), read_instances(tmp_path / "none.parquet")) == (0, [])


def test_a_clone_that_holds_a_benchmarks_commit_is_its_repository_under_any_name(tmp_path, commit):
    bench = Instance(instance_id="b", repo="bench/project", base_commit=commit, problem_statement="another", patch="")
    (tmp_path / "bench.jsonl").write_text(bench.model_dump_json())
    write_repository(tmp_path / "repos/q__r.git", {"x.py": b"x = 1\n"}, {}, "x")
    rows = [Instance(instance_id=repo, repo=repo, base_commit="c" * 40, problem_statement=repo) for repo in ("o/n", "q/r", "v/v")]
    write_instances(tmp_path / "t.parquet", rows)
    rules = Split(benchmarks=[tmp_path / "bench.jsonl"], validation_owners=["v"])
    table = TableSplit(tmp_path / "t.parquet", rules, 0, tmp_path / "repos")
    kept = [instance.repo for name in ("sft", "rl", "validation") for instance in table.instances(name)]
    assert sorted(kept) == ["q/r", "v/v"]
    assert table.dropped == [("o/n", "benchmark_repository")]
