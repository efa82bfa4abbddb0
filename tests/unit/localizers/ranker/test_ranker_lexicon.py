"""The lexicon: what a word counts where, and the columns that come of it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.core.errors import ArtifactError
from fusesearch.localizers.ranker.columns import FILE_COLUMNS, FUNCTION_COLUMNS
from fusesearch.localizers.ranker.features import candidates_of
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.lexicon import Lexicon, forms, issue_words, text_words
from fusesearch.search.repository import Repository

PLAIN = {"version": 1, "shared": [[4, 2, 1], [2, 1, 0.5]], "place": [1, 1], "power": 0, "length": 0, "rare": 10}


def lexicon_of(folder: Path, lines: str, **about: object) -> Lexicon:
    path = folder / "lexicon.txt"
    path.write_text(json.dumps(PLAIN | about) + "\n" + lines)
    return Lexicon.read(path)


def test_a_word_counts_by_its_weight_and_by_both_places(tmp_path: Path) -> None:
    known = lexicon_of(tmp_path, "delete 3\nqueue 5\n")
    texts = ["src/jobs.py::delete\nqueue", "src/queue.py::run\nx", "src/other.py::run\nunheard", "a.py::b\nnothing"]
    # The title has `delete`, the text `queue` and `unheard`, which is rare.
    assert known.scores("Delete fails\nthe queue is unheard of", texts) == [3 * 4 + 5 * 0.5, 5 * 1, 10 * 0.5, 0]
    assert known.scores("7\n中 é", ["a.py::b\nc"]) == [None]  # an issue without words
    # A long text and an issue of many words count less.
    known = lexicon_of(tmp_path, "delete 3\n", length=0.5, power=1)
    short, long = known.scores("delete", ["a.py::delete\nxx", "a.py::delete\nxx yy zz"])
    assert short == pytest.approx(4 - 0.5 * math.log(3))  # py, delete, xx
    assert long == pytest.approx(4 - 0.5 * math.log(5))
    assert known.scores("delete\nunheard", ["a.py::delete\nxx"])[0] == pytest.approx(3 * 4 / 13 - 0.5 * math.log(3))


def test_words_are_parts_of_identifiers_and_keep_their_first_place() -> None:
    assert issue_words("HTTPServer fails\nread_file fails: parseURLs") == {
        "http": 0, "server": 0, "fails": 0, "read": 1, "file": 1, "parse": 1, "ls": 1, "ur": 1,
    }  # fmt: skip
    assert text_words("src/io/reader.py::Reader.read\nreturn src") == {
        "src": 1, "io": 1, "reader": 0, "py": 1, "read": 0, "return": 2,
    }  # fmt: skip
    assert text_words("src/reader.py\n\nread")["reader"] == 0  # a file is called by its name


def test_words_are_of_any_script() -> None:
    assert list(issue_words("größeÜber2 посчитать_Сумму: błąd ﬁnd")) == ["größe", "über", "посчитать", "сумму", "błąd", "find"]
    assert list(issue_words("更新する メソッドa 가격")) == ["更新", "新す", "する", "メソ", "ソッ", "ッド", "가격"]


@given(st.lists(st.one_of(st.none(), st.floats(-50, 50)), max_size=30))
def test_forms_put_the_highest_score_first(values: list[float | None]) -> None:
    found = forms(values)
    assert [math.isnan(row[0]) for row in found] == [value is None for value in values]
    known = [(row, value) for row, value in zip(found, values, strict=True) if value is not None]
    if known:
        top = max(value for _, value in known)
        assert all((row[1] == 0) == (row[2] == 1) == (value == top) for row, value in known)


@pytest.mark.parametrize(
    "text",
    ["", "{", "{}", json.dumps(PLAIN | {"version": 2}), json.dumps(PLAIN | {"place": [1]}), json.dumps(PLAIN) + "\nword x"],
)
def test_a_damaged_lexicon_is_one_clear_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "lexicon.txt"
    path.write_text(text)
    with pytest.raises(ArtifactError, match="holds no lexicon of this version"):
        Lexicon.read(path)
    path.unlink()
    with pytest.raises(ArtifactError, match="cannot be read"):
        Lexicon.read(path)


def test_the_columns_compare_title_and_function(tmp_path: Path) -> None:
    (tmp_path / "queue.py").write_text("def push(item):\n    return item\n\n\ndef remove_job(job):\n    return job\n")
    (tmp_path / "users.py").write_text("def user(job):\n    return job\n")
    with Index(Repository(tmp_path), None) as index:
        found = candidates_of("Job cannot be removed\n\nremove job from the queue", index)
    first = max(found.functions, key=lambda function: function.columns["lexicon"])
    assert first.entity == "queue.py::remove_job"
    assert (first.columns["lexicon_gap"], first.columns["lexicon_rank"]) == (0, 1)
    assert first.columns["file_lexicon"] == next(file for file in found.files if file.path == "queue.py").columns["lexicon"]
    assert all(len(file.row()) == len(FILE_COLUMNS) for file in found.files)
    assert all(len(function.row()) == len(FUNCTION_COLUMNS) for function in found.functions)
