"""What a patch modifies: one test per rule of the module's docstring."""

import difflib
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.core.errors import DataError
from fusesearch.core.schema import Truth
from fusesearch.data.truth import truth_from_patch

OLD = textwrap.dedent(
    '''
    import os
    LIMIT = 3

    @cached
    def first(a, b):
        """Add."""
        # add them
        c = a + b

        return c


    class Box:
        size = 1

        @property
        def width(self):
            return self._width

        def area(self):
            def inner():
                return 1
            return inner()


    def last(x):
        return x
    '''
).lstrip("\n")


def diff(old: str, new: str, path: str = "pkg/a.py", context: int = 3) -> str:
    sides = [text.splitlines(keepends=True) for text in (old, new)]
    return "".join(difflib.unified_diff(*sides, f"a/{path}", f"b/{path}", n=context))


def truth(new: str, old: str = OLD, path: str = "pkg/a.py", context: int = 3) -> Truth:
    return truth_from_patch(diff(old, new, path, context), {path: old}.get)


def functions(new: str, old: str = OLD) -> list[str]:
    return [name.removeprefix("pkg/a.py::") for name in truth(new, old).functions]


def test_a_changed_line_belongs_to_the_function_whose_span_holds_it():
    changes = [
        ("@cached", "@lru_cache", ["first"]), ("def first(a, b):", "def first(a, b=1):", ["first"]),
        ('"""Add."""', '"""Add both."""', ["first"]), ("return c", "return c + 1", ["first"]),
        ("@property", "@cached_property", ["Box.width"]), ("return 1", "return 2", ["Box.area"]),
        ("LIMIT = 3", "LIMIT = 4", []), ("class Box:", "class Box(dict):", []), ("size = 1", "size = 2", []),
        ("return x", "return -x", ["last"]),
    ]  # fmt: skip
    every = OLD
    for old, new, expected in changes:
        every = every.replace(old, new)
        for context in range(4):
            found = truth(OLD.replace(old, new), context=context)
            assert found.functions == [f"pkg/a.py::{name}" for name in expected], (old, context)
            assert found.added_functions == []
    assert functions(every) == ["first", "Box.width", "Box.area", "last"]
    quoted = "def f():\n    return \"#a\", '''\n# b\n'''\n"  # a comment sign in a string is code
    assert functions(quoted.replace("#a", "#c"), quoted) == functions(quoted.replace("# b", "# c"), quoted) == ["f"]
    assert truth("a\nc\n", "a\nb\n", "doc/x.txt") == Truth(files=["doc/x.txt"], lines={"doc/x.txt": [(2, 2)]})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    # add them\n", "    # add both\n"), ("    # add them\n", ""), ("    c = a + b\n", "    c = a + b  # both\n"),
        ("    c = a + b\n", "    # plus\n    c = a + b\n"), ("    c = a + b\n\n", "    c = a + b\n\n\n"),
        ("    return x\n", "    return x   \n"), ("@cached", "@cached  # once"),
    ],
)  # fmt: skip
def test_a_patch_of_comments_and_blanks_alone_modifies_no_function(old, new):
    changed = OLD.replace(old, new)
    assert changed != OLD
    for module in (changed, "import re\n\n" + changed, changed.replace("LIMIT = 3\n", "")):
        assert functions(module) == []


def test_removed_lines_count_and_are_listed_and_those_put_inside_count_and_are_not():
    for new, lines in (("", {"pkg/a.py": [(8, 8)]}), ("    c = a + b\n    c += 1\n", {})):
        found = truth(OLD.replace("    c = a + b\n", new))
        assert (found.files, found.functions, found.lines) == (["pkg/a.py"], ["pkg/a.py::first"], lines)


SETTER = "    @width.setter\n    def width(self, value):\n        self._width = value\n\n"


