"""Files of predictions scored against files of truth."""

import json

import pytest

from fusesearch.core.errors import DataError
from fusesearch.core.schema import Instance, Truth
from fusesearch.evaluation.predictions import YOURS, score_board, score_files
from tests.fakes.git import committed, git

TRUTH = [
    {"instance_id": "1", "files": ["a.py"], "functions": ["a.py::f"]},
    {"instance_id": "2", "files": ["b.py", "c.py"], "functions": ["b.py::g"]},
]


@pytest.fixture
def score(tmp_path):
    def run(predictions, truth=TRUTH, repos=None):
        paths = tmp_path / "predictions.jsonl", tmp_path / "truth.jsonl"
        for path, rows in zip(paths, (predictions, truth), strict=True):
            lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return score_files(*paths, repos)

    return run


def test_figures_of_both_levels_under_the_promised_names(score):
    found = score([
        {"instance_id": "1", "files": ["x.py", "a.py"], "functions": ["a.py::f"]},
        {"instance_id": "2", "files": ["b.py"], "functions": ["b.py::h"]},
    ])  # fmt: skip
    assert set(found["file"]) == {"instances", "micro", "macro", "recall@1", "recall@3", "recall@5", "map", "mrr", "ndcg@5"}
    assert found["file"]["micro"] == pytest.approx({"precision": 2 / 3, "recall": 2 / 3, "f1": 2 / 3})
    assert found["file"]["macro"] == pytest.approx({"precision": 0.75, "recall": 0.75, "f1": 2 / 3})
    assert found["file"]["mrr"] == 0.75
    assert found["function"]["micro"]["f1"] == 0.5
    assert found["f1"]["micro"] == pytest.approx(0.7 * 2 / 3 + 0.3 * 0.5)
    assert (found["instances"], found["missing"], found["unknown"]) == (2, 0, 0)


def test_a_missing_prediction_counts_as_an_empty_one_and_one_for_an_unknown_instance_is_left_out(score):
    found = score([{"instance_id": "9", "files": ["z.py"]}])
    assert (found["unknown"], found["missing"], found["file"]["micro"]["precision"]) == (1, 2, 0)
    right = {"instance_id": "1", "files": ["a.py"], "functions": ["a.py::f"]}
    absent, empty = score([right]), score([right, {"instance_id": "2", "files": [], "functions": []}])
    assert absent["missing"] == 1
    assert absent | {"missing": 0} == empty
    assert absent["file"]["macro"]["recall"] == 0.5
    assert absent["file"]["micro"] == pytest.approx({"precision": 1, "recall": 1 / 3, "f1": 0.5})


def test_instances_with_a_nested_truth_serve_as_truth(score):
    rows = [
        Instance(instance_id=row["instance_id"], repo="o/r", base_commit="c", problem_statement="p",
                 truth=Truth(files=row["files"], functions=row["functions"])).model_dump_json()
        for row in TRUTH
    ]  # fmt: skip
    predictions = [{"instance_id": "2", "files": ["c.py"]}]
    assert score(predictions, rows) == score(predictions)


def test_a_board_scores_code_alone_and_each_system_where_it_answered(tmp_path):
    answers = [{"one": {"files": ["a.py", "tests/test_a.py"], "functions": ["a.py::f"]}, "two": {}}, {"one": {"files": ["b.py"]}}]
    rows = [{**row, "files": [*row["files"], "CHANGES.md"], "answers": own} for row, own in zip(TRUTH, answers, strict=True)]
    board, mine = tmp_path / "board.jsonl", tmp_path / "mine.jsonl"
    board.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    mine.write_text(json.dumps({"instance_id": "2", "files": ["c.py", "b.py"]}), encoding="utf-8")
    found = score_board(board, mine)
    assert {name: [score.file_f1 for score in scores] for name, scores in found.items()} == {
        YOURS: [0, 1], "one": [1, pytest.approx(2 / 3)], "two": [0]
    }  # fmt: skip
    assert [score.function_f1 for score in found["one"]] == [1, 0]
    assert list(score_board(board)) == ["one", "two"]


