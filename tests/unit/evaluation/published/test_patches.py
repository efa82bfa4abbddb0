"""Patches that systems released: the files that hold them, and what becomes of a patch that cannot be used."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fusesearch.core.errors import DataError
from fusesearch.evaluation.published import patches
from fusesearch.evaluation.published.patches import Fault, Patch, located, read_predictions, read_resolved

SHOP = "def total(prices):\n    return sum(prices)\n\n\ndef tax(price):\n    return price * 0.2\n"
TREE = {"shop.py": SHOP, "notes.txt": "old\n"}
FIX = "--- a/shop.py\n+++ b/shop.py\n@@ -5,2 +5,2 @@\n def tax(price):\n-    return price * 0.2\n+    return price * 0.19\n"
ADDS = "--- /dev/null\n+++ b/reproduce.py\n@@ -0,0 +1 @@\n+import shop\n"


def written(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize("before", ["", "\n", "A message about it\n\n"])
def test_a_patch_names_what_it_modifies_at_the_base_commit(before):
    found = located(before + FIX, TREE.get)
    assert (found.truth.files, found.truth.functions, found.fault) == (["shop.py"], ["shop.py::tax"], None)


def test_files_that_a_patch_only_adds_are_not_part_of_its_answer():
    assert located(FIX + ADDS, TREE.get).truth.files == ["shop.py"]


@pytest.mark.parametrize(
    ("patch", "fault"),
    [
        ("", Fault.EMPTY),
        (" \n", Fault.EMPTY),
        ("I could not fix it.", Fault.UNREADABLE),
        (FIX[:-30], Fault.UNREADABLE),
        (FIX + "\0", Fault.UNREADABLE),
        (FIX.replace("shop.py", "../shop.py"), Fault.UNREADABLE),
        (FIX.replace("shop.py", "store.py"), Fault.NO_FILE),
        (FIX.replace("0.2\n", "0.3\n"), Fault.MISFIT),
        (ADDS.replace("reproduce.py", "shop.py"), Fault.MISFIT),
        (ADDS, Fault.ONLY_ADDS),
        (FIX + "#" * patches.MAX_CHARS, Fault.HUGE),
        ("".join(ADDS.replace("reproduce", f"r{n}") for n in range(patches.MAX_FILES + 1)), Fault.HUGE),
    ],
)
def test_a_patch_that_locates_nothing_says_why(patch, fault):
    found = located(patch, TREE.get)
    assert found.fault is fault
    assert found.truth.files == []


def test_a_binary_file_or_a_submodule_has_no_text_to_read():
    patch = "diff --git a/logo.png b/logo.png\nindex 1..2 100644\nBinary files a/logo.png and b/logo.png differ\n"
    assert located(patch, TREE.get).truth.files == ["logo.png"]


def test_a_file_that_cannot_be_read_is_a_fault_of_the_patch():
    def read(path: str) -> str:
        raise DataError(f"{path} is too large")

    assert located(FIX, read)[1:] == (Fault.MISFIT, "shop.py is too large")


PIECES = st.sampled_from(
    [FIX, ADDS, *FIX.splitlines(True), "@@ -1 +1 @@\n", "diff --git a/x b/x\n", "rename to y\n", "-old\n", "\\ "]
)


@given(st.lists(PIECES | st.text(max_size=20), max_size=12).map("".join))
@example("diff --git \n")
@example('--- "a/\\377"\n+++ "b/\\377"\n@@ -1 +1 @@\n-a\n+b\n')
@example(f"--- a/shop.py\n+++ b/shop.py\n@@ -1 +1 @@\n-def total(prices):\n+x = {'(' * 5000}\n")
def test_any_text_has_an_answer_or_a_fault(text):
    found = located(text, TREE.get)
    assert (found.fault is None) == bool(found.truth.files)
    assert all(name.partition("::")[0] in found.truth.files for name in found.truth.functions)


@given(st.text(max_size=300))
@example(FIX)
def test_a_patch_is_read_as_it_was_written(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("p")
    row = {"instance_id": "o__n-1", "model_name_or_path": "agent", "model_patch": text}
    wanted = [Patch("o__n-1", "agent", text)]
    for name, content in {"p.jsonl": json.dumps(row) + "\n", "p.json": [row], "preds.json": {"o__n-1": row}}.items():
        assert list(read_predictions(written(folder / name, content))) == wanted


def test_a_prediction_without_a_patch_is_an_empty_one(tmp_path):
    path = written(tmp_path / "p.jsonl", '{"instance_id": "a", "model_patch": null}\n\n{"instance_id": "b"}\n')
    assert list(read_predictions(path)) == [Patch("a", "", ""), Patch("b", "", "")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.jsonl", '{"instance_id": "a"}\n{"model_patch": ""}\n', "p.jsonl:2: instance_id: Field required"),
        ("p.jsonl", '{"instance_id": "a", "model_patch": ["x"]}\n', "model_patch"),
        ("p.jsonl", "[" * 10_000, "Invalid JSON"),
        ("p.json", '"nothing"', "p.json"),
        ("p.json", "{", "Invalid JSON"),
    ],
)
def test_a_row_of_another_form_is_an_error_that_names_it(tmp_path, name, content, message):
    with pytest.raises(DataError, match=message):
        list(read_predictions(written(tmp_path / name, content)))


@pytest.mark.parametrize(
    "report",
    [
        {"resolved_ids": ["a", "b"], "resolved_instances": 2},
        {"resolved": ["a", "b"], "no_logs": ["c"]},
        {"resolved_ids": ["a", "b"], "resolved": 2},
    ],
)
def test_reports_of_the_harness_say_what_was_resolved(tmp_path, report):
    assert read_resolved(written(tmp_path / "r.json", report)) == {"a", "b"}


@pytest.mark.parametrize("report", [{}, {"resolved": 2}, {"resolved": [1]}, []])
def test_a_report_without_such_a_list_is_an_error(tmp_path, report):
    with pytest.raises(DataError, match=r"r\.json"):
        read_resolved(written(tmp_path / "r.json", report))