@pytest.mark.parametrize(
    ("what", "new", "modified", "added"),
    [
        ("a line between functions", OLD.replace("    return c\n", "    return c\n\nX = 1\n"), [], []),
        ("a comment at the end of a function", OLD.replace("    return c\n", "    return c\n    # done\n"), [], []),
        ("a line after the last function", OLD + "X = 1\n", [], []),
        ("a new end of a function", OLD.replace("    return c\n", "    return c\n    yield c\n"), ["first"], []),
        ("a new end of the last function", OLD + "    yield x\n", ["last"], []),
        ("a new decorator", OLD.replace("def last", "@cached\ndef last"), ["last"], []),
        ("a new function", OLD.replace("def last", "def late():\n    pass\n\n\ndef last"), [], ["late"]),
        ("a setter of a property", OLD.replace("    def area", SETTER + "    def area"), [], []),
        ("a deleted function", OLD.replace("def last(x):\n    return x\n", ""), ["last"], []),
        ("a renamed function", OLD.replace("def last", "def final"), ["last"], ["final"]),
        ("a renamed class", OLD.replace("class Box", "class Crate"), [], ["Crate.width", "Crate.area"]),
    ],
)
def test_what_is_added_removed_or_renamed(what, new, modified, added):
    assert functions(new) == modified
    assert truth(new).added_functions == [f"pkg/a.py::{name}" for name in added]


def test_a_function_that_only_stands_between_the_lines_of_a_diff_is_not_modified():
    # diff shows the new function between the decorator and the definition it was put before
    old = "@cached\ndef f():\n    pass\n"
    patch = "--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,7 @@\n @cached\n+def g():\n+    return 1\n+\n+@cached\n def f():\n     pass\n"
    found = truth_from_patch(patch, {"a.py": old}.get)
    assert (found.functions, found.added_functions) == ([], ["a.py::g"])


def test_a_patch_that_repairs_the_syntax_compares_both_sides_alike():
    old = "def f():\n    return 1\n    # end\n\ndef g(:\n    pass\n"
    assert functions(old.replace("g(:", "g():"), old) == ["g"]


HEAD = "diff --git a/n.py b/n.py\n"
ADDED = HEAD + "new file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n.py\n@@ -0,0 +1,2 @@\n+def f():\n+    pass\n"
DELETED = HEAD + "deleted file mode 100644\nindex 1..0\n--- a/n.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-def f():\n-    pass\n"
LOGO = "diff --git a/logo.png b/logo.png\nindex 1..2 100644\n"
RENAMED = "diff --git a/n.py b/m.py\nsimilarity index 50%\nrename from n.py\nrename to m.py\n"
CHANGED = "@@ -1,2 +1,3 @@\n def f():\n-    pass\n+    return 1\n+def g(): pass\n"
COPIED = "diff --git a/n.py b/m.py\nsimilarity index 50%\ncopy from n.py\ncopy to m.py\n"
SIDES = "--- a/n.py\n+++ b/m.py\n"
FILES = {
    "n.py": "def f():\n    pass\n",
    "logo.png": "\ufffd",
    "a b": "",
    ".gitmodules": "  path = lib\n",
}
GITLINK = "diff --git a/{0} b/{0}\n{1} mode 160000\n--- {2}\n+++ {3}\n@@ {4} @@\n{5}Subproject commit 111\n"
FIRST = "diff --git a/n.py b/n.py\n--- a/n.py\n+++ b/n.py\n@@ -1,2 +1,4 @@\n+import os\n+\n def f():\n     pass\n"
SECOND = "diff --git a/n.py b/n.py\n--- a/n.py\n+++ b/n.py\n@@ -2,3 +2,3 @@\n \n def f():\n-    pass\n+    return 2\n"