PATCH = """diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,2 +1,2 @@
 def f():
-    return 1
+    return 2
"""


@pytest.fixture
def fixed(tmp_path):
    """A clone, and a row of SWE-bench that its patch fixes."""
    commit = committed(tmp_path / "work", {"a.py": "def f():\n    return 1\n", "b.py": "x = 1\n"})
    git(tmp_path, "clone", "-q", "--bare", "work", "repos/o__r.git")
    row = {"instance_id": "1", "repo": "o/r", "base_commit": commit, "problem_statement": "p", "patch": PATCH}
    return tmp_path / "repos", row


def test_a_patch_answers_what_it_modifies(score, fixed):
    repos, row = fixed
    given = {"instance_id": "1", "model_name_or_path": "m", "model_patch": PATCH}
    found = score([given], [row], repos)
    assert (found["file"]["micro"]["f1"], found["function"]["micro"]["f1"]) == (1, 1)
    located = {"instance_id": "1", "files": ["a.py"], "functions": ["a.py::f"]}
    assert found == score([located], [row], repos)
    assert score([given], [row])["file"]["micro"]["f1"] == 1  # without clones its files alone


@pytest.mark.parametrize(
    ("patch", "unreadable"),
    [("", 0), (None, 0), ("no patch", 1), (PATCH.replace("return 1", "return 7"), 1), (PATCH + " " * 1_000_000, 1)],
)
def test_a_patch_that_does_not_apply_answers_nothing_and_is_counted(score, fixed, patch, unreadable):
    repos, row = fixed
    found = score([{"instance_id": "1", "model_patch": patch}], [row], repos)
    assert found.get("unreadable", 0) == unreadable
    assert found["file"]["micro"]["recall"] == 0


def test_functions_of_patches_need_clones(score):
    with pytest.raises(DataError, match=r"1: the functions of a patch .* --repos"):
        score([{"instance_id": "1", "model_patch": PATCH}])


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ([TRUTH[0], TRUTH[0]], r"predictions.jsonl: duplicate instance 1"),
        (["{"], r"predictions.jsonl:1: Invalid JSON"),
        (["[]"], r"predictions.jsonl:1: "),
        ([{"instance_id": "1"}], r"predictions.jsonl:1: neither `files` nor `functions` is given, nor `model_patch`"),
        ([{"instance_id": "1", "files": "a.py"}], r"predictions.jsonl:1: files: Input should be a valid (list|array)"),
        ([{"instance_id": "1", "files": [1]}], r"predictions.jsonl:1: files.0: Input should be a valid string"),
        ([{"files": []}], r"predictions.jsonl:1: instance_id: Field required"),
    ],
)
def test_bad_predictions_are_one_clear_line(score, predictions, message):
    with pytest.raises(DataError, match=message) as caught:
        score(predictions)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ([], "has no instances"),
        ([{"instance_id": "1"}], "neither `files` nor `patch` is given"),
        ([{"instance_id": "1", "patch": ""}], "neither `files`"),
        ([{"instance_id": "1", "patch": "no patch"}], "the patch changes no file"),
        ([TRUTH[0], TRUTH[0]], "truth.jsonl: duplicate instance 1"),
    ],
)
def test_bad_truth_is_one_clear_line(score, truth, message):
    with pytest.raises(DataError, match=message):
        score([TRUTH[0]], truth)


def test_files_that_cannot_be_read_are_named(tmp_path, score):
    with pytest.raises(DataError, match=r"absent.jsonl cannot be read: No such file"):
        score_files(tmp_path / "absent.jsonl", tmp_path / "absent.jsonl")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="binary:1: Invalid JSON"):
        score_files(tmp_path / "binary", tmp_path / "binary")
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        score_files(tmp_path, tmp_path)
