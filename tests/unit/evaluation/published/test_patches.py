"""Patches that systems released: the files that hold them, and what becomes of a patch that cannot be used."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fusesearch.core.errors import DataError
from fusesearch.data.patches import parse_patch
from fusesearch.evaluation.published import fuzz, patches
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


ORDER = """\
class Order
  def initialize(total)
    @total = total
  end

  def paid?
    @total > 0
  end

  def paid
    @total
  end

  def cancel!
    @total = 0
  end
end
"""
HEAD = "diff --git a/lib/order.rb b/lib/order.rb\n--- a/lib/order.rb\n+++ b/lib/order.rb\n"
PAID = "@@ -4,7 +4,7 @@\n   end\n \n   def paid?\n-    @total > 0\n+    @total >= 0\n   end\n \n   def paid\n"
CANCEL = "@@ -12,6 +12,6 @@\n   end\n \n   def cancel!\n-    @total = 0\n+    @total = nil\n   end\n end\n"
BOTH = HEAD + PAID + CANCEL
STRIPPED = HEAD + "@@ -6,4 +6,4 @@\n   def paid?\n-    @total > 0\n+    @total >= 0\n   end"
FAR = HEAD + PAID.replace("-4,7 +4,7", "-400,7 +400,7")
RENAMED = (
    "diff --git a/lib/order.rb b/lib/bill.rb\nsimilarity index 90%\nrename from lib/order.rb\nrename to lib/bill.rb\n"
    + BOTH.split("\n", 1)[1].replace("+++ b/lib/order.rb", "+++ b/lib/bill.rb")
)
FUZZY = {
    "as git": (BOTH, [(6, 7), (14, 15)]),
    "changed context": (BOTH.replace("   def paid\n", "   def paid_off\n").replace("def cancel!", "def cancel!()"), [7, 15]),
    "stripped last line": (STRIPPED, [7]),
    "wrong line numbers": (FAR, [7]),
    "missing context": (HEAD + PAID.replace("   end\n \n   def paid?\n", "   nothing\n # of\n   this\n"), [7]),
    "old name only in the first header": (BOTH.replace("--- a/lib/order.rb", "--- a/lib/gone.rb"), [7, 15]),
    "new file beside it": (
        STRIPPED + "\n\ndiff --git a/n.rb b/n.rb\nnew file mode 100644\n--- /dev/null\n+++ b/n.rb\n@@ -0,0 +1 @@\n+x\n",
        [7],
    ),
    "renamed": (RENAMED.replace("   def paid\n", "   def paid_off\n"), [7, 15]),
    "counts too large": (HEAD + PAID.replace("-4,7 +4,7", "-4,7 +4,8") + CANCEL, None),
    "counts too large at the end": (HEAD + PAID.replace("-4,7 +4,7", "-4,8 +4,8"), [7]),
    "removed line differs": (BOTH.replace("-    @total > 0", "-    @total > 1"), None),
    "one hunk fits nowhere": (BOTH.replace("-    @total = 0", "-    @total = 1"), None),
    "no such file": (BOTH.replace("order.rb", "bill.rb"), None),
    "combined": (HEAD.replace("--git a/lib/order.rb b/", "--cc ") + PAID.replace("@@", "@@@"), None),
    "context diff": (
        "*** a/lib/order.rb\n--- b/lib/order.rb\n***************\n*** 7 ****\n!     @total > 0\n--- 7 ----\n!     @total >= 0\n",
        [7],
    ),
}


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs GNU patch")
@pytest.mark.parametrize("kind", FUZZY)
def test_a_patch_that_the_harness_applies_is_read_as_it_is_applied(tmp_path, kind):
    patch, lines = FUZZY[kind]
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/order.rb").write_text(ORDER)
    (tmp_path / "p.diff").write_text(patch)
    applied = subprocess.run(
        ["patch", "--batch", "--fuzz=5", "-p1", "-i", "p.diff"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    ).returncode
    found = located(patch, {"lib/order.rb": ORDER}.get)
    assert (found.fault is None) == (applied == 0)
    assert found.truth.files == ([] if lines is None else ["lib/order.rb"])
    assert [first for first, _ in found.truth.lines.get("lib/order.rb", [])] == (lines or []) or kind == "as git"
    assert len(found.truth.functions) == len(lines or [])


def test_without_the_program_a_patch_is_counted_and_no_empty_answer(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    found = located(STRIPPED, {"lib/order.rb": ORDER}.get)
    assert found.fault is Fault.NO_PROGRAM
    assert found.detail.endswith("GNU patch next, which is not installed: install it and import again")
    assert located("I could not fix it.", TREE.get).fault is Fault.UNREADABLE


@pytest.mark.parametrize(
    "script", ["7c\n!touch ran\n.\n", "1,2d\n", "  7c\n  x\n  .\n", "XX7a\nx\n.\n", "3s/x/y/\n7d\n", "7i\r\nx\r\n.\r\n", "1d2 \n"]
)
@pytest.mark.parametrize(
    "place", ["{}", "{}" + STRIPPED, STRIPPED + "\n{}", STRIPPED + "\n--- a/lib/order.rb\n+++ b/lib/order.rb\n{}"]
)
def test_no_editor_runs(script, place, monkeypatch):
    monkeypatch.setattr(fuzz, "_run", lambda *_: pytest.fail("a program runs"))
    header = "--- a/lib/order.rb\n+++ b/lib/order.rb\n"
    assert located(header + place.format(script), {"lib/order.rb": ORDER}.get).fault is Fault.UNREADABLE


def test_the_program_sees_no_file_but_those_that_the_patch_names(tmp_path):
    asked = []
    located(STRIPPED + "\n--- a/other.py\n+++ /dev/null\n", lambda path: asked.append(path) or {"lib/order.rb": ORDER}.get(path))
    assert set(asked) <= {"lib/order.rb", "other.py"}


@pytest.mark.parametrize("name", ["a/../../x", "/etc/passwd", "a/.git/config", "a//x"])
def test_a_path_outside_is_never_given_to_the_program(name, monkeypatch):
    monkeypatch.setattr(fuzz, "_run", lambda *_: pytest.fail("a program runs"))
    assert located(STRIPPED.replace("+++ b/lib/order.rb", f"+++ {name}"), {"lib/order.rb": ORDER}.get).fault is Fault.UNREADABLE


COMBINED = """\
diff --cc src/m.py
index e9dd9f1,55c318b..96af253
--- a/src/m.py
+++ b/src/m.py
@@@ -1,5 -1,5 +1,5 @@@
  def a():
-     return 11
 -    return 10
++    return 12
"""


@pytest.mark.parametrize(
    "patch",
    [
        COMBINED,
        "commit c88\nMerge: 0af 420\n\n    merge\n\n" + COMBINED,
        COMBINED.replace("--cc", "--combined"),
        COMBINED.replace("@@@ -1,5 -1,5 +1,5 @@@", "@@@@ -1,5 -1,5 -1,5 +1,5 @@@@"),
        COMBINED.replace("diff --cc src/m.py\n", ""),
        FIX + COMBINED,
        COMBINED.partition("---")[0] + "Binary files differ\n",
    ],
)
def test_a_combined_diff_is_refused_with_what_to_give(patch):
    with pytest.raises(DataError, match=r"combined diff of a merge .*`git diff MERGE\^1 MERGE`$"):
        parse_patch(patch)
    read = {"src/m.py": "def a():\n    return 10\n", **TREE}.get
    assert located(patch, read).truth.files == (["shop.py"] if FIX in patch else [])  # GNU patch skips what it cannot read


def test_a_file_without_a_hunk_is_refused():
    with pytest.raises(DataError, match=r"no hunk for 'shop\.py'"):
        parse_patch("--- a/shop.py\n+++ b/shop.py\n" + ADDS)