def linked(*marks: str) -> str:
    """Parts of a patch about the link n.py: ``-`` removes it, ``+`` adds it."""
    sides = {"-": ("deleted file", "a/n.py", "/dev/null", "-1 +0,0"), "+": ("new file", "/dev/null", "b/n.py", "-0,0 +1")}
    return "".join(
        HEAD + f"{what} mode 120000\n--- {old}\n+++ {new}\n@@ {counts} @@\n{mark}b.py\n\\ No newline at end of file\n"
        for mark, (what, old, new, counts) in ((mark, sides[mark]) for mark in marks)
    )


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        (ADDED.replace("n.py", "new.py"), Truth(added_files=["new.py"], added_functions=["new.py::f"])),
        ("diff --git a/e.py b/e.py\nnew file mode 100644\nindex 000..e69\n", Truth(added_files=["e.py"])),
        (RENAMED, Truth(files=["n.py"])),
        ("From: me\n---\n n.py\n\n" + HEAD + "old mode 100644\nnew mode 100755\n-- \n2.4\n", Truth(files=["n.py"])),
        ("diff --git a/a b b/a b\nold mode 100644\nnew mode 100755\n", Truth(files=["a b"])),
        (
            RENAMED + SIDES + CHANGED,
            Truth(files=["n.py"], functions=["n.py::f"], lines={"n.py": [(2, 2)]}, added_functions=["m.py::g"]),
        ),
        (COPIED, Truth(added_files=["m.py"], added_functions=["m.py::f"])),
        (COPIED + SIDES + CHANGED, Truth(added_files=["m.py"], added_functions=["m.py::f", "m.py::g"])),
        (
            "--- a/n.py\r\n+++ b/n.py\r\n@@ -2 +2 @@\r\n-    pass\r\n+    return 2\r\n",
            Truth(files=["n.py"], functions=["n.py::f"], lines={"n.py": [(2, 2)]}),
        ),
        (RENAMED.replace("n.py", "lib").replace("m.py", "vendor/lib"), Truth(submodules=["lib", "vendor/lib"])),
        (
            FIRST.replace("a/n.py b/n.py", "b/n.py a/n.py").replace("--- a", "--- b").replace("+++ b", "+++ a"),
            Truth(files=["n.py"]),
        ),
        (FIRST + FIRST.replace("1,2 +1,4", "1,4 +1,2").replace("+import os\n+\n", "-import os\n-\n"), Truth()),
        ((LOGO + "Binary files a/logo.png and b/logo.png differ\n") * 2, Truth(files=["logo.png"])),
        (linked("-") + ADDED, Truth(files=["n.py"], added_functions=["n.py::f"])),
        (DELETED + linked("+"), Truth(files=["n.py"], functions=["n.py::f"], lines={"n.py": [(1, 2)]})),
        (DELETED + ADDED, Truth(files=["n.py"], functions=["n.py::f"], lines={"n.py": [(1, 2)]})),
        (
            DELETED + GITLINK.format("n.py", "new file", "/dev/null", "b/n.py", "-0,0 +1", "+"),
            Truth(files=["n.py"], functions=["n.py::f"], lines={"n.py": [(1, 2)]}, submodules=["n.py"]),
        ),
        (
            GITLINK.format("lib", "deleted file", "a/lib", "/dev/null", "-1 +0,0", "-") + ADDED.replace("n.py", "lib/n.py"),
            Truth(added_files=["lib/n.py"], added_functions=["lib/n.py::f"], submodules=["lib"]),
        ),
        (RENAMED + ADDED, Truth(files=["n.py"], added_functions=["n.py::f"])),
        (FIRST + SECOND, Truth(files=["n.py"], functions=["n.py::f"], lines={"n.py": [(2, 2)]})),
        (ADDED.replace("n.py", "o.py") + FIRST.replace("n.py", "o.py"), Truth(added_files=["o.py"], added_functions=["o.py::f"])),
        (RENAMED + FIRST.replace("n.py", "m.py"), Truth(files=["n.py"])),
        (
            "--- n.py.orig\n+++ n.py\n@@ -2 +2 @@\n-    pass\n+    1\n",
            Truth(files=["n.py"], functions=["n.py::f"], lines={"n.py": [(2, 2)]}),
        ),
    ],
)  # fmt: skip
def test_files_can_be_added_deleted_renamed_copied_binary_or_oddly_named(patch, expected):
    assert truth_from_patch(patch, FILES.get) == expected


def test_line_ends_of_windows_and_bytes_that_are_not_utf8_may_differ_between_patch_and_file():
    old = OLD.replace("\n", "\r\n")
    patch = diff(OLD, OLD.replace("return x", "return -x"))
    assert truth_from_patch(patch, {"pkg/a.py": old}.get).functions == ["pkg/a.py::last"]
    assert truth(old.replace("return x", "return -x"), old).functions == ["pkg/a.py::last"]
    patch = diff("# caf\u00e9\nx = 1\n", "# caf\u00e9\nx = 2\n")
    assert truth_from_patch(patch, {"pkg/a.py": "# caf\ufffd\nx = 1\n"}.get).files == ["pkg/a.py"]


