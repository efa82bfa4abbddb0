"""The source ``benchmark``: files in the SWE-bench schema, with clones of what they name."""

import json

import polars as pl
import pytest

from fusesearch.core.config import BenchmarkSource
from fusesearch.core.errors import ConfigError, DataError
from fusesearch.data.contamination import barred_instances
from fusesearch.data.sources.benchmark import Benchmark
from fusesearch.data.swe_bench import instances, read_rows
from tests.fakes.git import committed, git

ROW = {"instance_id": "o__r-1", "repo": "o/r", "base_commit": "0" * 40, "problem_statement": "it fails", "patch": "diff",
       "FAIL_TO_PASS": "[]", "version": "1.2", "difficulty": None}  # fmt: skip
MULTI = {"org": "o", "repo": "r", "number": 4, "base": {"sha": "1" * 40}, "fix_patch": "diff",
         "resolved_issues": [{"number": 3, "title": "t", "body": None}, {"number": 2, "title": "u", "body": "b"}]}  # fmt: skip


@pytest.fixture
def remote(tmp_path):
    """A repository ``o/r`` with one commit, and the id of that."""
    work = tmp_path / "remotes" / "o" / "r.git"
    commit = committed(work, {"a.py": "x = 1\n"})
    for option in ("allowFilter", "allowAnySHA1InWant"):
        git(work, "config", f"uploadpack.{option}", "true")
    return (tmp_path / "remotes").as_uri(), commit


def write(path, rows):
    if path.suffix == ".parquet":
        pl.DataFrame(rows).write_parquet(path)
    else:
        path.write_text(json.dumps(rows) if path.suffix == ".json" else "".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".parquet"])
def test_every_form_is_read_with_all_its_columns_to_mine_and_to_decontaminate_against(tmp_path, suffix):
    (row,) = instances("set", read_rows(write(tmp_path / f"set{suffix}", [ROW])))
    assert row.model_extra == {"FAIL_TO_PASS": "[]", "version": "1.2", "difficulty": None}
    assert row.provenance == {"source": "benchmark", "set": "set", "row": 1}
    (row,) = instances("set", read_rows(write(tmp_path / f"multi{suffix}", [MULTI])))
    assert (row.instance_id, row.repo, row.base_commit) == ("o__r-4", "o/r", "1" * 40)
    assert (row.problem_statement, row.model_extra["number"]) == ("t\n\nu\n\nb", 4)
    assert [(row.repo, row.base_commit) for row in barred_instances(tmp_path / f"multi{suffix}")] == [("o/r", "1" * 40)]


def test_a_file_that_is_not_a_benchmark_is_one_clear_line_and_so_are_params_without_one(tmp_path):
    for name, data in (
        ("x.json", b"{}"), ("x.json", b"["), ("x.jsonl", b"1\n"), ("x.jsonl", b"{\n"), ("x.parquet", b"PAR1"), ("x.csv", b""),
        ("x.json", b"\xe4"),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(data)
        with pytest.raises(DataError, match=name):
            list(read_rows(tmp_path / name))
    with pytest.raises(DataError, match=r"lacks the columns base_commit, patch.*it has instance_id, repo, problem_statement"):
        list(instances("set", [{key: ROW[key] for key in ("instance_id", "repo", "problem_statement")}]))
    with pytest.raises(ConfigError, match="name files"):
        Benchmark(BenchmarkSource(), tmp_path).mine(tmp_path / "repos", lambda done, total: None)


def test_repositories_are_cloned_with_their_base_commits_and_a_question_keeps_its_reference(tmp_path, remote, monkeypatch):
    monkeypatch.setattr("fusesearch.search.clones.PAUSE_SECONDS", 0.0)
    address, commit = remote
    monkeypatch.setenv("GITHUB_SERVER_URL", address)
    others = [ROW | {"instance_id": name, "repo": repo} for name, repo in (("b", "o/gone"), ("c", "../x"))]
    truth = {"expected": {"family": "open", "kind": "text", "values": ["Because."]}}
    rows = [ROW | {"base_commit": commit, "truth": truth, "patch": ""}, *others]
    path = write(tmp_path / "set.jsonl", rows)
    mined = Benchmark(BenchmarkSource(files=[path]), tmp_path / "state").mine(tmp_path / "repos", lambda a, b: None)
    assert [(row.instance_id, row.truth.expected.values) for row in mined.instances] == [("o__r-1", ["Because."])]
    assert set(mined.table["skipped"]) == {"o/gone", "../x"}
    assert all(reason.isprintable() for reason in mined.table["skipped"].values())
    assert len([path for path in (tmp_path / "state/clones").iterdir() if path.suffix != ".lock"]) == 1
    assert mined.table["dropped"] == {"no_clone": 2}
    assert git(tmp_path / "repos" / "o__r.git", "show", f"{commit}:a.py") == "x = 1"
