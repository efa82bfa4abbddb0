"""The released files of SWE-QA and SWE-QA-Pro, made up in their shapes."""

import json
from collections import Counter

import polars as pl
import pytest

from experiments.questions.swe_qa import read_commits, read_questions
from fusesearch.core.errors import DataError
from fusesearch.evaluation.environments import environment_named

LIST = "https://github.com/o/yard 0a041d3\n\n# more\nhttps://github.com/p/dock.py.git 3abcdef012\n"


@pytest.fixture
def commits(tmp_path):
    (tmp_path / "list.txt").write_text(LIST)
    return read_commits(tmp_path / "list.txt")


def written(path, rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_a_file_per_repository(commits, tmp_path):
    rows = [{"question": "Why?", "answer": "So."}, {"question": "Why?", "answer": "Else."}, {"question": "How?", "answer": None}]
    drops = Counter()
    (found,) = read_questions([written(tmp_path / "dock.py.jsonl", rows)], commits, drops)
    assert (found.repo, found.base_commit, found.problem_statement) == ("p/dock.py", "3abcdef012", "Why?")
    assert (found.truth.expected.kind, found.truth.expected.values) == ("text", ["So."])
    assert "So." not in found.task().model_dump_json()
    assert environment_named("questions").own([found]) == [found]
    assert environment_named("questions").trainable([found]) == []
    assert drops == {"without question or answer": 1, "there twice": 1}


def test_rows_that_say_their_commit(commits, tmp_path):
    row = {"repo": "yard", "commit_id": "f" * 40, "question": "Where?", "answer": "Here.", "qa_type": "Where"}
    (bench,) = read_questions([written(tmp_path / "bench.jsonl", [row])], commits, Counter())
    assert (bench.repo, bench.base_commit, bench.provenance["kind"]) == ("o/yard", "f" * 40, "Where")
    inner = {"question": "Where?", "answer": "Here.", "repo_name": "q/other", "commit_id": "e" * 40}
    pl.DataFrame([{"qa_type": {"class_name": "Where"}, "extra_info": inner}]).write_parquet(tmp_path / "train.parquet")
    (trained,) = read_questions([tmp_path / "train.parquet"], {}, Counter())
    assert (trained.repo, trained.base_commit, trained.provenance["kind"]) == ("q/other", "e" * 40, "Where")


def test_a_missing_commit_is_an_error(commits, tmp_path):
    with pytest.raises(DataError, match="row 1: no commit of quay"):
        list(read_questions([written(tmp_path / "quay.jsonl", [{"question": "?", "answer": "!"}])], commits, Counter()))
    (tmp_path / "list.txt").write_text("o/yard main branch\n")
    with pytest.raises(DataError, match="line 1 is not"):
        read_commits(tmp_path / "list.txt")