def test_a_line_end_added_to_the_last_line_does_not_modify_its_function():
    cut = "\\ No newline at end of file\n"
    patch = f"--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,4 @@\n def f():\n-    pass\n{cut}+    pass\n+\n+def g(): pass\n"
    found = truth_from_patch(patch, {"a.py": "def f():\n    pass"}.get)
    assert found == Truth(files=["a.py"], added_functions=["a.py::g"])


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ("", "changes no file"),
        ("--- a/n.py\n+++ b/n.py\n@@ -1,9 +1,9 @@\n def f():\n", r"hunk @@ -1,9 \+1,9 @@ is not what its header says, in line 5"),
        ("@@ -1 +1 @@\n-a\n+b\n", "hunk without a file"),
        (
            RENAMED + SIDES + CHANGED.replace("pass\n+", "fail\n+", 1),
            r"hunk 1 \(@@ -1,2 \+1,3 @@\) of n.py: line 2 is '    pass'",
        ),
        (RENAMED + SIDES + CHANGED.replace("-1,2", "-2,2"), "line 2 is '    pass', the patch has 'def f"),
        (RENAMED + SIDES + CHANGED.replace("-1,2", "-7,2"), "starts at line 7 of 2"),
        (RENAMED.replace("n.py", "bil"), "bil does not exist"),
        (DELETED.replace("-1,2", "-1").replace("-    pass\n", ""), "it deletes n.py, but not all its lines"),
        (ADDED.replace("n.py", "o.py") * 2, "o.py, which exists"),
        (COPIED.replace("m.py", "logo.png"), "adds logo.png, which exists already"),
        (DELETED + FIRST, "n.py does not exist"),
        (ADDED, "adds n.py, which exists already"),
        (DELETED.replace("n.py", "gone.py"), "gone.py does not exist"),
        (ADDED.replace("b/n.py", "b/../n.py"), "outside the repository"),
        (ADDED.replace("b/n.py", "b//etc/passwd"), "outside the repository"),
        (SIDES + "@@ -x +1 @@\n", "bad hunk header in line 3"),
        ("diff --git a/n\0 b/n\0\n", "NUL"),
    ],
)
def test_a_patch_that_cannot_be_used_is_an_error_that_says_why(patch, message):
    with pytest.raises(DataError, match=message) as caught:
        truth_from_patch(patch, FILES.get)
    assert "\n" not in str(caught.value)


LONG = "".join(f"x{number} = {number}\n" for number in range(40)) + "def f():\n    y = 1\n    return 1\n"


def moved(first: int) -> str:
    """A hunk that says line 11 and has the lines from ``first`` on."""
    lines = [f" x{first} = {first}", f"-x{first + 1} = {first + 1}", f"+x{first + 1} = 0", f" x{first + 2} = {first + 2}"]
    return "\n".join(["@@ -11,3 +11,3 @@", *lines, ""])


def test_a_hunk_moves_to_the_nearest_place_of_its_lines_and_those_behind_move_along():
    def found(*hunks: str, old: str = LONG) -> Truth:
        return truth_from_patch("--- a/a.py\n+++ b/a.py\n" + "".join(hunks), {"a.py": old}.get)

    along = found(moved(30), "@@ -22,3 +22,3 @@\n def f():\n-    y = 1\n+    y = 2\n     return 1\n")
    assert (along.lines, along.functions) == ({"a.py": [(32, 32), (42, 42)]}, ["a.py::f"])
    assert found(moved(12), old=LONG + LONG).lines == {"a.py": [(14, 14)]}
    assert found(moved(30), moved(12), old=LONG + LONG).lines == {"a.py": [(32, 32), (57, 57)]}
    with pytest.raises(DataError, match="does not apply"):  # never before another
        found(moved(30), moved(12))


def test_a_hunk_without_context_on_both_sides_is_not_moved_and_the_search_for_one_is_bounded():
    with pytest.raises(DataError, match="does not apply: hunk 1"):
        truth_from_patch("--- a/a.py\n+++ b/a.py\n@@ -2 +2 @@\n-x2 = 2\n+x2 = 0\n", {"a.py": LONG}.get)
    same, hunk = "x\n" * 300_000, " x\n" * 2000
    patch = f"--- a/a.py\n+++ b/a.py\n@@ -1,2002 +1,2001 @@\n{hunk}-y\n x\n"
    with pytest.raises(DataError, match="does not apply"):
        truth_from_patch(patch, {"a.py": same}.get)


@given(st.text(max_size=300) | st.text(alphabet="-+@ ,123\n\\abdif/g.py", max_size=300))
def test_any_text_is_a_truth_or_a_data_error(text):
    for patch in (text, RENAMED + SIDES + text):
        try:
            found = truth_from_patch(patch, FILES.get)
        except DataError:
            continue
        assert found.files or found.added_files
